/* SPDX-License-Identifier: Apache-2.0 */
/* TCP sockets with time limits: listen, connect, accept, read, write. */
#define _GNU_SOURCE
#include "socket/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "socket/sent.h"

enum { SLICE_MS = 50, BACKLOG = 4096, UNSENT_MOST = 128 * 1024 };

/* Waits for events on a socket. Returns SLEY_ERR_PEER, without a message, after the deadline. */
static sley_status wait_for(int socket, short events, double deadline) {
  for (;;) {
    SL_TRY(sl_interrupted());
    double left = (deadline - sl_now()) * 1e3;
    if (left < 0)
      return SLEY_ERR_PEER;
    struct pollfd poller = {.fd = socket, .events = events};
    int ready = poll(&poller, 1, left < SLICE_MS ? (int)left + 1 : SLICE_MS);
    if (ready > 0)
      return SLEY_OK;
    if (ready < 0 && errno != EINTR)
      return sl_fail(SLEY_ERR_IO, "cannot wait for a socket: %s", strerror(errno));
  }
}

static bool bind_to(int socket, int family, int port, bool local) {
  if (family == AF_INET6) {
    int off = 0;
    struct sockaddr_in6 name = {
        .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = in6addr_any};
    setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    return bind(socket, (struct sockaddr *)&name, sizeof name) == 0;
  }
  struct sockaddr_in name = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(local ? INADDR_LOOPBACK : INADDR_ANY)};
  return bind(socket, (struct sockaddr *)&name, sizeof name) == 0;
}

static int listen_on(int family, int port, bool local) {
  int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return -1;
  int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind_to(fd, family, port, local) && listen(fd, BACKLOG) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
    return fd;
  int reason = errno;
  close(fd);
  errno = reason;
  return -1;
}

sley_status sl_socket_listen(int port, bool local, int *out_port, int *out) {
  int fd = local ? -1 : listen_on(AF_INET6, port, false);
  if (fd < 0 && (local || errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL))
    fd = listen_on(AF_INET, port, local);
  if (fd < 0) {
    int reason = errno;
    sley_status status = sl_fail(SLEY_ERR_IO, "cannot listen at port %d: %s", port, strerror(reason));
    errno = reason;
    return status;
  }
  struct sockaddr_storage name;
  socklen_t length = sizeof name;
  if (getsockname(fd, (struct sockaddr *)&name, &length) != 0) {
    close(fd);
    return sl_fail(SLEY_ERR_IO, "cannot tell the port of a socket: %s", strerror(errno));
  }
  *out_port = ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&name)->sin6_port
                                               : ((struct sockaddr_in *)&name)->sin_port);
  *out = fd;
  return SLEY_OK;
}

sley_status sl_socket_resolve(const char *name, int most, char out[][SL_ADDRESS_BYTES], int *count) {
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found;
  *count = 0;
  int code = getaddrinfo(name, NULL, &hints, &found);
  if (code != 0)
    return sl_fail(SLEY_ERR_ARG, "the host \"%s\" cannot be found: %s", name, gai_strerror(code));
  for (const struct addrinfo *one = found; one && *count < most; one = one->ai_next)
    if (getnameinfo(one->ai_addr, one->ai_addrlen, out[*count], SL_ADDRESS_BYTES, NULL, 0, NI_NUMERICHOST) ==
        0)
      ++*count;
  freeaddrinfo(found);
  return *count > 0 ? SLEY_OK : sl_fail(SLEY_ERR_ARG, "the host \"%s\" has no address", name);
}

sley_status sl_socket_begin_connect(const char *address, int port, int *out) {
  char service[16];
  snprintf(service, sizeof service, "%d", port);
  struct addrinfo hints = {.ai_family = AF_UNSPEC,
                           .ai_socktype = SOCK_STREAM,
                           .ai_flags = AI_NUMERICSERV | AI_NUMERICHOST},
                  *found;
  *out = -1;
  if (getaddrinfo(address, service, &hints, &found) != 0) {
    errno = EINVAL;
    return SLEY_ERR_IO;
  }
  int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), reason = errno;
  if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) {
    reason = errno;
    close(fd);
    fd = -1;
  }
  freeaddrinfo(found);
  errno = reason;
  *out = fd;
  return fd >= 0 ? SLEY_OK : SLEY_ERR_IO;
}

sley_status sl_socket_accept(int listener, int *out) {
  for (;;) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      *out = fd;
      return SLEY_OK;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK)
      return SLEY_ERR_PEER;
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
      return SLEY_ERR_MEMORY;
    if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK)
      return sl_fail(SLEY_ERR_IO, "cannot accept a connection: %s", strerror(errno));
    /* Any other error belongs to a connection that ended before it was accepted. */
  }
}

sley_status sl_socket_write(int socket, const void *data, size_t bytes, double deadline) {
  const char *at = data;
  while (bytes > 0) {
    ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL);
    sl_sent_control(sent);
    if (sent >= 0) {
      at += sent;
      bytes -= (size_t)sent;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK)
      SL_TRY(wait_for(socket, POLLOUT, deadline));
    else if (errno != EINTR)
      return SLEY_ERR_PEER;
  }
  return SLEY_OK;
}

sley_status sl_socket_read(int socket, void *data, size_t bytes, double deadline) {
  char *at = data;
  while (bytes > 0) {
    ssize_t taken = recv(socket, at, bytes, 0);
    if (taken > 0) {
      at += taken;
      bytes -= (size_t)taken;
    } else if (taken < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      SL_TRY(wait_for(socket, POLLIN, deadline));
    else if (taken == 0 || errno != EINTR)
      return SLEY_ERR_PEER;
  }
  return SLEY_OK;
}

bool sl_socket_has_ended(int socket) {
  char byte;
  ssize_t got = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void sl_socket_peer(int socket, char out[SL_ADDRESS_BYTES]) {
  struct sockaddr_storage name;
  socklen_t length = sizeof name;
  out[0] = '\0';
  if (getpeername(socket, (struct sockaddr *)&name, &length) != 0 ||
      getnameinfo((struct sockaddr *)&name, length, out, SL_ADDRESS_BYTES, NULL, 0, NI_NUMERICHOST) != 0)
    snprintf(out, SL_ADDRESS_BYTES, "?");
  static const char mapped[] = "::ffff:";
  if (strncmp(out, mapped, sizeof mapped - 1) == 0) /* an IPv4 address in IPv6 form */
    memmove(out, out + sizeof mapped - 1, strlen(out) - sizeof mapped + 2);
}

void sl_socket_settle(int socket, double timeout) {
  int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  int unsent = UNSENT_MOST; /* the amount of unsent data is limited, because a message for another rank may
                               have to go first: see sl_mesh_send_in_turn */
  setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
  int seconds = timeout > 4 ? (int)(timeout / 4) : 1, probes = 3;
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

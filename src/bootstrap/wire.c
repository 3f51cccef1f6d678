/* SPDX-License-Identifier: Apache-2.0 */
/* Serving the sockets: a message is a header and its bytes. What is sent waits in a queue a peer; what
 * arrives goes straight to where its receive was posted, and a message that nobody expects yet waits in its
 * socket.
 *
 * Once broken, by an abort here or elsewhere, nothing refers to memory of the callers any more: what is left
 * of a message that was being sent is made up of zeros, so that the notice of the failure can follow it.
 * Every rank passes the first notice it gets on to all. */
#define _GNU_SOURCE
#include "bootstrap/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"

enum { SLICE_MS = 50, ZEROS = 4096, WASTE = 65536 };
static const double FAREWELL = 1; /* seconds for the last messages of a broken bootstrap */

sley_status sl_wire_create(const sl_place *place, sl_bootstrap **out) {
  *out = NULL;
  sl_bootstrap *boot;
  SL_TRY(SL_NEW_ZERO(boot, 1, "a bootstrap"));
  boot->peer = sl_alloc_zero(place->size, 2 * sizeof *boot->peer, "a bootstrap");
  boot->pollers = sl_alloc(place->size, 2 * sizeof *boot->pollers, "a bootstrap");
  boot->polled = sl_alloc(place->size, 2 * sizeof *boot->polled, "a bootstrap");
  if (!boot->peer || !boot->pollers || !boot->polled) {
    sl_free(boot->peer);
    sl_free(boot->pollers);
    sl_free(boot->polled);
    sl_free(boot);
    return SLEY_ERR_MEMORY;
  }
  boot->rank = place->rank;
  boot->size = place->size;
  boot->local_rank = place->local_rank;
  boot->timeout = place->timeout;
  boot->failed_rank = -1;
  boot->beside[0] = boot->beside[1] = -1;
  for (int p = 0; p < 2 * place->size; p++)
    boot->peer[p].fd = -1;
  *out = boot;
  return SLEY_OK;
}

void sl_wire_destroy(sl_bootstrap *boot) {
  if (!boot)
    return;
  sl_pulse_stop(boot->pulse);
  for (int i = 0; i < 2; i++)
    if (boot->beside[i] >= 0)
      close(boot->beside[i]);
  for (int p = 0; p < 2 * boot->size; p++)
    if (boot->peer[p].fd >= 0)
      close(boot->peer[p].fd);
  sl_free(boot->peer);
  sl_free(boot->pollers);
  sl_free(boot->polled);
  sl_free(boot);
}

/* ---- failure */

sley_status sl_wire_broken(const sl_bootstrap *boot) {
  if (boot->failed_rank < 0)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_PEER, "rank %d failed: %s", boot->failed_rank, boot->failed_message);
}

/* Forgets what the callers lent, but for the shape of a message that is on its way. */
static void forget(sl_wire_peer *peer) {
  sl_boot_send *first = peer->first;
  peer->first = peer->last = NULL;
  if (first && first->sent > 0) {
    peer->rest = *first;
    peer->rest.data = NULL;
    peer->rest.next = NULL;
    peer->first = peer->last = &peer->rest;
  }
  peer->posted = NULL;
  peer->target = NULL;
  if (peer->header.kind != SL_KIND_ABORT)
    peer->body = NULL;
}

/* Rank failed_rank is the first to fail: tells all. */
static void break_down(sl_bootstrap *boot, int failed_rank, const char *message) {
  if (boot->failed_rank >= 0)
    return;
  boot->failed_rank = failed_rank;
  snprintf(boot->failed_message, sizeof boot->failed_message, "%s", message);
  boot->notice.rank = failed_rank;
  memcpy(boot->notice.text, boot->failed_message, sizeof boot->notice.text);
  for (int p = 0; p < boot->size; p++) {
    int urgent = sl_wire_urgent(boot, p);
    forget(&boot->peer[p]);
    forget(&boot->peer[urgent]);
    sl_boot_send *notice = &boot->peer[urgent].notice;
    notice->header = (sl_boot_header){.kind = SL_KIND_ABORT, .bytes = sizeof boot->notice};
    if (p != boot->rank && p != failed_rank) /* one that has left may still wait for others to leave */
      sl_wire_queue(boot, urgent, &boot->notice, notice);
  }
}

sley_status sl_wire_fail(sl_bootstrap *boot, sley_status status) {
  char message[SL_BOOT_MESSAGE];
  int first = -1, led = 0;
  snprintf(message, sizeof message, "%s", *sley_last_error() ? sley_last_error() : sley_status_name(status));
  /* What the ranks agreed on is another's failure, and told as such. */
  if (status == SLEY_ERR_PEER && sscanf(message, "rank %d failed: %n", &first, &led) == 1 && led > 0 &&
      first >= 0 && first < boot->size && first != boot->rank)
    break_down(boot, first, message + led);
  else
    break_down(boot, boot->rank, message);
  return status;
}

static void take_what_comes(sl_bootstrap *boot, int p);

/* A connection to a peer has ended; reason: errno, 0 for an end of file. If it had news, that is what counts.
 */
static void lose(sl_bootstrap *boot, int p, int reason) {
  sl_wire_peer *peer = &boot->peer[p];
  int rank = p % boot->size, urgent = sl_wire_urgent(boot, rank);
  close(peer->fd);
  peer->fd = -1;
  peer->first = peer->last = NULL;
  if (p < boot->size && boot->peer[urgent].fd >= 0)
    take_what_comes(boot, urgent);
  if (!boot->peer[rank].left && !boot->leaving)
    break_down(boot, rank,
               reason == ETIMEDOUT || reason == EHOSTUNREACH || reason == ENETUNREACH
                   ? "its connection was closed: its host or the network between does not answer"
                   : "its connection was closed: the process has ended or was killed");
}

/* The pulse of a neighbour has stopped. */
static void heed_pulse(sl_bootstrap *boot) {
  int rank = sl_pulse_silent(boot->pulse);
  char message[SL_BOOT_MESSAGE];
  if (rank < 0 || boot->failed_rank >= 0 || boot->peer[rank].left)
    return;
  snprintf(message, sizeof message,
           "rank %d has heard nothing of it for %g s: it is stopped, or cut off (--timeout sets the limit)",
           boot->rank, boot->timeout);
  break_down(boot, rank, message);
}

/* ---- sending */

void sl_wire_queue(sl_bootstrap *boot, int p, const void *data, sl_boot_send *send) {
  sl_wire_peer *peer = &boot->peer[p];
  send->data = data;
  send->sent = 0;
  send->next = NULL;
  send->done = peer->fd < 0 || peer->deaf;
  if (send->done)
    return;
  if (peer->last)
    peer->last->next = send;
  else
    peer->first = send;
  peer->last = send;
}

/* The bytes that come next, at most all of one piece. */
static size_t next_piece(const sl_boot_send *out, const void **data) {
  static const char zeros[ZEROS];
  const int64_t head = sizeof out->header;
  if (out->sent < head) {
    *data = (const char *)&out->header + out->sent;
    return (size_t)(head - out->sent);
  }
  int64_t left = head + out->header.bytes - out->sent;
  if (!out->data) {
    *data = zeros;
    return (size_t)(left < ZEROS ? left : ZEROS);
  }
  *data = (const char *)out->data + (out->sent - head);
  return (size_t)left;
}

static void send_what_goes(sl_bootstrap *boot, int p) {
  sl_wire_peer *peer = &boot->peer[p];
  while (peer->first) {
    sl_boot_send *out = peer->first;
    const void *data;
    size_t bytes = next_piece(out, &data);
    ssize_t sent = bytes > 0 ? send(peer->fd, data, bytes, MSG_NOSIGNAL) : 0;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return;
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0) { /* why it has closed is yet to be read */
      peer->deaf = true;
      peer->first = peer->last = NULL;
      return;
    }
    out->sent += sent;
    if (out->sent == (int64_t)sizeof out->header + out->header.bytes) {
      peer->first = out->next;
      if (!peer->first)
        peer->last = NULL;
      out->done = true;
    }
  }
}

/* ---- receiving */

/* Finds the receive that was posted for the message that arrives; false: none yet. */
static bool find_target(sl_bootstrap *boot, sl_wire_peer *peer) {
  if (boot->failed_rank >= 0 || boot->leaving) {
    peer->body = NULL;
    return true;
  }
  for (sl_boot_recv **at = &peer->posted; *at; at = &(*at)->next)
    if ((*at)->tag == peer->header.tag) {
      sl_boot_recv *recv = *at;
      *at = recv->next;
      if (recv->bytes != peer->header.bytes) {
        (void)sl_fail(SLEY_ERR_INTERNAL, "a message of %lld bytes has come where %lld were expected",
                      (long long)peer->header.bytes, (long long)recv->bytes);
        (void)sl_wire_fail(boot, SLEY_ERR_INTERNAL);
        return true;
      }
      peer->target = recv;
      peer->body = recv->data;
      return true;
    }
  return false;
}

/* A header is complete. */
static void begin_body(sl_bootstrap *boot, int p) {
  sl_wire_peer *peer = &boot->peer[p];
  peer->body_left = peer->header.bytes;
  peer->body = NULL;
  peer->target = NULL;
  peer->stalled = false;
  switch (peer->header.kind) {
  case SL_KIND_DATA:
    peer->stalled = !find_target(boot, peer);
    break;
  case SL_KIND_ABORT:
    peer->body = (char *)&peer->news;
    break;
  case SL_KIND_REQUEST:
    if (boot->failed_rank < 0)
      sl_wire_request(boot, p);
    break;
  default:
    break;
  }
}

/* A message is complete. */
static void end_body(sl_bootstrap *boot, int p) {
  sl_wire_peer *peer = &boot->peer[p];
  peer->header_got = 0;
  if (peer->target)
    peer->target->done = true;
  peer->target = NULL;
  if (peer->header.kind == SL_KIND_LEAVE)
    peer->left = true;
  else if (peer->header.kind == SL_KIND_REQUEST && boot->failed_rank < 0)
    sl_wire_request_done(boot, p);
  else if (peer->header.kind == SL_KIND_ABORT) {
    peer->news.text[sizeof peer->news.text - 1] = '\0';
    if (peer->news.rank >= 0 && peer->news.rank < boot->size)
      break_down(boot, (int)peer->news.rank, peer->news.text);
  }
}

/* Reads some bytes: 1 if it may go on, 0 if there are none now, -1 if the connection has ended. */
static int read_some(sl_wire_peer *peer, void *into, size_t bytes, size_t *got) {
  for (;;) {
    ssize_t taken = recv(peer->fd, into, bytes, 0);
    if (taken > 0) {
      *got = (size_t)taken;
      return 1;
    }
    if (taken < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return 0;
    if (taken == 0)
      errno = 0;
    if (taken == 0 || errno != EINTR)
      return -1;
  }
}

static void take_what_comes(sl_bootstrap *boot, int p) {
  static _Thread_local char waste[WASTE];
  sl_wire_peer *peer = &boot->peer[p];
  while (!peer->stalled) {
    size_t got = 0;
    int go_on;
    if (peer->header_got < sizeof peer->header) {
      go_on = read_some(peer, (char *)&peer->header + peer->header_got,
                        sizeof peer->header - peer->header_got, &got);
      peer->header_got += got;
      if (go_on > 0 && peer->header_got == sizeof peer->header)
        begin_body(boot, p);
      else if (go_on > 0)
        continue;
    } else {
      bool wasted = !peer->body;
      size_t most = wasted && peer->body_left > WASTE ? WASTE : (size_t)peer->body_left;
      go_on = read_some(peer, wasted ? waste : peer->body, most, &got);
      peer->body_left -= (int64_t)got;
      if (!wasted)
        peer->body += got;
    }
    if (go_on < 0) {
      lose(boot, p, errno);
      return;
    }
    if (go_on == 0)
      return;
    if (!peer->stalled && peer->body_left == 0)
      end_body(boot, p);
  }
}

/* A receive was posted, or nothing is waited for any more: looks again at the message that was held up. */
static void unstall(sl_bootstrap *boot, int p) {
  sl_wire_peer *peer = &boot->peer[p];
  if (!peer->stalled || !find_target(boot, peer))
    return;
  peer->stalled = false;
  if (peer->body_left == 0)
    end_body(boot, p);
}

sley_status sl_wire_turn(sl_bootstrap *boot, int milliseconds) {
  int count = 0;
  heed_pulse(boot);
  for (int p = 0; p < 2 * boot->size; p++) {
    sl_wire_peer *peer = &boot->peer[p];
    unstall(boot, p);
    if (peer->fd < 0)
      continue;
    int events = (peer->stalled ? POLLRDHUP : POLLIN) | (peer->first ? POLLOUT : 0);
    boot->pollers[count] = (struct pollfd){.fd = peer->fd, .events = (short)events};
    boot->polled[count++] = p;
  }
  if (boot->meanwhile)
    boot->meanwhile();
  int ready = poll(boot->pollers, (nfds_t)count, milliseconds);
  for (int i = 0; i < count && ready > 0; i++) {
    int p = boot->polled[i];
    if (boot->pollers[i].revents & POLLOUT)
      send_what_goes(boot, p);
    if (boot->peer[p].fd < 0 || !(boot->pollers[i].revents & (POLLIN | POLLRDHUP | POLLHUP | POLLERR)))
      continue;
    if (boot->peer[p].stalled)
      lose(boot, p, 0); /* nobody leaves in order while a message of his is held up */
    else
      take_what_comes(boot, p);
  }
  return sl_interrupted();
}

/* ---- messages */

void sl_bootstrap_send(sl_bootstrap *boot, int peer, uint64_t tag, const void *data, int64_t bytes,
                       sl_boot_send *send) {
  send->header = (sl_boot_header){.kind = SL_KIND_DATA, .tag = tag, .bytes = bytes};
  if (boot->failed_rank >= 0) {
    send->done = false;
    return;
  }
  sl_wire_queue(boot, peer, data, send);
  if (boot->peer[peer].first == send)
    send_what_goes(boot, peer);
}

void sl_wire_post(sl_bootstrap *boot, int index, uint64_t tag, void *data, int64_t bytes,
                  sl_boot_recv *recv) {
  *recv = (sl_boot_recv){.tag = tag, .data = data, .bytes = bytes};
  if (boot->failed_rank >= 0)
    return;
  sl_boot_recv **at = &boot->peer[index].posted;
  while (*at)
    at = &(*at)->next;
  *at = recv;
}

void sl_bootstrap_recv(sl_bootstrap *boot, int peer, uint64_t tag, void *data, int64_t bytes,
                       sl_boot_recv *recv) {
  sl_wire_post(boot, peer, tag, data, bytes, recv);
}

sley_status sl_wire_wait(sl_bootstrap *boot, int p, const bool *done, bool answers) {
  const sl_wire_peer *peer = &boot->peer[p];
  while (!*done) {
    SL_TRY(sl_wire_broken(boot));
    if (peer->left && !answers)
      return sl_wire_fail(boot,
                          sl_fail(SLEY_ERR_PEER,
                                  "rank %d has returned, but rank %d waits for it: all ranks must make the "
                                  "same collective calls",
                                  p, boot->rank));
    sley_status status = sl_wire_turn(boot, SLICE_MS);
    if (status != SLEY_OK)
      return sl_wire_fail(boot, status);
  }
  return SLEY_OK;
}

sley_status sl_bootstrap_wait_sent(sl_bootstrap *boot, int peer, sl_boot_send *send) {
  return sl_wire_wait(boot, peer, &send->done, false);
}

sley_status sl_bootstrap_wait_received(sl_bootstrap *boot, int peer, sl_boot_recv *recv) {
  return sl_wire_wait(boot, peer, &recv->done, false);
}

void sl_bootstrap_meanwhile(sl_bootstrap *boot, void (*turn)(void)) {
  boot->meanwhile = turn;
}

sley_status sl_bootstrap_progress(sl_bootstrap *boot) {
  SL_TRY(sl_wire_broken(boot));
  sley_status status = sl_wire_turn(boot, 0);
  if (status != SLEY_OK)
    return sl_wire_fail(boot, status);
  return sl_wire_broken(boot);
}

bool sl_bootstrap_broken(const sl_bootstrap *boot) {
  return boot->failed_rank >= 0;
}

/* Serves for a while, so that the notice gets out. */
static void serve_until_sent(sl_bootstrap *boot, double deadline) {
  for (;;) {
    bool sent = true;
    for (int p = 0; p < 2 * boot->size; p++)
      sent = sent && !boot->peer[p].first;
    double left = deadline - sl_now();
    if (sent || left <= 0)
      return;
    (void)sl_wire_turn(boot, left * 1e3 < SLICE_MS ? (int)(left * 1e3) + 1 : SLICE_MS);
  }
}

void sl_bootstrap_abort(sl_bootstrap *boot, sley_status status) {
  char message[SL_BOOT_MESSAGE];
  snprintf(message, sizeof message, "%s", sley_last_error());
  (void)sl_wire_fail(boot, status);
  serve_until_sent(boot, sl_now() + FAREWELL / 10);
  (void)sl_fail(status, "%s", message); /* serving may have met an interrupt */
}

static bool all_left(const sl_bootstrap *boot) {
  for (int p = 0; p < boot->size; p++)
    if (boot->peer[p].fd >= 0 && !boot->peer[p].left)
      return false;
  return true;
}

void sl_bootstrap_close(sl_bootstrap *boot) {
  if (!boot)
    return;
  char message[1024];
  snprintf(message, sizeof message, "%s", sley_last_error());
  boot->leaving = boot->failed_rank < 0;
  for (int p = 0; p < boot->size && boot->leaving; p++) {
    sl_wire_peer *peer = &boot->peer[p];
    peer->own_send.header = (sl_boot_header){.kind = SL_KIND_LEAVE};
    if (p != boot->rank)
      sl_wire_queue(boot, p, NULL, &peer->own_send);
  }
  bool interrupted = false;
  while (boot->failed_rank < 0 && !interrupted && !all_left(boot))
    interrupted = sl_wire_turn(boot, SLICE_MS) != SLEY_OK;
  double deadline = sl_now() + FAREWELL;
  serve_until_sent(boot, deadline);
  for (int p = 0; p < 2 * boot->size; p++)
    if (boot->peer[p].fd >= 0)
      shutdown(boot->peer[p].fd, SHUT_WR);
  /* What a peer has sent meanwhile is read, or it would lose what it has not read yet itself. */
  boot->leaving = true;
  for (bool open = boot->failed_rank >= 0; open && sl_now() < deadline;) {
    (void)sl_wire_turn(boot, SLICE_MS);
    open = false;
    for (int p = 0; p < 2 * boot->size; p++)
      open = open || (boot->peer[p].fd >= 0 && !boot->peer[p % boot->size].left);
  }
  sl_wire_destroy(boot);
  if (*message)
    (void)sl_fail(SLEY_OK, "%s", message);
}

/* ---- what is known of the ranks */

int sl_bootstrap_rank(const sl_bootstrap *boot) {
  return boot->rank;
}

int sl_bootstrap_size(const sl_bootstrap *boot) {
  return boot->size;
}

int sl_bootstrap_local_rank(const sl_bootstrap *boot) {
  return boot->local_rank;
}

const char *sl_bootstrap_host(const sl_bootstrap *boot, int rank) {
  return boot->peer[rank].host;
}

static bool blocks_fit(const sl_bootstrap *boot, int block) {
  for (int r = 1; r < boot->size; r++)
    if (r % block != 0 && strcmp(boot->peer[r].host, boot->peer[r - 1].host) != 0)
      return false;
  return true;
}

int sl_bootstrap_block(const sl_bootstrap *boot, int most) {
  int block = most < boot->size ? most : boot->size;
  while (block > 1 && !blocks_fit(boot, block))
    block--;
  return block;
}

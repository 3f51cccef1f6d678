/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts connections, and hears the claims of all of them side by side. */
#include "bootstrap/reception.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "socket/socket.h"

enum { SLICE_MS = 50, ADMITTED_AT_ONCE = 64 };

/* Seconds: how long a guest may take; and how long it stays at least where others want its place. */
static const double PATIENCE = 10, PATIENCE_FULL = 0.25;

sley_status sl_reception_open(int listener, const sl_secret *secret, const sl_claim *wanted,
                              sl_reception *out) {
  *out = (sl_reception){.listener = listener, .secret = secret, .wanted = *wanted};
  if (wanted->payload < 0 || sizeof *wanted + (size_t)wanted->payload > SL_GUEST_BYTES)
    return sl_fail(SLEY_ERR_INTERNAL, "a claim with %d bytes is longer than a reception hears",
                   wanted->payload);
  return SL_NEW(out->guest, SL_GUESTS, "connections of ranks that come");
}

/* The guest leaves the list; its socket stays open. */
static int release(sl_reception *reception, int g) {
  int fd = reception->guest[g].fd;
  reception->count--;
  memmove(&reception->guest[g], &reception->guest[g + 1],
          (size_t)(reception->count - g) * sizeof *reception->guest);
  return fd;
}

/* The oldest guest of the address that has the most of them. */
static int find_least_welcome(const sl_reception *reception) {
  int worst = 0, most = 0;
  for (int g = 0; g < reception->count; g++) {
    int same = 0;
    for (int other = g; other < reception->count; other++)
      same += memcmp(reception->guest[other].address, reception->guest[g].address,
                     sizeof reception->guest[g].address) == 0;
    if (same > most) {
      most = same;
      worst = g;
    }
  }
  return worst;
}

/* Sends away who has had his time; and one more where all places are taken. */
static void make_room(sl_reception *reception) {
  double now = sl_now();
  while (reception->count > 0 && now - reception->guest[0].since > PATIENCE)
    close(release(reception, 0));
  if (reception->count < SL_GUESTS)
    return;
  int worst = find_least_welcome(reception);
  if (now - reception->guest[worst].since > PATIENCE_FULL)
    close(release(reception, worst));
}

static void note_address(int fd, uint8_t out[16]) {
  struct sockaddr_storage name;
  socklen_t length = sizeof name;
  memset(out, 0, 16);
  if (getpeername(fd, (struct sockaddr *)&name, &length) != 0)
    return;
  if (name.ss_family == AF_INET6)
    memcpy(out, &((struct sockaddr_in6 *)&name)->sin6_addr, 16);
  else if (name.ss_family == AF_INET)
    memcpy(out, &((struct sockaddr_in *)&name)->sin_addr, 4);
}

/* Takes who waits at the door, as far as there is room. */
static sley_status admit(sl_reception *reception) {
  for (int i = 0; i < ADMITTED_AT_ONCE; i++) {
    int fd;
    make_room(reception);
    if (reception->count == SL_GUESTS)
      return SLEY_OK;
    sley_status status = sl_socket_accept(reception->listener, &fd);
    if (status == SLEY_ERR_MEMORY && reception->count == 0)
      return sl_fail(SLEY_ERR_IO, "cannot accept a connection: %s: raise the limit of open files (ulimit -n)",
                     strerror(errno));
    if (status == SLEY_ERR_MEMORY) {
      close(release(reception, find_least_welcome(reception)));
      return SLEY_OK;
    }
    if (status != SLEY_OK)
      return status == SLEY_ERR_PEER ? SLEY_OK : status; /* nobody is there */
    sl_guest *guest = &reception->guest[reception->count];
    status = sl_challenge_make(&guest->challenge);
    /* A new connection has room for a challenge. */
    if (status == SLEY_OK && sl_socket_write(fd, &guest->challenge, sizeof guest->challenge, 0) == SLEY_OK) {
      reception->count++;
      guest->fd = fd;
      guest->got = 0;
      guest->since = sl_now();
      note_address(fd, guest->address);
    } else {
      close(fd);
    }
    SL_TRY(status);
  }
  return SLEY_OK;
}

/* Reads what a guest has sent so far. Whether the guest stays. */
static bool hear(sl_guest *guest, size_t bytes) {
  while (guest->got < bytes) {
    ssize_t taken = recv(guest->fd, guest->message + guest->got, bytes - guest->got, MSG_DONTWAIT);
    if (taken > 0)
      guest->got += (size_t)taken;
    else if (taken == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK))
      return false;
    else if (errno != EINTR)
      break;
  }
  return true;
}

/* A claim is complete: whether it is true, and this side's proof is on its way. */
static bool judge(sl_reception *reception, const sl_guest *guest) {
  sl_claim_verdict verdict =
      sl_claim_check(reception->secret, &guest->challenge, &reception->wanted, guest->message);
  reception->foreign += verdict == SL_CLAIM_FOREIGN;
  reception->unproven += verdict == SL_CLAIM_UNPROVEN;
  if (verdict != SL_CLAIM_PROVEN)
    return false;
  sl_proof proof;
  sl_claim claim;
  memcpy(&claim, guest->message, sizeof claim);
  sl_proof_make(reception->secret, &guest->challenge, &claim, &proof);
  return sl_socket_write(guest->fd, &proof, sizeof proof, 0) == SLEY_OK;
}

sley_status sl_reception_take(sl_reception *reception, void *message, int *out) {
  size_t bytes = sizeof(sl_claim) + (size_t)reception->wanted.payload;
  *out = -1;
  SL_TRY(admit(reception));
  for (int g = 0; g < reception->count;) {
    sl_guest *guest = &reception->guest[g];
    bool stays = hear(guest, bytes);
    if (stays && guest->got < bytes) {
      g++;
    } else if (stays && judge(reception, guest)) {
      memcpy(message, guest->message, bytes);
      *out = release(reception, g);
      return SLEY_OK;
    } else {
      close(release(reception, g));
    }
  }
  return SLEY_OK;
}

int sl_reception_pollers(const sl_reception *reception, struct pollfd *out) {
  int count = reception->count;
  for (int g = 0; g < count; g++)
    out[g] = (struct pollfd){.fd = reception->guest[g].fd, .events = POLLIN};
  if (count < SL_GUESTS)
    out[count++] = (struct pollfd){.fd = reception->listener, .events = POLLIN};
  return count;
}

sley_status sl_reception_next(sl_reception *reception, double deadline, void *message, int *out) {
  struct pollfd pollers[SL_GUESTS + 1];
  for (;;) {
    SL_TRY(sl_reception_take(reception, message, out));
    if (*out >= 0)
      return SLEY_OK;
    SL_TRY(sl_interrupted());
    double left = deadline - sl_now();
    if (left <= 0)
      return SLEY_ERR_PEER;
    int count = sl_reception_pollers(reception, pollers);
    int ready = poll(pollers, (nfds_t)count, left * 1e3 < SLICE_MS ? (int)(left * 1e3) + 1 : SLICE_MS);
    if (ready < 0 && errno != EINTR)
      return sl_fail(SLEY_ERR_IO, "cannot wait for sockets: %s", strerror(errno));
  }
}

void sl_reception_close(sl_reception *reception) {
  while (reception->count > 0)
    close(release(reception, 0));
  sl_free(reception->guest);
  reception->guest = NULL;
}

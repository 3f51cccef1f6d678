/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts connections, and reads the claims of all of them at the same time. */
#include "bootstrap/reception.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "socket/socket.h"

enum { SLICE_MS = 50, ADMITTED_AT_ONCE = 256 };

/* Seconds: the longest time for a guest, and the time that it has at least even if others need its place. */
static const double PATIENCE = 10, PATIENCE_FULL = 0.25;

sley_status sl_reception_open(int listener, const sl_secret *secret, const sl_claim *wanted, sl_guest *guest,
                              int room, sl_reception *out) {
  *out =
      (sl_reception){.listener = listener, .secret = secret, .wanted = *wanted, .guest = guest, .room = room};
  if (wanted->payload < 0 || sizeof *wanted + (size_t)wanted->payload > SL_GUEST_BYTES)
    return sl_fail(SLEY_ERR_INTERNAL, "a claim with %d bytes is longer than a reception hears",
                   wanted->payload);
  return SLEY_OK;
}

/* Removes a guest; the last guest moves to its place in the array. Returns the guest's socket, which stays
   open. */
static int release(sl_reception *reception, int g) {
  int fd = reception->guest[g].fd;
  reception->count--;
  if (g != reception->count)
    reception->guest[g] = reception->guest[reception->count];
  return fd;
}

static bool same_address(const sl_guest *a, const sl_guest *b) {
  return memcmp(a->address, b->address, sizeof a->address) == 0;
}

/* The oldest guest of an address that has more than half of all guests, if there is one; else the oldest of
 * all. */
static int find_least_welcome(const sl_reception *reception) {
  const sl_guest *guest = reception->guest;
  int greedy = 0, votes = 0, worst = -1;
  for (int g = 0; g < reception->count; g++) { /* majority vote: an address with a majority remains in the
                                                  end */
    if (votes == 0)
      greedy = g;
    votes += same_address(&guest[g], &guest[greedy]) ? 1 : -1;
  }
  for (int g = 0; g < reception->count; g++)
    if ((votes <= 0 || same_address(&guest[g], &guest[greedy])) &&
        (worst < 0 || guest[g].since < guest[worst].since))
      worst = g;
  return worst;
}

/* Closes the connections of guests whose time is over. */
static void end_late(sl_reception *reception) {
  double now = sl_now();
  for (int g = 0; g < reception->count;)
    if (now - reception->guest[g].since > PATIENCE)
      close(release(reception, g));
    else
      g++;
}

/* Makes a place free for another guest: if all places are taken, a guest that has been there for some time
 * loses its place. Returns false if no place is free. */
static bool make_room(sl_reception *reception) {
  if (reception->count < reception->room)
    return true;
  int worst = find_least_welcome(reception);
  if (sl_now() - reception->guest[worst].since <= PATIENCE_FULL)
    return false;
  close(release(reception, worst));
  return true;
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

/* Accepts the connections that wait at the listener, as long as there are free places. */
static sley_status admit(sl_reception *reception) {
  end_late(reception);
  for (int i = 0; i < ADMITTED_AT_ONCE && make_room(reception); i++) {
    int fd;
    sley_status status = sl_socket_accept(reception->listener, &fd);
    if (status == SLEY_ERR_MEMORY && reception->count == 0)
      return sl_fail(SLEY_ERR_IO, "cannot accept a connection: %s: raise the limit of open files (ulimit -n)",
                     strerror(errno));
    if (status == SLEY_ERR_MEMORY) {
      close(release(reception, find_least_welcome(reception)));
      return SLEY_OK;
    }
    if (status != SLEY_OK)
      return status == SLEY_ERR_PEER ? SLEY_OK : status; /* no connection waits */
    sl_guest *guest = &reception->guest[reception->count];
    status = sl_challenge_make(&guest->challenge);
    /* The buffer of a new connection always has enough space for a challenge. */
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

/* Reads the data that a guest has sent so far. Returns whether the guest may stay. */
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

/* Checks a complete claim. Returns whether it is true and this side's proof was sent. */
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
  if (count < reception->room)
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
}

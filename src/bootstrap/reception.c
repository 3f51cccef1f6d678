/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts connections that begin with one message, and hears all of them side by side. */
#include "bootstrap/reception.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "socket/socket.h"

enum { SLICE_MS = 50 };

static const double PATIENCE = 2; /* seconds for a guest, where others have no room */

void sl_reception_open(int listener, const void *greeting, size_t greeting_bytes, size_t bytes,
                       sl_reception *out) {
  out->listener = listener;
  out->greeting = greeting;
  out->greeting_bytes = greeting_bytes;
  out->bytes = bytes;
  out->count = 0;
}

/* The guest leaves the list; its socket stays open. */
static int release(sl_reception *reception, int g) {
  int fd = reception->guest[g].fd;
  reception->count--;
  memmove(&reception->guest[g], &reception->guest[g + 1],
          (size_t)(reception->count - g) * sizeof *reception->guest);
  return fd;
}

/* Takes all who wait at the door, as far as there is room. */
static sley_status admit(sl_reception *reception) {
  while (reception->count < SL_GUESTS) {
    int fd;
    sley_status status = sl_socket_accept(reception->listener, &fd);
    if (status != SLEY_OK)
      return status == SLEY_ERR_PEER ? SLEY_OK : status; /* nobody is there */
    /* A new connection has room for a greeting. */
    if (reception->greeting_bytes == 0 ||
        sl_socket_write(fd, reception->greeting, reception->greeting_bytes, 0) == SLEY_OK) {
      sl_guest *guest = &reception->guest[reception->count++];
      guest->fd = fd;
      guest->got = 0;
      guest->since = sl_now();
    } else {
      close(fd);
    }
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

/* Waits until somebody comes, or says something, for a moment at most. */
static sley_status listen_to_all(const sl_reception *reception, double left) {
  struct pollfd pollers[SL_GUESTS + 1];
  int count = reception->count;
  for (int g = 0; g < count; g++)
    pollers[g] = (struct pollfd){.fd = reception->guest[g].fd, .events = POLLIN};
  if (count < SL_GUESTS)
    pollers[count++] = (struct pollfd){.fd = reception->listener, .events = POLLIN};
  int ready = poll(pollers, (nfds_t)count, left * 1e3 < SLICE_MS ? (int)(left * 1e3) + 1 : SLICE_MS);
  if (ready < 0 && errno != EINTR)
    return sl_fail(SLEY_ERR_IO, "cannot wait for sockets: %s", strerror(errno));
  return SLEY_OK;
}

sley_status sl_reception_next(sl_reception *reception, double deadline, void *message, int *out) {
  for (;;) {
    SL_TRY(admit(reception));
    for (int g = 0; g < reception->count;) {
      sl_guest *guest = &reception->guest[g];
      if (!hear(guest, reception->bytes)) {
        close(release(reception, g));
      } else if (guest->got == reception->bytes) {
        memcpy(message, guest->message, reception->bytes);
        *out = release(reception, g);
        return SLEY_OK;
      } else {
        g++;
      }
    }
    SL_TRY(sl_interrupted());
    double now = sl_now();
    if (now >= deadline)
      return SLEY_ERR_PEER;
    if (reception->count == SL_GUESTS && now - reception->guest[0].since > PATIENCE)
      close(release(reception, 0));
    SL_TRY(listen_to_all(reception, deadline - now));
  }
}

void sl_reception_close(sl_reception *reception) {
  while (reception->count > 0)
    close(release(reception, 0));
}

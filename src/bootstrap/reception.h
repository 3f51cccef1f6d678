/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts connections, and returns those whose other end has proved that it knows the job's secret. All
 * connections are served at the same time, so that a silent one (of a stopped process, or of a stranger)
 * delays no other. A connection that is not proven yet, a guest, has one of SL_GUESTS places, for a limited
 * time; if all places are taken, the address with the most guests loses its oldest one. */
#ifndef SLEY_BOOTSTRAP_RECEPTION_H
#define SLEY_BOOTSTRAP_RECEPTION_H

#include <poll.h>

#include "socket/proof.h"

/* Most guests at once, and bytes of the longest message. */
enum { SL_GUESTS = 512, SL_GUEST_BYTES = 1408 };

typedef struct sl_guest {
  int fd;
  uint8_t address[16];
  double since; /* time at which it came, from sl_now() */
  sl_challenge challenge;
  size_t got;
  _Alignas(8) char message[SL_GUEST_BYTES]; /* a claim and its payload */
} sl_guest;

typedef struct sl_reception {
  int listener;
  const sl_secret *secret;
  sl_claim wanted; /* job, to, port, payload: the required values of a claim */
  int count, room;
  sl_guest *guest;
  int64_t unproven, foreign; /* numbers of rejected connections */
} sl_reception;

/* Starts a reception; neither waits nor allocates. listener, secret and guest (room for `room` guests,
 * SL_GUESTS at most) stay the caller's, and must outlive the reception. Errors: SLEY_ERR_INTERNAL (a payload
 * that is too long). */
sley_status sl_reception_open(int listener, const sl_secret *secret, const sl_claim *wanted, sl_guest *guest,
                              int room, sl_reception *out);

/* Accepts waiting connections, reads what guests have sent, and returns one guest that is proven and has been
 * sent this side's proof: copies its message (a claim and the payload) and returns its socket. *out -1: there
 * is none now. Does not wait. Errors: SLEY_ERR_IO, SLEY_ERR_INTERNAL. */
sley_status sl_reception_take(sl_reception *reception, void *message, int *out);

/* Fills in the sockets to poll, at most SL_GUESTS + 1; returns their number. */
int sl_reception_pollers(const sl_reception *reception, struct pollfd *out);

/* Waits for the next proven guest. Errors: SLEY_ERR_PEER once the deadline, a time of sl_now(), has passed
 * (without a message), SLEY_ERR_INTERRUPTED, SLEY_ERR_IO. */
sley_status sl_reception_next(sl_reception *reception, double deadline, void *message, int *out);

/* Closes the connections of the remaining guests. */
void sl_reception_close(sl_reception *reception);

#endif

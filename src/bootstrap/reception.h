/* SPDX-License-Identifier: Apache-2.0 */
/* Takes connections, and hands over those whose other end has proved that it knows the job's secret. Those
 * who have come are heard side by side, so that one which says nothing (a stopped process, a stranger) holds
 * up nobody. A connection that is not proven has a place among SL_GUESTS, for a limited time; where all are
 * taken, the address that has taken the most of them loses its oldest. */
#ifndef SLEY_BOOTSTRAP_RECEPTION_H
#define SLEY_BOOTSTRAP_RECEPTION_H

#include <poll.h>

#include "socket/proof.h"

/* Guests heard at once, and the longest message. */
enum { SL_GUESTS = 512, SL_GUEST_BYTES = 1408 };

typedef struct sl_guest {
  int fd;
  uint8_t address[16];
  double since; /* sl_now() when it came */
  sl_challenge challenge;
  size_t got;
  _Alignas(8) char message[SL_GUEST_BYTES]; /* a claim and its payload */
} sl_guest;

typedef struct sl_reception {
  int listener;
  const sl_secret *secret;
  sl_claim wanted; /* job, to, port, payload: what a claim must say */
  int count, room;
  sl_guest *guest;
  int64_t unproven, foreign; /* that were sent away */
} sl_reception;

/* Nothing is waited for or allocated. listener, secret and room for guests (SL_GUESTS at most) stay the
 * caller's, and must outlive the reception. Errors: SLEY_ERR_INTERNAL (a payload that is too long). */
sley_status sl_reception_open(int listener, const sl_secret *secret, const sl_claim *wanted, sl_guest *guest,
                              int room, sl_reception *out);

/* Takes who has come, hears what they have said, and hands over a guest who is proven, and has the proof of
 * this side: copies its message (a claim and the payload), and gives its socket. *out -1: there is none now.
 * Nothing is waited for. Errors: SLEY_ERR_IO, SLEY_ERR_INTERNAL. */
sley_status sl_reception_take(sl_reception *reception, void *message, int *out);

/* Fills in what to poll for, at most SL_GUESTS + 1; returns how many. */
int sl_reception_pollers(const sl_reception *reception, struct pollfd *out);

/* The next guest who is proven. Errors: SLEY_ERR_PEER once the deadline, a time of sl_now(), has passed
 * (without a message), SLEY_ERR_INTERRUPTED, SLEY_ERR_IO. */
sley_status sl_reception_next(sl_reception *reception, double deadline, void *message, int *out);

/* Sends away who is left. */
void sl_reception_close(sl_reception *reception);

#endif

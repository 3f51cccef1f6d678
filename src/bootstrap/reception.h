/* SPDX-License-Identifier: Apache-2.0 */
/* Takes connections that begin with one message of a fixed length. Those who have come are heard side by
 * side, so that one which says nothing (a stopped process, a stranger) holds up nobody. */
#ifndef SLEY_BOOTSTRAP_RECEPTION_H
#define SLEY_BOOTSTRAP_RECEPTION_H

#include <stddef.h>

#include "base/status.h"

/* Guests heard at once, and the longest message. */
enum { SL_GUESTS = 32, SL_GUEST_BYTES = 1280 };

typedef struct sl_guest {
  int fd;
  size_t got;
  double since; /* sl_now() when it came */
  char message[SL_GUEST_BYTES];
} sl_guest;

typedef struct sl_reception {
  int listener;
  const void *greeting; /* sent to each guest first */
  size_t greeting_bytes;
  size_t bytes; /* of a message */
  int count;
  sl_guest guest[SL_GUESTS]; /* in the order in which they came */
} sl_reception;

/* Nothing is waited for or allocated. listener and greeting stay the caller's, and must outlive the
 * reception. */
void sl_reception_open(int listener, const void *greeting, size_t greeting_bytes, size_t bytes,
                       sl_reception *out);

/* The next guest whose message is complete: copies that, and hands over the socket. A guest who has been
 * silent for some seconds is sent away only when there are SL_GUESTS of them. Errors: SLEY_ERR_PEER once the
 * deadline, a time of sl_now(), has passed (without a message), SLEY_ERR_INTERRUPTED, SLEY_ERR_IO. */
sley_status sl_reception_next(sl_reception *reception, double deadline, void *message, int *out);

/* Sends away who is left. */
void sl_reception_close(sl_reception *reception);

#endif

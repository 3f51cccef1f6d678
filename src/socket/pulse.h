/* SPDX-License-Identifier: Apache-2.0 */
/* The pulse: every rank signals to its two neighbours in the ring of ranks that it is alive, from a separate
 * thread, so that a rank that computes for a long time is not mistaken for a rank that is stopped or cut off.
 */
#ifndef SLEY_SOCKET_PULSE_H
#define SLEY_SOCKET_PULSE_H

#include "base/status.h"

typedef struct sl_pulse sl_pulse;

/* Starts the thread. socket: connections to ranks peer[0] and peer[1] that have no other use, or -1 (see
 * sl_pulse_add); they belong to the caller, and stay open until sl_pulse_stop. A rank counts as silent if no
 * data has come from it for timeout seconds (2 at least) during which this process itself ran: if all are
 * stopped together, that time does not count. Errors: SLEY_ERR_MEMORY, SLEY_ERR_IO. */
sley_status sl_pulse_start(const int socket[2], const int peer[2], double timeout, sl_pulse **out);

/* Adds the connection to peer[i], which was -1 so far: from here on this rank signals to it and listens. */
void sl_pulse_add(sl_pulse *pulse, int i, int socket);

/* Returns the number of the silent rank, or -1 if there is none or pulse is NULL. */
int sl_pulse_silent(const sl_pulse *pulse);

/* Ends the thread. NULL: does nothing. */
void sl_pulse_stop(sl_pulse *pulse);

#endif

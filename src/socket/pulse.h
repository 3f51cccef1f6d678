/* SPDX-License-Identifier: Apache-2.0 */
/* The pulse: every rank tells its two neighbours in the ring of ranks that it is alive, from a thread of its
 * own, so that a rank which computes for long is not taken for one that is stopped or cut off. */
#ifndef SLEY_BOOTSTRAP_PULSE_H
#define SLEY_BOOTSTRAP_PULSE_H

#include "base/status.h"

typedef struct sl_pulse sl_pulse;

/* Starts the thread. socket: connections to ranks peer[0] and peer[1] for nothing else, or -1 (see
 * sl_pulse_add); they belong to the caller, and stay open until sl_pulse_stop. A rank is silent once nothing
 * has come from it for timeout seconds (2 at least) during which this process ran itself: being stopped
 * together with all others does not count. Errors: SLEY_ERR_MEMORY, SLEY_ERR_IO. */
sley_status sl_pulse_start(const int socket[2], const int peer[2], double timeout, sl_pulse **out);

/* The connection to peer[i] is there now, which has been -1: from here on it is told and heard. */
void sl_pulse_add(sl_pulse *pulse, int i, int socket);

/* The rank that is silent, or -1. NULL: -1. */
int sl_pulse_silent(const sl_pulse *pulse);

/* Ends the thread. NULL: nothing. */
void sl_pulse_stop(sl_pulse *pulse);

#endif

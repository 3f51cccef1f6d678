/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as processes of this host, forked from this one. */
#ifndef SLEY_BOOTSTRAP_SPAWN_H
#define SLEY_BOOTSTRAP_SPAWN_H

#include "bootstrap/place.h"

typedef sley_status (*sl_spawn_main)(const sl_place *place, void *arg);

/* Forks `ranks` processes, each of which runs main with a place at which all can meet, and waits for all.
 * This process must not have used a device before, and no other thread may hold a lock. The ranks see memory
 * as it is now, and copy it on write; what a rank writes is lost when it ends. The ranks end with this
 * process, when it is interrupted, and soon after the first of them fails or is killed. Returns the first
 * failing rank's status: the lowest rank that failed for a reason of its own, else the lowest that was killed
 * (SLEY_ERR_PEER), else the lowest of the others; its error, about that rank, becomes this thread's. Errors
 * of its own: SLEY_ERR_IO, SLEY_ERR_MEMORY. */
sley_status sl_spawn(int ranks, double timeout, sl_spawn_main main, void *arg);

#endif

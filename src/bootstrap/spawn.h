/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as processes of this host, forked from this one. */
#ifndef SLEY_BOOTSTRAP_SPAWN_H
#define SLEY_BOOTSTRAP_SPAWN_H

#include "bootstrap/place.h"

typedef sley_status (*sl_spawn_main)(const sl_place *place, void *arg);

/* Forks `ranks` processes, each of which runs main with a place at which all can meet, and waits for all. No
 * device may have been touched before, and no other thread may hold a lock. Memory as it is now is seen by
 * all, copied where written; what was written is lost when a rank ends. The ranks end with this process, with
 * this process's interrupt, and soon after the first of them that fails or is killed. Returns the first
 * failing rank's status: the lowest of those that failed for a reason of their own, then of those that were
 * killed (SLEY_ERR_PEER), then of the others; its error, about that rank, becomes this thread's. Errors
 * of its own: SLEY_ERR_IO, SLEY_ERR_MEMORY. */
sley_status sl_spawn(int ranks, double timeout, sl_spawn_main main, void *arg);

#endif

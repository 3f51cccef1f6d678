/* SPDX-License-Identifier: Apache-2.0 */
/* Turns: in a world of many more ranks than cores only a limited number of ranks run at once, and the others
 * sleep until one of these waits. So a thousand ranks, as in a plan for a large machine, load the machine no
 * more than its cores allow, and a meeting wakes each rank once. A rank that blocks outside the library does
 * not prevent others from running. */
#ifndef SLEY_TRANSPORT_THREADS_TURNS_H
#define SLEY_TRANSPORT_THREADS_TURNS_H

#include "transport/threads/world.h"

/* The number of ranks that run at once in a world of `ranks` ranks, of `threads` threads each, on devices
 * with host memory; 0: all of them. */
int sl_turns_of(int ranks, int threads);

/* Called at the start and at the end of a rank's thread. */
void sl_turns_begin(sl_threads_comm *comm);
void sl_turns_end(sl_threads_comm *comm);

/* Called by the thread that has started `started` ranks: returns once they have ended. Until then it checks
 * every 10 ms whether ranks that have a turn sleep outside the library; then others run. If all of them
 * sleep, or no turn has passed to another rank for a second, twice as many ranks run from then on. */
void sl_turns_watch(sl_world *world, int started);

/* Lets other ranks run until this rank's word has reached least, or the rank need not wait any longer for
 * another reason, which the caller, sl_world_wait, then finds. May return early. */
void sl_turns_wait(sl_threads_comm *comm, _Atomic uint64_t *word, uint64_t least, int peer);

/* Called when an event has happened for which the rank may wait: the rank runs if there is a free turn. */
void sl_turns_offer(sl_world *world, int rank);

/* Calls sl_turns_offer for all ranks. */
void sl_turns_offer_all(sl_world *world);

#endif

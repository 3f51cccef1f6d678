/* SPDX-License-Identifier: Apache-2.0 */
/* Turns: in a world of many more ranks than cores only so many ranks run at once, and the others sleep until
 * one of those waits. So a thousand ranks, as a plan for a large machine has, load the machine no more than
 * its cores can bear, and a meeting wakes each of them once. A rank that blocks outside the library keeps no
 * other from running. */
#ifndef SLEY_TRANSPORT_THREADS_TURNS_H
#define SLEY_TRANSPORT_THREADS_TURNS_H

#include "transport/threads/world.h"

/* Ranks of a world of so many on devices with the host's memory, of `threads` threads each, that run at once;
 * 0: all of them. */
int sl_turns_of(int ranks, int threads);

/* A rank's thread begins, and ends. */
void sl_turns_begin(sl_threads_comm *comm);
void sl_turns_end(sl_threads_comm *comm);

/* By the thread that has started so many ranks: returns once they have ended. Until then it looks every 10 ms
 * whether ranks that have a turn sleep outside the library; then others run. Where all of them sleep, or none
 * has passed its turn on for a second, twice as many ranks run from then on. */
void sl_turns_watch(sl_world *world, int started);

/* Others run until this rank's word has reached least, or it need not wait any longer for another reason: see
 * sl_world_wait, which asks for that reason then. May return early. */
void sl_turns_wait(sl_threads_comm *comm, _Atomic uint64_t *word, uint64_t least, int peer);

/* Something the rank may be waiting for has happened: it runs if there is a free turn. */
void sl_turns_offer(sl_world *world, int rank);

/* The same for all ranks. */
void sl_turns_offer_all(sl_world *world);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank does to its peers in a round of an exchange: it stays inside their memory, tells them that it
 * has received, and leaves them the word that it is gone. Used by all files that run exchanges of threads. */
#ifndef SLEY_TRANSPORT_THREADS_PEERS_H
#define SLEY_TRANSPORT_THREADS_PEERS_H

#include "transport/threads/exchange_inside.h"

/* Enters the peer's memory to stay there, until sl_world_leave_all. Errors: SLEY_ERR_PEER, where it has
 * closed the exchange, or a rank has failed; then this rank is inside nobody's memory. */
sley_status sl_threads_stay(sl_threads_exchange *exchange, int peer);

/* The receiver's round from recv[i] is under way (on the host's own memory: over): tells the sender, counts.
 */
void sl_threads_acknowledge(sl_threads_exchange *exchange, int i);

/* The queue waits until the peer's device has read this rank's rows of the round. A peer that has closed the
 * exchange waited for its device before. */
sley_status sl_threads_wait_read(const sl_threads_exchange *exchange, int peer, sl_queue *queue);

/* The same after an abort, when no memory may be entered any more: the peer keeps its events meanwhile. */
void sl_threads_wait_read_always(const sl_threads_exchange *exchange, int peer, sl_queue *queue);

/* Of an exchange whose devices signal each other, when it is destroyed: tells the peers' devices that this
 * rank is gone, should they still wait for it. Others: nothing. */
void sl_threads_leave_words(sl_threads_exchange *exchange);

/* Then, once no peer is inside this rank's memory: waits for what the peers' devices have been given that
 * writes to its board. */
void sl_threads_settle_boards(sl_threads_exchange *exchange);

#endif

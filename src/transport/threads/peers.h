/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's interactions with its peers in a round of an exchange: it enters their memory, acknowledges
 * received rows, and announces on their boards that it has finished. Used by all files that run exchanges of
 * threads. */
#ifndef SLEY_TRANSPORT_THREADS_PEERS_H
#define SLEY_TRANSPORT_THREADS_PEERS_H

#include "transport/threads/exchange_inside.h"

/* Enters the peer's memory until sl_world_leave_all. Errors: SLEY_ERR_PEER, if the peer has closed the
 * exchange, or a rank has failed; then this rank is not inside any peer's memory. */
sley_status sl_threads_stay(sl_threads_exchange *exchange, int peer);

/* Called when the round's receive from recv[i] was enqueued, or, on host memory, is complete: notifies the
 * sender, and counts the traffic. */
void sl_threads_acknowledge(sl_threads_exchange *exchange, int i);

/* Makes the queue wait until the peer's device has read this rank's rows of the round. A peer that has closed
 * the exchange has already waited for its device. */
sley_status sl_threads_wait_read(const sl_threads_exchange *exchange, int peer, sl_queue *queue);

/* The same after an abort, when no memory may be entered any more; the peer does not destroy its events
   meanwhile. */
void sl_threads_wait_read_always(const sl_threads_exchange *exchange, int peer, sl_queue *queue);

/* Called when an exchange is destroyed whose devices signal each other: announces on the peers' boards that
 * this rank has finished, in case they still wait for it. Does nothing for other exchanges. */
void sl_threads_leave_words(sl_threads_exchange *exchange);

/* Called when such an exchange is destroyed, once no peer is inside this rank's memory: waits for the
 * enqueued work of the peers' devices that writes to this rank's board. */
void sl_threads_settle_boards(sl_threads_exchange *exchange);

#endif

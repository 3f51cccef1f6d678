/* SPDX-License-Identifier: Apache-2.0 */
/* The part of an exchange on devices whose memory the host cannot address. */
#ifndef SLEY_TRANSPORT_THREADS_DEVICE_EXCHANGE_H
#define SLEY_TRANSPORT_THREADS_DEVICE_EXCHANGE_H

#include "transport/threads/exchange_inside.h"

/* Makes buffers, lists and events, between the two meetings of ranks in exchange_create, when the peers'
 * exchanges are known. Not collective. */
sley_status sl_device_exchange_prepare(sl_threads_exchange *exchange);

/* Returns an upper bound of the device memory of that part. */
int64_t sl_device_exchange_memory(sl_comm *comm, const sl_exchange_spec *spec);

/* Called by the rank itself; does nothing for an exchange without a device part. */
void sl_device_exchange_free(sl_threads_exchange *exchange);

/* Begin a round, as exchange_begin does, after round and dst are set. None of these calls waits for a device.
 */
sley_status sl_device_exchange_begin(sl_threads_exchange *exchange, const void *src, int64_t src_stride,
                                     sl_queue *queue);
/* Enqueues the round's receives, concurrently with the work in queue; rows that are added go through queue
 * itself. Waits until the peers' threads have begun the round. */
sley_status sl_device_exchange_receive(sl_threads_exchange *exchange, sl_queue *queue);
/* Called after receive. arrive: the queue waits for the first piece, or for all rows if there are no pieces;
 * complete: the queue waits for all rows. */
sley_status sl_device_exchange_arrive(sl_threads_exchange *exchange, sl_queue *queue,
                                      const sl_piece_words **words);
sley_status sl_device_exchange_complete(sl_threads_exchange *exchange, sl_queue *queue);
/* Called instead of receive, arrive and complete: the rank keeps access to the memory of its senders;
 * give_back ends it. */
sley_status sl_device_exchange_map(sl_threads_exchange *exchange, sl_queue *queue);
sley_status sl_device_exchange_give_back(sl_threads_exchange *exchange, sl_queue *queue);
sley_status sl_device_exchange_reclaim(sl_threads_exchange *exchange, sl_queue *queue);

/* Waits until the device has completed the work that this rank has enqueued for the exchange. */
void sl_device_exchange_drain(sl_threads_exchange *exchange);

#endif

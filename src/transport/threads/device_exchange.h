/* SPDX-License-Identifier: Apache-2.0 */
/* The part of an exchange that lives on devices whose memory the host cannot address. */
#ifndef SLEY_TRANSPORT_THREADS_DEVICE_EXCHANGE_H
#define SLEY_TRANSPORT_THREADS_DEVICE_EXCHANGE_H

#include "transport/threads/exchange_inside.h"

/* Between the two meetings of exchange_create, when the peers' exchanges are known: buffers, lists and
 * events. Local.
 */
sley_status sl_device_exchange_prepare(sl_threads_exchange *exchange);

/* At most what that takes of the device's memory. */
int64_t sl_device_exchange_memory(sl_comm *comm, const sl_exchange_spec *spec);

/* By the rank itself; accepts an exchange that has none. */
void sl_device_exchange_free(sl_threads_exchange *exchange);

/* As the exchange's, round and dst being set. No call waits for a device. */
sley_status sl_device_exchange_begin(sl_threads_exchange *exchange, const void *src, int64_t src_stride,
                                     sl_queue *queue);
/* Gives the device the round's receives, beside what queue has been given; rows that are added go through
 * queue itself. Waits until the peers' threads have begun the round. */
sley_status sl_device_exchange_receive(sl_threads_exchange *exchange, sl_queue *queue);
/* Both after receive: the queue waits for the first piece, or for all rows where there are no pieces; the
 * queue waits for all rows. */
sley_status sl_device_exchange_arrive(sl_threads_exchange *exchange, sl_queue *queue,
                                      const sl_piece_words **words);
sley_status sl_device_exchange_complete(sl_threads_exchange *exchange, sl_queue *queue);
/* In place of receive, arrive and complete: the rank stays inside the memory of those it receives from;
 * give_back takes it out. */
sley_status sl_device_exchange_map(sl_threads_exchange *exchange, sl_queue *queue);
sley_status sl_device_exchange_give_back(sl_threads_exchange *exchange, sl_queue *queue);
sley_status sl_device_exchange_reclaim(sl_threads_exchange *exchange, sl_queue *queue);

/* Waits until the device has done what this rank has given it. */
void sl_device_exchange_drain(sl_threads_exchange *exchange);

#endif

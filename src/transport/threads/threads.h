/* SPDX-License-Identifier: Apache-2.0 */
/* The transport whose ranks are threads of one process: always built in, the embedded default, and the
 * reference for the other transports. */
#ifndef SLEY_TRANSPORT_THREADS_THREADS_H
#define SLEY_TRANSPORT_THREADS_THREADS_H

#include "transport/backend.h"

extern const sl_transport_backend sl_threads_backend;
extern const sl_transport_ops sl_threads_ops;

/* The slots of sl_threads_ops, by file. */

/* create and destroy in prepare.c; begin, end, map and reclaim in threads_exchange.c */
sley_status sl_threads_exchange_create(sl_comm *comm, const sl_exchange_spec *spec, sl_exchange **out);
int64_t sl_threads_exchange_memory(sl_comm *comm, const sl_exchange_spec *spec);
sley_status sl_threads_exchange_begin(sl_exchange *exchange, const void *src, int64_t src_stride, void *dst,
                                      int64_t dst_stride, sl_queue *queue);
sley_status sl_threads_exchange_end(sl_exchange *exchange, sl_queue *queue);
sley_status sl_threads_exchange_arrive(sl_exchange *exchange, sl_queue *queue, const sl_piece_words **words);
sley_status sl_threads_exchange_reclaim(sl_exchange *exchange, sl_queue *queue);
sley_status sl_threads_exchange_map(sl_exchange *exchange, sl_mapped_rows *mapped, sl_queue *queue);
void sl_threads_exchange_destroy(sl_exchange *exchange);

/* in device_exchange.c, also for devices that the host can address */
int64_t sl_threads_list_messages(const sl_comm *comm, const sl_row_list *list, sl_grain grain);
int64_t sl_threads_row_messages(const sl_comm *comm, int peer, int64_t count, int64_t bytes);

/* threads_sized.c */
sley_status sl_threads_sized_create(sl_comm *comm, const sl_sized_spec *spec, sl_sized **out);
sley_status sl_threads_sized_begin(sl_sized *sized, const sl_sized_round *round, sl_queue *queue);
sley_status sl_threads_sized_end(sl_sized *sized, int64_t *recv_bytes, sl_queue *queue);
void sl_threads_sized_destroy(sl_sized *sized);

/* In launch.c. Makes the calling thread the only rank: launch->ranks is 1. */
sley_status sl_threads_open(const sl_launch *launch, sl_comm **out);
void sl_threads_close(sl_comm *comm);

/* threads_symmetric.c */
extern const sl_symm_ops sl_threads_symm_ops;

/* threads_collectives.c */
sley_status sl_threads_barrier(sl_comm *comm);
sley_status sl_threads_allgather(sl_comm *comm, const void *src, int64_t bytes, void *dst);
sley_status sl_threads_alltoallv(sl_comm *comm, const void *send, const int64_t *send_at,
                                 const int64_t *send_bytes, void *recv, const int64_t *recv_at,
                                 const int64_t *recv_bytes);
sley_status sl_threads_allreduce(sl_comm *comm, sl_reduce op, int64_t *values, int count);

#endif

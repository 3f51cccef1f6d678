/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as processes whose GPUs share NVSHMEM's symmetric heap. */
#ifndef SLEY_TRANSPORT_NVSHMEM_NVSHMEM_COMM_H
#define SLEY_TRANSPORT_NVSHMEM_NVSHMEM_COMM_H

#include "transport/process/direct.h"

sley_status sl_nvshmem_exchange_create(sl_comm *comm, const sl_exchange_spec *spec, sl_exchange **out);
sley_status sl_nvshmem_exchange_begin(sl_exchange *exchange, const void *src, int64_t src_stride, void *dst,
                                      int64_t dst_stride, sl_queue *queue);
sley_status sl_nvshmem_exchange_borrow(sl_exchange *exchange, sl_lent *lent, sl_queue *queue);
sley_status sl_nvshmem_exchange_end(sl_exchange *exchange, sl_queue *queue);
sley_status sl_nvshmem_exchange_arrive(sl_exchange *exchange, int stage, sl_queue *queue);
void sl_nvshmem_exchange_destroy(sl_exchange *exchange);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as processes that exchange rows over their sockets: for any device, on any machines, with nothing
 * installed. Not fast: the measure of the other transports between processes. */
#ifndef SLEY_TRANSPORT_TCP_TCP_H
#define SLEY_TRANSPORT_TCP_TCP_H

#include "transport/process/process.h"

extern const sl_transport_backend sl_tcp_backend;

sley_status sl_tcp_exchange_create(sl_comm *comm, const sl_exchange_spec *spec, sl_exchange **out);
sley_status sl_tcp_exchange_begin(sl_exchange *exchange, const void *src, int64_t src_stride, void *dst,
                                  int64_t dst_stride, sl_queue *queue);
sley_status sl_tcp_exchange_borrow(sl_exchange *exchange, sl_lent *lent, sl_queue *queue);
sley_status sl_tcp_exchange_end(sl_exchange *exchange, sl_queue *queue);
sley_status sl_tcp_exchange_arrive(sl_exchange *exchange, int stage, sl_queue *queue);
void sl_tcp_exchange_destroy(sl_exchange *exchange);

#endif

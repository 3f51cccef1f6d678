/* SPDX-License-Identifier: Apache-2.0 */
/* The part of an exchange inside a workgroup of GPUs of several processes: rows are loaded where their owner
 * has laid them, and the GPUs tell each other when (boards.h). No host waits. */
#ifndef SLEY_TRANSPORT_PROCESS_DIRECT_H
#define SLEY_TRANSPORT_PROCESS_DIRECT_H

#include "transport/process/peer_memory.h"

typedef struct sl_direct sl_direct;

/* Whether the GPUs of each workgroup can load each other's memory, found by trying with memory; then
 * comm->direct is set, else a note says why not. Collective. Errors: those of the mesh. */
sley_status sl_direct_start(sl_process_comm *comm, const sl_peer_memory *memory);
/* NULL members: nothing. */
void sl_direct_stop(sl_process_comm *comm);

/* Whether a peer's rows take this way. */
static inline bool sl_direct_serves(const sl_process_comm *comm, int peer) {
  return comm->direct && sl_link_to(&comm->base, peer) == SL_LINK_DIRECT;
}

/* The lists of spec with peers of the workgroup, checked and matched before. Where there is no such way, or
 * no such list on any rank, *out is NULL. spec is not used afterwards. Collective; either every rank gets an
 * error or none. */
sley_status sl_direct_create(sl_process_comm *comm, const sl_exchange_spec *spec, sl_direct **out);

/* sl_transport_ops.exchange_memory, of what such an exchange takes beside messages or instead of them. */
int64_t sl_direct_memory(sl_comm *comm, const sl_exchange_spec *spec);

/* Lays out the rows that peers will take. After what queue has been given so far. NULL: nothing. */
sley_status sl_direct_begin(sl_direct *direct, const void *src, int64_t src_stride, sl_queue *queue);

/* Gives the device the round's receives beside what queue has been given, and counts them. Rows to add are
 * left to sl_direct_add, to be called for every list of the spec's recv in turn; lists of other peers are
 * passed over. NULL: nothing. */
sley_status sl_direct_receive(sl_direct *direct, void *dst, int64_t dst_stride, sl_queue *queue);
sley_status sl_direct_add(sl_direct *direct, int recv, sl_queue *queue);

/* After receive: queue waits for the first piece, as sl_arrivals_arrive; for all rows. NULL: nothing. */
sley_status sl_direct_arrive(sl_direct *direct, sl_queue *queue, const sl_piece_words **words);
sley_status sl_direct_complete(sl_direct *direct, sl_queue *queue);

/* The last round has been ended, or the mesh is broken, or it was not made whole. Waits for the rank's own
 * device. NULL: nothing. */
void sl_direct_destroy(sl_direct *direct);

#endif

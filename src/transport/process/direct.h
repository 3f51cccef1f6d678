/* SPDX-License-Identifier: Apache-2.0 */
/* The part of an exchange inside a workgroup of GPUs of several processes: rows are loaded from their owner's
 * memory, and the GPUs signal each other (boards.h). No host waits. */
#ifndef SLEY_TRANSPORT_PROCESS_DIRECT_H
#define SLEY_TRANSPORT_PROCESS_DIRECT_H

#include "transport/process/peer_memory.h"

typedef struct sl_direct sl_direct;

/* Finds out whether the GPUs of each workgroup can load each other's memory, by an attempt. If they can, sets
 * comm->direct; else leaves a note with the reason. Collective. Errors: errors of the mesh. */
sley_status sl_direct_start(sl_process_comm *comm, const sl_peer_memory *memory);
/* Frees the data that sl_direct_start has created; members that are NULL are skipped. */
void sl_direct_stop(sl_process_comm *comm);

/* Returns whether a peer's rows are exchanged in this way. */
static inline bool sl_direct_serves(const sl_process_comm *comm, int peer) {
  return comm->direct && sl_link_to(&comm->base, peer) == SL_LINK_DIRECT;
}

/* Prepares the lists of spec with peers of the workgroup, which are already checked and matched. *out is NULL
 * if there is no direct access, or no such list on any rank. spec is not used afterwards. Collective; either
 * every rank gets an error or none. */
sley_status sl_direct_create(sl_process_comm *comm, const sl_exchange_spec *spec, sl_direct **out);

/* Returns the device memory, as in sl_transport_ops.exchange_memory, that such an exchange takes in addition
 * to messages or instead of them. */
int64_t sl_direct_memory(sl_comm *comm, const sl_exchange_spec *spec);

/* Copies the rows for peers to this rank's block, after the work that queue has so far. NULL: does
 * nothing. */
sley_status sl_direct_begin(sl_direct *direct, const void *src, int64_t src_stride, sl_queue *queue);

/* Enqueues the round's receives, concurrently with the work in queue, and counts them. Rows to add are left
 * to sl_direct_add, which is called for every list of the spec's recv in turn and ignores lists of other
 * peers. NULL: does nothing. */
sley_status sl_direct_receive(sl_direct *direct, void *dst, int64_t dst_stride, sl_queue *queue);
sley_status sl_direct_add(sl_direct *direct, int recv, sl_queue *queue);

/* Called after sl_direct_receive: make queue wait for the first piece, as sl_arrivals_arrive, or for all
 * rows. NULL: do nothing. */
sley_status sl_direct_arrive(sl_direct *direct, sl_queue *queue, const sl_piece_words **words);
sley_status sl_direct_complete(sl_direct *direct, sl_queue *queue);

/* Frees an exchange whose last round has ended, whose mesh is broken, or that was not completely made. Waits
 * for the rank's own device. NULL: does nothing. */
void sl_direct_destroy(sl_direct *direct);

#endif

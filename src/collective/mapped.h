/* SPDX-License-Identifier: Apache-2.0 */
/* One exchange of compressed arrays that do not move: kernels of the peers read them in this rank's area
 * (exchange_map). The exchange covers only the header of each array, because during the round no host knows
 * how many bytes follow it. sl_mapped_measure finds that later. */
#ifndef SLEY_COLLECTIVE_MAPPED_H
#define SLEY_COLLECTIVE_MAPPED_H

#include "collective/transfer.h"

typedef struct sl_mapped {
  const char *name;
  sl_comm *comm;
  sley_type type;
  sl_exchange *exchange; /* NULL: not made yet */
  int sends, recvs;
  sl_transfer_item *send; /* ascending peers; at: position in this rank's area */
  sl_transfer_item *recv; /* ascending peers; at: position in the peer's area */
  sl_row_list *lists;     /* lists of the exchange: of send, then of recv */
  sl_mapped_rows *rows;   /* rows of recv, between open and end */
} sl_mapped;

/* Returns whether kernels of each rank can read the memory of all others in place. The same on all ranks. */
bool sl_mapped_serves(const sl_comm *comm);

/* Make the exchange of mapped, whose comm, name and type are set; between the two calls the caller fills send
 * and recv by sl_transfer_list. begin allocates memory for `most` peers. make is collective, agreed. */
sley_status sl_mapped_begin(sl_mapped *mapped, int most);
sley_status sl_mapped_make(sl_mapped *mapped);

/* Starts a round, after the work that queue has so far: the arrays of send are in area, and the peers' arrays
 * may be read, in the queue's order, until end. Waits until peers' hosts have reached this point, not for a
 * device. No call that waits for a peer may come before end. Collective. */
sley_status sl_mapped_open(sl_mapped *mapped, const void *area, sl_queue *queue);
sley_status sl_mapped_end(sl_mapped *mapped, sl_queue *queue);

/* Returns the address of array i of recv, during a round. */
const void *sl_mapped_src(const sl_mapped *mapped, int i);

/* Called after end: in the queue's order the peers have read this rank's arrays, so the area may change.
 * Waits until their hosts have ended the round, not for a device. Before the first round it does nothing.
 * Collective. */
sley_status sl_mapped_reclaim(sl_mapped *mapped, sl_queue *queue);

/* Sets the bytes of the items from their headers (of send, then of recv). Errors: SLEY_ERR_PEER: a header of
 * a peer is wrong. */
sley_status sl_mapped_measure(sl_mapped *mapped, const sl_compressed_header *header);

void sl_mapped_destroy(sl_mapped *mapped); /* collective */

#endif

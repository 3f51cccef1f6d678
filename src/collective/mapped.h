/* SPDX-License-Identifier: Apache-2.0 */
/* One exchange of compressed arrays that do not move: kernels of the peers read them in this rank's area
 * (exchange_map). Of each array the exchange is told the header alone: how much lies behind it, no host knows
 * in the round. sl_mapped_measure says so later. */
#ifndef SLEY_COLLECTIVE_MAPPED_H
#define SLEY_COLLECTIVE_MAPPED_H

#include "collective/transfer.h"

typedef struct sl_mapped {
  const char *name;
  sl_comm *comm;
  sley_type type;
  sl_exchange *exchange; /* NULL: none has been made */
  int sends, recvs;
  sl_transfer_item *send; /* ascending peers; at: in this rank's area */
  sl_transfer_item *recv; /* ascending peers; at: in the area of the peer */
  sl_row_list *lists;     /* of the exchange: those sent, those received */
  sl_mapped_rows *rows;   /* of recv, between open and end */
} sl_mapped;

/* Whether kernels of each rank can read the memory of all others where it is. The same on all ranks. */
bool sl_mapped_serves(const sl_comm *comm);

/* Makes the exchange of mapped, whose comm, name and type are set; send and recv are filled by
 * sl_transfer_list between the two calls. begin: memory for `most` peers. Collective: make; agreed. */
sley_status sl_mapped_begin(sl_mapped *mapped, int most);
sley_status sl_mapped_make(sl_mapped *mapped);

/* Starts a round, after what queue has been given so far: the arrays of send are in area, and the peers' may
 * be read, in queue's order, until end. Waits for peers' hosts to have come as far, not for a device. No call
 * that waits for a peer may come before end. Collective. */
sley_status sl_mapped_open(sl_mapped *mapped, const void *area, sl_queue *queue);
sley_status sl_mapped_end(sl_mapped *mapped, sl_queue *queue);

/* Where array i of recv is; in a round. */
const void *sl_mapped_src(const sl_mapped *mapped, int i);

/* After end, in queue's order: the peers have read what was sent, so the area may change. Waits for their
 * hosts to have ended the round, not for a device. Before the first round: nothing. Collective. */
sley_status sl_mapped_reclaim(sl_mapped *mapped, sl_queue *queue);

/* Sets the bytes of the items by their headers (those of send, then those of recv). Errors: SLEY_ERR_PEER: a
 * header of a peer is wrong. */
sley_status sl_mapped_measure(sl_mapped *mapped, const sl_compressed_header *header);

void sl_mapped_destroy(sl_mapped *mapped); /* collective */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* One exchange of compressed arrays: between every pair of ranks at most one, whose bytes are checked when it
 * has come. */
#ifndef SLEY_COLLECTIVE_TRANSFER_H
#define SLEY_COLLECTIVE_TRANSFER_H

#include "device/device.h"
#include "transport/transport.h"

/* An array that goes to a peer or comes from it. */
typedef struct sl_transfer_item {
  int peer;
  int64_t values; /* of the array */
  int64_t at;     /* bytes from the start of the area; a multiple of SL_TRANSFER_SLOT */
  int64_t bytes;  /* in this round: to be sent, set by sl_transfer_measure; received, by sl_transfer_run */
} sl_transfer_item;

enum { SL_TRANSFER_SLOT = 256 };

/* Adds an item behind `count` others; of no values: nothing. */
void sl_transfer_list(sl_transfer_item *items, int *count, int peer, int64_t values, int64_t at);

/* After make, the values of an item may be any other number up to what it was, and at any other place, in
 * each round; of 0 values nothing moves. NULL exchange: nothing moves. */
typedef struct sl_transfer {
  const char *name;
  sl_comm *comm;
  sley_type type;
  sl_sized *exchange;
  int sends, recvs;
  sl_transfer_item *send, *recv; /* ascending peers */
  sl_compressed_header *header;  /* of the larger of sends and recvs */
  int64_t *numbers;              /* for rounds */
} sl_transfer;

/* Bytes that a compressed array of so many values takes at most: in an area, rounded up to slots. */
int64_t sl_transfer_room(sley_type type, int64_t values);
int64_t sl_transfer_slot(sley_type type, int64_t values);

/* Makes the exchange of transfer, whose comm, name and type are set; sends and recvs are filled by
 * sl_transfer_send and sl_transfer_recv between the two calls. begin: memory for `most` peers. Collective:
 * make; agreed. */
sley_status sl_transfer_begin(sl_transfer *transfer, int most);
void sl_transfer_send(sl_transfer *transfer, int peer, int64_t values, int64_t at);
void sl_transfer_recv(sl_transfer *transfer, int peer, int64_t values, int64_t at);
sley_status sl_transfer_make(sl_transfer *transfer);

/* Reads the headers of what is to be sent in the area src: the host waits for the queue. */
sley_status sl_transfer_measure(sl_transfer *transfer, const void *src, sl_queue *queue);

/* Moves what was measured (or has come before, and is sent on: the caller sets bytes) from src to dst, and
 * checks the headers of what has come: the host waits for the queue. Errors: SLEY_ERR_PEER. Collective. */
sley_status sl_transfer_run(sl_transfer *transfer, const void *src, void *dst, sl_queue *queue);

void sl_transfer_destroy(sl_transfer *transfer); /* collective */

#endif

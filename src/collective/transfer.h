/* SPDX-License-Identifier: Apache-2.0 */
/* One exchange of compressed arrays: at most one array from each rank to each other rank. Arrays are checked
 * on arrival. */
#ifndef SLEY_COLLECTIVE_TRANSFER_H
#define SLEY_COLLECTIVE_TRANSFER_H

#include "device/device.h"
#include "transport/transport.h"

/* An array that is sent to a peer or received from it. */
typedef struct sl_transfer_item {
  int peer;
  int64_t values; /* number of values of the array */
  int64_t at;     /* offset in the area, in bytes; a multiple of SL_TRANSFER_SLOT */
  int64_t bytes;  /* number of bytes in this round; set for a send by sl_transfer_measure, for a receive by
                     sl_transfer_run */
} sl_transfer_item;

enum { SL_TRANSFER_SLOT = 256 };

/* Appends an item after `count` others; does nothing if it has 0 values. */
void sl_transfer_list(sl_transfer_item *items, int *count, int peer, int64_t values, int64_t at);

/* A transfer. After make, the values of an item may change in each round to any number up to the original
 * number, and its position may change; with 0 values nothing moves. exchange is NULL if nothing moves. */
typedef struct sl_transfer {
  const char *name;
  sl_comm *comm;
  sley_type type;
  sl_sized *exchange;
  int sends, recvs;
  sl_transfer_item *send, *recv; /* ascending peers */
  sl_compressed_header *header;  /* memory for as many headers as the larger of sends and recvs */
  int64_t *numbers;              /* memory for the numbers of a round */
} sl_transfer;

/* Returns the maximum number of bytes of a compressed array of that many values; in an area, rounded up to
   slots. */
int64_t sl_transfer_room(sley_type type, int64_t values);
int64_t sl_transfer_slot(sley_type type, int64_t values);

/* Make the exchange of transfer, whose comm, name and type are set; the caller fills sends and recvs by
 * sl_transfer_send and sl_transfer_recv between the two calls. begin allocates memory for `most` peers. make
 * is collective, agreed. */
sley_status sl_transfer_begin(sl_transfer *transfer, int most);
void sl_transfer_send(sl_transfer *transfer, int peer, int64_t values, int64_t at);
void sl_transfer_recv(sl_transfer *transfer, int peer, int64_t values, int64_t at);
sley_status sl_transfer_make(sl_transfer *transfer);

/* Reads the headers of the arrays to be sent, in the area src. The host waits for the queue. */
sley_status sl_transfer_measure(sl_transfer *transfer, const void *src, sl_queue *queue);

/* Moves the measured arrays from src to dst (or arrays that were received before, whose bytes the caller
 * sets), and checks the headers of received arrays. The host waits for the queue. Errors: SLEY_ERR_PEER.
 * Collective. */
sley_status sl_transfer_run(sl_transfer *transfer, const void *src, void *dst, sl_queue *queue);

void sl_transfer_destroy(sl_transfer *transfer); /* collective */

#endif

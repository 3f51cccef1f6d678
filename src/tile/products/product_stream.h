/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of any length to any rank, without a call of the receiver: sparse products of tiles, whose sizes
 * nobody knows beforehand, on their way to the owners of tiles of C.
 *
 * The sender cuts a message into pieces, puts each into a buffer of its own, and pushes it to the receiver's
 * queue. Pieces from one rank to another arrive in the order in which they were pushed. The receiver copies
 * each piece into memory of its own as soon as it looks, and gives the buffer back. So a sender waits for no
 * more than that the receiver looks; while it waits it receives, so two that send to each other cannot wait
 * for ever.
 *
 * Messages are in the host's memory. Buffers lie in the memory of the ranks' devices, so that on a GPU each
 * piece is copied there and back: the receiver checks and unpacks a message on the host. */
#ifndef SLEY_TILE_PRODUCTS_PRODUCT_STREAM_H
#define SLEY_TILE_PRODUCTS_PRODUCT_STREAM_H

#include "tile/tile_queue.h"

/* Takes a message, `bytes` long, that rank `from` has sent; message belongs to the stream, and is freed when
 * the call returns. */
typedef sley_status (*sl_product_receiver)(void *context, int from, const int64_t *message, int64_t bytes);

typedef struct sl_product_stream {
  sl_comm *comm;
  sl_tile_queue *queue;
  sl_product_receiver receiver;
  void *context;
  struct sl_half_message *half; /* of each rank, what has come of its present message */
} sl_product_stream;

/* buffers, of buffer_bytes each: of every rank, and the same on all. Errors: SLEY_ERR_MEMORY,
 * SLEY_ERR_OVERFLOW. Collective, agreed. */
sley_status sl_product_stream_create(sl_comm *comm, int buffers, int64_t buffer_bytes,
                                     sl_product_receiver receiver, void *context, sl_product_stream **out);
void sl_product_stream_destroy(sl_product_stream *stream); /* Accepts NULL. Collective. */

/* Sends a message, whose first word is its bytes, itself included; it can be freed then. Receives while it
 * waits for a buffer. On a device the last pieces may leave with a later call. Errors: SLEY_ERR_PEER, those
 * of receive. */
sley_status sl_product_stream_send(sl_product_stream *stream, int rank, const int64_t *message);

/* Takes what has come. *any, which may be NULL: whether anything had. Errors: SLEY_ERR_PEER (also: a piece
 * that cannot be), SLEY_ERR_INTERNAL (an entry that cannot be), SLEY_ERR_MEMORY, those of the receiver. */
sley_status sl_product_stream_receive(sl_product_stream *stream, bool *any);

/* All that has been sent is on its way, and all buffers that were read are given back: before the last call
 * of a rank on which others wait. Errors: SLEY_ERR_PEER. */
sley_status sl_product_stream_settle(sl_product_stream *stream);

#endif

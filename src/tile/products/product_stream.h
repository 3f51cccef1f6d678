/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of any length to any rank, without a call of the receiver: they carry sparse products of tiles,
 * whose sizes are not known in advance, to the owners of tiles of C.
 *
 * The sender cuts a message into pieces, puts each into a buffer of its own, and pushes it to the receiver's
 * queue. Pieces from one rank to another arrive in the order in which they were pushed. At its next call the
 * receiver copies each piece into memory of its own and returns the buffer. So a sender waits only until the
 * receiver's next call. While it waits it receives, so two ranks that send to each other cannot deadlock.
 *
 * Messages are in host memory. Buffers are in the memory of the ranks' devices, so on a GPU each piece is
 * copied there and back: the receiver checks and unpacks a message on the host. */
#ifndef SLEY_TILE_PRODUCTS_PRODUCT_STREAM_H
#define SLEY_TILE_PRODUCTS_PRODUCT_STREAM_H

#include "tile/tile_queue.h"

/* Takes a message of `bytes` bytes from rank `from`. The stream owns the message and frees it after the
 * call. */
typedef sley_status (*sl_product_receiver)(void *context, int from, const int64_t *message, int64_t bytes);

typedef struct sl_product_stream {
  sl_comm *comm;
  sl_tile_queue *queue;
  sl_product_receiver receiver;
  void *context;
  struct sl_half_message *half; /* for each rank, the received part of its current message */
} sl_product_stream;

/* Creates a stream. buffers, buffer_bytes: number and size of each rank's buffers, the same on all ranks.
 * Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. Collective, agreed. */
sley_status sl_product_stream_create(sl_comm *comm, int buffers, int64_t buffer_bytes,
                                     sl_product_receiver receiver, void *context, sl_product_stream **out);
void sl_product_stream_destroy(sl_product_stream *stream); /* Accepts NULL. Collective. */

/* Sends a message, whose first word is its length in bytes including that word. The caller may free it
 * afterwards. Receives while it waits for a buffer. On a device the last pieces may be sent by a later call.
 * Errors: SLEY_ERR_PEER, and the errors of receive. */
sley_status sl_product_stream_send(sl_product_stream *stream, int rank, const int64_t *message);

/* Takes all pieces that have arrived. Sets *any to whether a piece had arrived, unless any is NULL. Errors:
 * SLEY_ERR_PEER (also: an invalid piece), SLEY_ERR_INTERNAL (an invalid entry of the queue), SLEY_ERR_MEMORY,
 * and the receiver's. */
sley_status sl_product_stream_receive(sl_product_stream *stream, bool *any);

/* Ensures that all messages are sent and all buffers that were read are returned. Must be called before the
 * last call of a rank for which others wait. Errors: SLEY_ERR_PEER. */
sley_status sl_product_stream_settle(sl_product_stream *stream);

#endif

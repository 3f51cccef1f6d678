/* SPDX-License-Identifier: Apache-2.0 */
/* An entry of the queue is 1 + (bytes of the piece * ranks + sender) * buffers + buffer. */
#include "tile/products/product_stream.h"

#include "base/memory.h"

enum { WORD = sizeof(int64_t) };

struct sl_half_message {
  int64_t *message; /* message in progress; NULL: no message has begun */
  int64_t bytes, come;
};

static sley_status check_entries(const sl_comm *comm, int buffers, int64_t buffer_bytes) {
  int64_t entries;
  if (__builtin_mul_overflow(buffer_bytes + 1, (int64_t)comm->size * buffers, &entries))
    return sl_fail(SLEY_ERR_OVERFLOW,
                   "%d buffers of %lld bytes on %d ranks do not fit 64-bit sizes: use more tiles", buffers,
                   (long long)buffer_bytes, comm->size);
  return SLEY_OK;
}

sley_status sl_product_stream_create(sl_comm *comm, int buffers, int64_t buffer_bytes,
                                     sl_product_receiver receiver, void *context, sl_product_stream **out) {
  sl_product_stream *s;
  *out = NULL;
  sley_status status = SL_NEW_ZERO(s, 1, "a stream of products");
  if (status == SLEY_OK) {
    *s = (sl_product_stream){.comm = comm, .receiver = receiver, .context = context};
    status = check_entries(comm, buffers, buffer_bytes);
  }
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(s->half, comm->size, "messages of ranks");
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = sl_tile_queue_create(comm, buffers, buffer_bytes, &s->queue);
  if (status != SLEY_OK) {
    sl_product_stream_destroy(s);
    return status;
  }
  *out = s;
  return SLEY_OK;
}

void sl_product_stream_destroy(sl_product_stream *s) {
  if (!s)
    return;
  for (int r = 0; s->half && r < s->comm->size; r++)
    sl_free(s->half[r].message);
  sl_tile_queue_destroy(s->queue);
  sl_free(s->half);
  sl_free(s);
}

/* ---- receiving */

/* Copies a piece from a buffer to host memory. */
static sley_status read_piece(const sl_product_stream *s, void *to, const void *piece, int64_t bytes) {
  return s->comm->device->ops->copy(s->comm->queue, SL_COPY_TO_HOST, to, piece, bytes);
}

/* Starts a message; its first piece contains its length. */
static sley_status begin_message(const sl_product_stream *s, struct sl_half_message *half, int from,
                                 const void *piece, int64_t bytes) {
  int64_t all = 0;
  if (bytes >= WORD)
    SL_TRY(read_piece(s, &all, piece, WORD));
  if (all < bytes || bytes < WORD)
    return sl_fail_peer(
        from, "the first piece of its product of tiles has %lld bytes, but announces %lld bytes in all",
        (long long)bytes, (long long)all);
  if (!(half->message = sl_alloc(all, 1, "a product of tiles")))
    return SLEY_ERR_MEMORY;
  half->bytes = all;
  half->come = 0;
  return SLEY_OK;
}

static sley_status take_piece(sl_product_stream *s, int from, int buffer, int64_t bytes) {
  struct sl_half_message *half = &s->half[from];
  const void *piece;
  SL_TRY(sl_tile_queue_read(s->queue, from, buffer, bytes, &piece));
  if (!half->message)
    SL_TRY(begin_message(s, half, from, piece, bytes));
  if (bytes > half->bytes - half->come)
    return sl_fail_peer(from, "its product of tiles is longer than the %lld bytes that it has announced",
                        (long long)half->bytes);
  SL_TRY(read_piece(s, (char *)half->message + half->come, piece, bytes));
  half->come += bytes;
  SL_TRY(sl_tile_queue_return(s->queue, from, buffer));
  if (half->come < half->bytes)
    return SLEY_OK;
  const sley_status status = s->receiver(s->context, from, half->message, half->bytes);
  sl_free(half->message);
  half->message = NULL;
  return status;
}

static sley_status take_entry(void *context, int64_t entry) {
  sl_product_stream *s = context;
  const int64_t buffers = s->queue->buffers, number = entry > 0 ? entry - 1 : 0, sender = number / buffers,
                bytes = sender / s->comm->size;
  if (bytes < 1 || bytes > s->queue->buffer_bytes)
    return sl_fail(SLEY_ERR_INTERNAL, "the queue of rank %d contains %lld, which is not a piece of a product",
                   s->comm->rank, (long long)entry);
  return take_piece(s, (int)(sender % s->comm->size), (int)(number % buffers), bytes);
}

sley_status sl_product_stream_receive(sl_product_stream *s, bool *any) {
  return sl_tile_queue_drain(s->queue, take_entry, s, any);
}

/* ---- sending */

sley_status sl_product_stream_send(sl_product_stream *s, int rank, const int64_t *message) {
  sl_tile_queue *q = s->queue;
  const int64_t bytes = message[0];
  for (int64_t sent = 0; sent < bytes;) {
    const int64_t left = bytes - sent, piece = left < q->buffer_bytes ? left : q->buffer_bytes;
    int buffer;
    SL_TRY(sl_tile_queue_await(q, take_entry, s, &buffer));
    SL_TRY(s->comm->device->ops->copy(s->comm->queue, SL_COPY_TO_DEVICE, sl_tile_queue_contents(q, buffer),
                                      (const char *)message + sent, piece));
    SL_TRY(sl_tile_queue_push(q, rank, 1 + (piece * s->comm->size + s->comm->rank) * q->buffers + buffer));
    sent += piece;
  }
  return SLEY_OK;
}

sley_status sl_product_stream_settle(sl_product_stream *s) {
  return sl_tile_queue_settle(s->queue);
}

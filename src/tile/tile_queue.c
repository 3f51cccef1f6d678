/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's block contains: the number of the next place, the ring, a word for each buffer (1: it was
 * returned), and the buffers. A rank reads its own words by fetch_add, which is atomic with the writes of
 * other ranks, lets the transport make progress, and returns an error if a rank has failed. */
#include "tile/tile_queue.h"

#include <time.h>

#include "base/memory.h"

enum { WORD = sizeof(int64_t), RING = WORD, GRAIN = 64, NAP_NANOSECONDS = 20000 };

static sley_status measure(sl_tile_queue *q) {
  int64_t bytes;
  q->places = q->comm->size * (int64_t)q->buffers;
  q->returns = RING + q->places * WORD;
  q->contents = (q->returns + q->buffers * WORD + GRAIN - 1) / GRAIN * GRAIN;
  if (__builtin_mul_overflow(q->buffer_bytes, (int64_t)q->buffers, &bytes) || bytes > INT64_MAX - q->contents)
    return sl_fail(SLEY_ERR_OVERFLOW, "%d buffers of %lld bytes do not fit 64-bit sizes: use more tiles",
                   q->buffers, (long long)q->buffer_bytes);
  return SLEY_OK;
}

static sley_status take_memory(sl_tile_queue *q) {
  SL_TRY(measure(q));
  SL_TRY(SL_NEW_ZERO(q->in_use, q->buffers, "buffers"));
  if (!q->comm->device->ops->host_addresses) {
    q->late_most = q->places + q->buffers;
    SL_TRY(SL_NEW(q->late, q->late_most, "words of a queue"));
    SL_TRY(sl_marks_open(q->comm->device, &q->marks));
  }
  return SL_NEW(q->blocks, q->comm->size, "addresses of blocks");
}

/* Finds the addresses of the ranks' memory for this rank, and allocates memory for the blocks that it must
   copy. */
static sley_status find_blocks(sl_tile_queue *q) {
  bool reaches_all = true;
  for (int r = 0; r < q->comm->size; r++) {
    q->blocks[r] = sl_peer_ptr(q->symm, r);
    reaches_all &= q->blocks[r] != NULL;
  }
  sl_device *device = q->comm->device;
  return reaches_all ? SLEY_OK
                     : device->ops->alloc(device, q->buffer_bytes, "room for a buffer", (void **)&q->room);
}

sley_status sl_tile_queue_create(sl_comm *comm, int buffers, int64_t buffer_bytes, sl_tile_queue **out) {
  sl_tile_queue *q;
  *out = NULL;
  sley_status status = SL_NEW_ZERO(q, 1, "a queue");
  if (status == SLEY_OK) {
    *q = (sl_tile_queue){.comm = comm, .buffers = buffers};
    q->buffer_bytes = (buffer_bytes + GRAIN - 1) / GRAIN * GRAIN;
    status = take_memory(q);
  }
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = sl_symm_alloc(comm, q->contents + q->buffers * q->buffer_bytes, &q->symm);
  if (status == SLEY_OK)
    status = sl_agree(comm, find_blocks(q)); /* addresses may be queried only while their owners exist */
  if (status != SLEY_OK) {
    sl_tile_queue_destroy(q);
    return status;
  }
  *out = q;
  return SLEY_OK;
}

void sl_tile_queue_destroy(sl_tile_queue *q) {
  if (!q)
    return;
  sl_device *device = q->comm->device;
  if (q->symm)
    sl_symm_free(q->symm);
  if (q->room)
    device->ops->free(device, q->room);
  sl_marks_close(&q->marks);
  sl_free(q->late);
  sl_free(q->blocks);
  sl_free(q->in_use);
  sl_free(q);
}

/* Reads a word of this rank and resets it to 0. */
static sley_status take_word(sl_tile_queue *q, int64_t offset, int64_t *word) {
  const int me = q->comm->rank;
  SL_TRY(sl_fetch_add(q->symm, me, offset, 0, word));
  /* Unsigned, because others may have written any number. */
  return *word ? sl_fetch_add(q->symm, me, offset, (int64_t)(0 - (uint64_t)*word), NULL) : SLEY_OK;
}

/* ---- words for others */

static sley_status send_entry(sl_tile_queue *q, int rank, int64_t entry) {
  int64_t place;
  SL_TRY(sl_fetch_add(q->symm, rank, 0, 1, &place));
  q->comm->ops->counters_add(q->comm, sl_link_to(q->comm, rank), WORD, 1);
  return sl_fetch_add(q->symm, rank, RING + (int64_t)((uint64_t)place % (uint64_t)q->places) * WORD, entry,
                      NULL);
}

static sley_status send_word(sl_tile_queue *q, const sl_late_word *w) {
  return w->gives_back ? sl_fetch_add(q->symm, w->rank, q->returns + w->value * WORD, 1, NULL)
                       : send_entry(q, w->rank, w->value);
}

/* Sends the words whose marks the device has reached, in order. */
static sley_status send_reached(sl_tile_queue *q) {
  while (q->late_count > 0) {
    const sl_late_word *first = &q->late[q->late_first];
    bool reached;
    SL_TRY(sl_marks_test(&q->marks, first->mark, &reached));
    if (!reached)
      return SLEY_OK;
    SL_TRY(send_word(q, first));
    q->late_first = (q->late_first + 1) % q->late_most;
    q->late_count--;
  }
  return SLEY_OK;
}

sley_status sl_tile_queue_settle(sl_tile_queue *q) {
  SL_TRY(send_reached(q));
  if (q->late_count == 0)
    return SLEY_OK;
  SL_TRY(q->comm->ops->wait(q->comm));
  return send_reached(q);
}

static sley_status send_later(sl_tile_queue *q, sl_late_word word) {
  if (!q->late) /* on the host the comm's queue never has pending work */
    return send_word(q, &word);
  if (q->late_count == q->late_most)
    SL_TRY(sl_tile_queue_settle(q));
  SL_TRY(sl_marks_set(&q->marks, q->comm->queue, &word.mark));
  q->late[(q->late_first + q->late_count++) % q->late_most] = word;
  return send_reached(q);
}

sley_status sl_tile_queue_push(sl_tile_queue *q, int rank, int64_t entry) {
  return send_later(q, (sl_late_word){.rank = rank, .value = entry});
}

sley_status sl_tile_queue_return(sl_tile_queue *q, int rank, int buffer) {
  return send_later(q, (sl_late_word){.rank = rank, .gives_back = true, .value = buffer});
}

/* ---- this rank's buffers and entries */

sley_status sl_tile_queue_buffer(sl_tile_queue *q, int *buffer) {
  SL_TRY(send_reached(q));
  for (int b = 0; b < q->buffers; b++) {
    int64_t returned = 0;
    if (q->in_use[b])
      SL_TRY(take_word(q, q->returns + b * WORD, &returned));
    if (!q->in_use[b] || returned) {
      q->in_use[b] = true;
      *buffer = b;
      return SLEY_OK;
    }
  }
  *buffer = -1;
  return SLEY_OK;
}

void sl_tile_queue_put_back(sl_tile_queue *q, int buffer) {
  q->in_use[buffer] = false;
}

void *sl_tile_queue_contents(const sl_tile_queue *q, int buffer) {
  return q->blocks[q->comm->rank] + q->contents + buffer * q->buffer_bytes;
}

/* Takes the next entry of this rank's queue; 0 if there is none at present. Errors: SLEY_ERR_PEER. */
static sley_status take_entry(sl_tile_queue *q, int64_t *entry) {
  SL_TRY(send_reached(q));
  SL_TRY(take_word(q, RING + q->taken % q->places * WORD, entry));
  q->taken += *entry != 0;
  return SLEY_OK;
}

void sl_tile_queue_nap(void) {
  nanosleep(&(struct timespec){.tv_nsec = NAP_NANOSECONDS}, NULL);
}

sley_status sl_tile_queue_drain(sl_tile_queue *q, sl_tile_queue_taker taker, void *context, bool *any) {
  int64_t entry;
  if (any)
    *any = false;
  do {
    SL_TRY(take_entry(q, &entry));
    if (entry)
      SL_TRY(taker(context, entry));
    if (entry && any)
      *any = true;
  } while (entry);
  return SLEY_OK;
}

sley_status sl_tile_queue_await(sl_tile_queue *q, sl_tile_queue_taker taker, void *context, int *buffer) {
  for (;;) {
    bool any;
    SL_TRY(sl_tile_queue_buffer(q, buffer));
    if (*buffer >= 0)
      return SLEY_OK;
    SL_TRY(sl_tile_queue_drain(q, taker, context, &any));
    if (!any)
      sl_tile_queue_nap();
  }
}

sley_status sl_tile_queue_read(sl_tile_queue *q, int rank, int buffer, int64_t bytes, const void **out) {
  const int64_t offset = q->contents + buffer * q->buffer_bytes;
  if (q->blocks[rank]) {
    *out = q->blocks[rank] + offset;
    q->comm->ops->counters_add(q->comm, sl_link_to(q->comm, rank), bytes, bytes > 0);
    return SLEY_OK;
  }
  *out = q->room;
  SL_TRY(sl_rma_after(q->symm, q->comm->queue)); /* the queue may still read the memory */
  return sl_get(q->symm, rank, offset, q->room, bytes);
}

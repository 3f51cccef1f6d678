/* SPDX-License-Identifier: Apache-2.0 */
/* Words, queues and sums of tiles: argument checks. */
#include <string.h>

#include "base/memory.h"
#include "tile/products/term_sums.h"

enum { WORD = sizeof(int64_t), BUFFERS = 4, MOST_BUFFERS = 4096 };

static sley_status check_comm(const char *call, const sley_comm *comm) {
  const unsigned needed = SL_ONE_SIDED_GET | SL_ONE_SIDED_ATOMICS | SL_ONE_SIDED_PASSIVE;
  return (comm->one_sided & needed) == needed
             ? SLEY_OK
             : sl_fail(SLEY_ERR_UNSUPPORTED,
                       "%s: transport %s on device %s has no memory that ranks use while its owner computes",
                       call, comm->transport, comm->device->ops->name);
}

static sley_status check_buffers(const char *call, int buffers) {
  return buffers >= 0 && buffers <= MOST_BUFFERS
             ? SLEY_OK
             : sl_fail(SLEY_ERR_ARG, "%s: %d buffers: give 1 to %d, or 0 for %d", call, buffers, MOST_BUFFERS,
                       BUFFERS);
}

/* ---- words */

struct sley_words {
  sl_symm *symm;
  int64_t count;
};

sley_status sley_words_create(sley_comm *comm, int64_t count, sley_words **out) {
  static const char call[] = "sley_words_create";
  static const char *const name[] = {"count"};
  sley_words *w = NULL;
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "%s: comm is NULL", call);
  sley_status status = out && count >= 0 && count <= INT64_MAX / WORD
                           ? check_comm(call, comm)
                           : sl_fail(SLEY_ERR_ARG, "%s: out is NULL, or %lld words", call, (long long)count);
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(w, 1, "words");
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = sl_agree_same(comm, call, name, &count, 1);
  if (status == SLEY_OK) {
    w->count = count;
    status = sl_symm_alloc(comm, count * WORD, &w->symm);
  }
  if (status == SLEY_OK)
    status = comm->ops->barrier(comm); /* the words are 0 before any rank changes them */
  if (status != SLEY_OK) {
    sley_words_destroy(w);
    return status;
  }
  *out = w;
  return SLEY_OK;
}

static sley_status check_word(const char *call, const sley_words *w, int rank, int64_t index) {
  if (!w)
    return sl_fail(SLEY_ERR_ARG, "%s: words is NULL", call);
  return rank >= 0 && rank < w->symm->comm->size && index >= 0 && index < w->count
             ? SLEY_OK
             : sl_fail(SLEY_ERR_ARG, "%s: there is no word %lld of rank %d: %d ranks have %lld each", call,
                       (long long)index, rank, w->symm->comm->size, (long long)w->count);
}

sley_status sley_words_add(sley_words *words, int rank, int64_t index, int64_t delta, int64_t *old) {
  SL_TRY(check_word("sley_words_add", words, rank, index));
  return sl_fetch_add(words->symm, rank, index * WORD, delta, old);
}

sley_status sley_words_swap(sley_words *words, int rank, int64_t index, int64_t expected, int64_t desired,
                            int64_t *old) {
  static const char call[] = "sley_words_swap";
  if (!old)
    return sl_fail(SLEY_ERR_ARG, "%s: old is NULL", call);
  SL_TRY(check_word(call, words, rank, index));
  return sl_compare_swap(words->symm, rank, index * WORD, expected, desired, old);
}

sley_status sley_words_reserve(sley_words *words, int rank, int64_t index, int64_t count, int64_t *number) {
  static const char call[] = "sley_words_reserve";
  if (!number || count < 0)
    return sl_fail(SLEY_ERR_ARG, "%s: number is NULL, or a count of %lld", call, (long long)count);
  SL_TRY(check_word(call, words, rank, index));
  SL_TRY(sl_fetch_add(words->symm, rank, index * WORD, 1, number));
  if (*number < 0 || *number >= count)
    *number = -1;
  return SLEY_OK;
}

void sley_words_destroy(sley_words *words) {
  if (!words)
    return;
  sl_symm_free(words->symm);
  sl_free(words);
}

/* ---- queues */

/* A message is its length in bytes, the length of the data, and the data. */
enum { LENGTHS = 2 };

struct sley_queue {
  sl_product_stream *stream;
  sley_queue_taker taker;
  void *context;
};

static sley_status take_message(void *context, int from, const int64_t *message, int64_t bytes) {
  const sley_queue *q = context;
  if (bytes < LENGTHS * WORD || message[1] < 0 || message[1] > bytes - LENGTHS * WORD)
    return sl_fail_peer(from, "it has sent a message of a wrong length");
  return q->taker(q->context, from, message + LENGTHS, message[1]);
}

sley_status sley_queue_create(sley_comm *comm, int buffers, int64_t buffer_bytes, sley_queue_taker taker,
                              void *context, sley_queue **out) {
  static const char call[] = "sley_queue_create";
  static const char *const name[] = {"buffers", "buffer_bytes"};
  sley_queue *q = NULL;
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "%s: comm is NULL", call);
  sley_status status =
      out && taker && buffer_bytes > 0
          ? check_buffers(call, buffers)
          : sl_fail(SLEY_ERR_ARG, "%s: out or taker is NULL, or buffers of %lld bytes: give 1 or more", call,
                    (long long)buffer_bytes);
  if (status == SLEY_OK)
    status = check_comm(call, comm);
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(q, 1, "a queue");
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = sl_agree_same(comm, call, name, (const int64_t[]){buffers, buffer_bytes}, 2);
  if (status == SLEY_OK) {
    *q = (sley_queue){.taker = taker, .context = context};
    status = sl_product_stream_create(comm, buffers ? buffers : BUFFERS, buffer_bytes, take_message, q,
                                      &q->stream);
  }
  if (status != SLEY_OK) {
    sl_free(q);
    return status;
  }
  *out = q;
  return SLEY_OK;
}

sley_status sley_queue_send(sley_queue *queue, int rank, const void *data, int64_t bytes) {
  static const char call[] = "sley_queue_send";
  if (!queue || bytes < 0 || (bytes > 0 && !data) || bytes > INT64_MAX - (LENGTHS + 1) * WORD)
    return sl_fail(SLEY_ERR_ARG, "%s: queue or data is NULL, or %lld bytes", call, (long long)bytes);
  if (rank < 0 || rank >= queue->stream->comm->size)
    return sl_fail(SLEY_ERR_ARG, "%s: there is no rank %d: there are %d", call, rank,
                   queue->stream->comm->size);
  const int64_t whole = LENGTHS * WORD + (bytes + WORD - 1) / WORD * WORD;
  int64_t *message = sl_alloc_zero(whole, 1, "a message");
  if (!message)
    return SLEY_ERR_MEMORY;
  message[0] = whole;
  message[1] = bytes;
  if (bytes > 0)
    memcpy(message + LENGTHS, data, (size_t)bytes);
  const sley_status status = sl_product_stream_send(queue->stream, rank, message);
  sl_free(message);
  return status == SLEY_OK ? sl_product_stream_settle(queue->stream) : status;
}

sley_status sley_queue_receive(sley_queue *queue, bool *any) {
  if (!queue)
    return sl_fail(SLEY_ERR_ARG, "sley_queue_receive: queue is NULL");
  SL_TRY(sl_product_stream_receive(queue->stream, any));
  return sl_product_stream_settle(queue->stream);
}

void sley_queue_destroy(sley_queue *queue) {
  if (!queue)
    return;
  sl_product_stream_destroy(queue->stream);
  sl_free(queue);
}

/* ---- sums */

sley_status sley_sums_create(sley_tiled *y, const int64_t *terms, int buffers, sley_sums **out) {
  static const char call[] = "sley_sums_create";
  static const char *const name[] = {"terms", "buffers"};
  int64_t hash = 0, wrong = -1;
  if (!y)
    return sl_fail(SLEY_ERR_ARG, "%s: y is NULL", call);
  sley_status status = out && terms && !y->sparse
                           ? check_buffers(call, buffers)
                           : sl_fail(SLEY_ERR_ARG, "%s: out or terms is NULL, or y is sparse", call);
  for (int64_t n = 0; status == SLEY_OK && n < sl_tiles(&y->tiling); n++) {
    wrong = terms[n] < 0 ? n : wrong;
    hash = (int64_t)((uint64_t)hash * UINT64_C(6364136223846793005) + (uint64_t)terms[n] + 1);
  }
  if (wrong >= 0)
    status = sl_fail(SLEY_ERR_ARG, "%s: tile %lld has %lld terms", call, (long long)wrong,
                     (long long)terms[wrong]);
  SL_TRY(sl_agree(y->comm, status));
  SL_TRY(sl_agree_same(y->comm, call, name, (const int64_t[]){hash, buffers}, 2));
  return sl_term_sums_create(y, terms, buffers ? buffers : BUFFERS, out);
}

sley_status sley_sums_add(sley_sums *sums, int64_t i, int64_t j, int64_t number, const void *values) {
  static const char call[] = "sley_sums_add";
  if (!sums || !values)
    return sl_fail(SLEY_ERR_ARG, "%s: sums or values is NULL", call);
  const sl_tiling *t = &sums->y->tiling;
  if (i < 0 || i >= t->down || j < 0 || j >= t->across)
    return sl_fail(SLEY_ERR_ARG, "%s: there is no tile (%lld, %lld): y has %lld x %lld", call, (long long)i,
                   (long long)j, (long long)t->down, (long long)t->across);
  const int64_t terms = sums->terms[sl_tile_number(t, i, j)];
  if (number < 0 || number >= terms)
    return sl_fail(SLEY_ERR_ARG, "%s: tile (%lld, %lld) has no term %lld: it has %lld", call, (long long)i,
                   (long long)j, (long long)number, (long long)terms);
  return sl_term_sums_add(sums, i, j, number, values);
}

sley_status sley_sums_finish(sley_sums *sums) {
  return sums ? sl_term_sums_finish(sums) : sl_fail(SLEY_ERR_ARG, "sley_sums_finish: sums is NULL");
}

void sley_sums_destroy(sley_sums *sums) {
  sl_term_sums_destroy(sums);
}

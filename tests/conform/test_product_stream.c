/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of any length between all ranks at once, through few small buffers: each arrives once, complete,
 * and in the order in which its sender sent it. Invalid pieces are errors. */
#include "base/random.h"
#include "ranks.h"
#include "tile/products/product_stream.h"

enum { MESSAGES = 5, MOST_WORDS = 60, BUFFER_BYTES = 64, MOST_RANKS = 8 };

/* The messages that a rank has received. */
typedef struct received {
  uint64_t seed;
  int me, messages;
  int from[MOST_RANKS]; /* number of messages from each rank */
  bool wrong;
} received;

/* Number of words of a message, including its length. */
static int64_t words_of(uint64_t seed, int from, int to, int number) {
  return 1 + (int64_t)(sl_random(seed, (uint64_t)from, (uint64_t)(to * MESSAGES + number)) % MOST_WORDS);
}

static int64_t word_of(int from, int to, int number, int64_t at) {
  return ((int64_t)(from * MOST_RANKS + to) * MESSAGES + number) * MOST_WORDS + at;
}

static sley_status receive(void *context, int from, const int64_t *message, int64_t bytes) {
  received *r = context;
  const int number = r->from[from]++;
  const int64_t words = words_of(r->seed, from, r->me, number % MESSAGES);
  r->wrong = r->wrong || number >= MESSAGES || bytes != 8 * words || message[0] != bytes;
  for (int64_t at = 1; !r->wrong && at < words; at++)
    r->wrong = message[at] != word_of(from, r->me, number, at);
  r->messages++;
  return SLEY_OK;
}

static sley_status exchange_main(sl_comm *comm, void *arg) {
  const uint64_t seed = *(const uint64_t *)arg;
  received r = {.seed = seed, .me = comm->rank};
  sl_product_stream *stream = NULL;
  int64_t message[MOST_WORDS + 1];
  sley_status status = SLEY_OK;
  TRY(sl_product_stream_create(comm, 1 + (int)(seed % 3), BUFFER_BYTES, receive, &r, &stream));
  for (int number = 0; number < MESSAGES; number++)
    for (int to = 0; to < comm->size; to++) {
      message[0] = 8 * words_of(seed, comm->rank, to, number);
      for (int64_t at = 1; at < message[0] / 8; at++)
        message[at] = word_of(comm->rank, to, number, at);
      TRY(sl_product_stream_send(stream, to, message));
    }
  while (r.messages < MESSAGES * comm->size)
    TRY(sl_product_stream_receive(stream, NULL));
  TRY(sl_product_stream_settle(stream));
  CHECK(!r.wrong);
  TRY(sley_comm_barrier(comm));
done:
  sl_product_stream_destroy(stream);
  return status;
}

static void exchanges(const rank_case *rank) {
  uint64_t seed = rank->seed;
  assert_case_ok(rank, run_case(rank, exchange_main, &seed));
}

static void messages_arrive_once_whole_and_in_order(void **state) {
  (void)state;
  each_case(exchanges);
}

/* ---- invalid pieces */

static sley_status wrong_main(sl_comm *comm, void *arg) {
  const uint64_t seed = *(const uint64_t *)arg;
  const int64_t none[] = {INT64_MAX, -1, INT64_MIN, 1}; /* 1: a piece without bytes */
  received r = {.seed = seed, .me = comm->rank};
  sl_product_stream *stream = NULL;
  int64_t short_message[] = {4}; /* shorter than its first word claims */
  sley_status status = SLEY_OK;
  TRY(sl_product_stream_create(comm, 1, BUFFER_BYTES, receive, &r, &stream));
  if (comm->rank == comm->size - 1) {
    if (seed % 5 < 4)
      TRY(sl_tile_queue_push(stream->queue, 0, none[seed % 5]));
    else
      TRY(sl_product_stream_send(stream, 0, short_message));
    TRY(sl_product_stream_settle(stream));
  }
  TRY(sley_comm_barrier(comm));
  if (comm->rank == 0) {
    const sley_status found = sl_product_stream_receive(stream, NULL);
    CHECK(found == (seed % 5 < 4 ? SLEY_ERR_INTERNAL : SLEY_ERR_PEER));
    CHECK(strstr(sley_last_error(), "product"));
    CHECK(r.messages == 0);
  }
  TRY(sley_comm_barrier(comm));
done:
  sl_product_stream_destroy(stream);
  return status;
}

static void wrong_pieces(const rank_case *rank) {
  uint64_t seed = rank->seed;
  assert_case_ok(rank, run_case(rank, wrong_main, &seed));
}

static void pieces_that_cannot_be_are_an_error(void **state) {
  (void)state;
  each_case(wrong_pieces);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(messages_arrive_once_whole_and_in_order),
                                     cmocka_unit_test(pieces_that_cannot_be_are_an_error)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

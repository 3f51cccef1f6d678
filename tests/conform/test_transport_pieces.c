/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that every transport provides exchanges in pieces as promised: random lists and pieces, with a
 * different number of pieces on each rank, in several rounds. */
#include "base/memory.h"
#include "base/random.h"
#include "mirror.h"
#include "ranks.h"

enum { RANKS = 8, PIECED_ROWS = 40, PIECED_ROUNDS = 6 };

/* One rank's part of an exchange in pieces. Rows that have arrived are copied away at once, piece by piece.
 */
typedef struct staged {
  uint64_t seed;
  sl_row_list send[RANKS], recv[RANKS];
  int64_t rows[RANKS][PIECED_ROWS], ends[RANKS][SL_PIECES_MOST];
  int pieces;
  int64_t src[PIECED_ROWS], dst[RANKS * PIECED_ROWS], seen[RANKS * PIECED_ROWS];
  mirror src_there, dst_there, seen_there;
  sl_exchange *exchange;
} staged;

static int64_t staged_count(uint64_t seed, int from, int to) {
  uint64_t bits = sl_random(seed, 30, (uint64_t)(from * RANKS + to));
  return bits % 5 == 0 ? 0 : sl_below(bits, PIECED_ROWS + 1);
}

static int64_t staged_row(uint64_t seed, int from, int to, int64_t i) {
  return sl_below(sl_random(seed, 100 + (uint64_t)(from * RANKS + to), (uint64_t)i), PIECED_ROWS);
}

static int64_t staged_value(int rank, int round, int64_t row) {
  return (rank + 1) * 1000000 + round * 1000 + row;
}

static sley_status open_staged(sl_comm *comm, staged *t) {
  static const int pieces[] = {1, 2, 3, 5, SL_PIECES_MOST};
  int rank = comm->rank;
  t->pieces = pieces[sl_below(sl_random(t->seed, 31, (uint64_t)rank), 5)];
  for (int p = 0; p < comm->size; p++) {
    int64_t sent = staged_count(t->seed, rank, p), taken = staged_count(t->seed, p, rank), at = 0;
    for (int64_t i = 0; i < sent; i++)
      t->rows[p][i] = staged_row(t->seed, rank, p, i);
    for (int s = 0; s < t->pieces - 1; s++)
      t->ends[p][s] = at += sl_below(sl_random(t->seed, 32 + (uint64_t)p, (uint64_t)s), taken - at + 1);
    t->send[p] = (sl_row_list){.peer = p, .count = sent, .rows = t->rows[p], .bytes = 8};
    t->recv[p] = (sl_row_list){.peer = p,
                               .count = taken,
                               .first = p * PIECED_ROWS,
                               .bytes = 8,
                               .piece_end = (t->seed + (uint64_t)p) % 4 ? t->ends[p] : NULL};
  }
  SL_TRY(mirror_open(comm, t->src, sizeof t->src, &t->src_there));
  SL_TRY(mirror_open(comm, t->dst, sizeof t->dst, &t->dst_there));
  SL_TRY(mirror_open(comm, t->seen, sizeof t->seen, &t->seen_there));
  sl_exchange_spec spec = {.name = "staged",
                           .sends = comm->size,
                           .recvs = comm->size,
                           .send = t->send,
                           .recv = t->recv,
                           .dtype = SLEY_F64,
                           .pieces = t->pieces};
  EXPECT(comm->ops->exchange_memory(comm, &spec) >= 0);
  return comm->ops->exchange_create(comm, &spec, &t->exchange);
}

/* Copies the rows of a piece, in the order of the queue. */
static sley_status copy_piece(sl_comm *comm, staged *t, int piece) {
  for (int p = 0; p < comm->size; p++) {
    const sl_row_list *list = &t->recv[p];
    int64_t all = piece == t->pieces - 1 ? list->count : 0;
    int64_t begin = piece > 0 && list->piece_end ? list->piece_end[piece - 1] : 0;
    int64_t end = list->piece_end && piece < t->pieces - 1 ? list->piece_end[piece] : all;
    SL_TRY(sl_kernel_run(comm->queue, &(sl_kernel_args){.op = SL_OP_ROWS,
                                                        .rows = {.count = end - begin,
                                                                 .bytes = 8,
                                                                 .src = t->dst_there.here,
                                                                 .src_stride = 8,
                                                                 .src_first = list->first + begin,
                                                                 .dst = t->seen_there.here,
                                                                 .dst_stride = 8,
                                                                 .dst_first = list->first + begin,
                                                                 .dtype = SLEY_F64}}));
  }
  return SLEY_OK;
}

static sley_status staged_round(sl_comm *comm, staged *t, int round) {
  for (int64_t i = 0; i < PIECED_ROWS; i++)
    t->src[i] = staged_value(comm->rank, round, i);
  SL_TRY(mirror_send(&t->src_there));
  SL_TRY(comm->ops->exchange_begin(t->exchange, t->src_there.here, 8, t->dst_there.here, 8, comm->queue));
  const sl_piece_words *words = NULL, *again = NULL;
  if (round != 1)
    SL_TRY(sl_exchange_arrive(t->exchange, comm->queue, &words));
  if (round == 2)
    SL_TRY(sl_exchange_arrive(t->exchange, comm->queue, &again));
  EXPECT(round != 2 || again == words);
  if (round == 1 || round == 3) /* ends without waiting for pieces, or before waiting for them */
    SL_TRY(comm->ops->exchange_end(t->exchange, comm->queue));
  if (round == 3)
    words = NULL;
  for (int s = 0; s < t->pieces; s++) {
    sl_kernel_args later = {.op = SL_OP_ARRIVE, .arrive = {(sl_piece_words *)words, s}};
    if (words && s > 0)
      SL_TRY(sl_kernel_run(comm->queue, &later));
    SL_TRY(copy_piece(comm, t, s));
  }
  if (round != 1 && round != 3)
    SL_TRY(comm->ops->exchange_end(t->exchange, comm->queue));
  if (round % 3)
    SL_TRY(sl_exchange_reclaim(t->exchange, comm->queue));
  SL_TRY(mirror_fetch(&t->seen_there));
  SL_TRY(mirror_fetch(&t->dst_there));
  for (int p = 0; p < comm->size; p++)
    for (int64_t i = 0; i < t->recv[p].count; i++) {
      int64_t sent = staged_value(p, round, staged_row(t->seed, p, comm->rank, i));
      EXPECT(t->seen[p * PIECED_ROWS + i] == sent);
      EXPECT(t->dst[p * PIECED_ROWS + i] == sent);
    }
  return round % 3 ? SLEY_OK : comm->ops->barrier(comm); /* peers may still read src */
}

static sley_status staged_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  sley_status status = SLEY_OK;
  for (uint64_t repeat = 0; repeat < 2 && status == SLEY_OK; repeat++) {
    staged *t = sl_alloc_zero(1, sizeof *t, "test");
    EXPECT(t);
    t->seed = c->seed * 10 + repeat;
    status = open_staged(comm, t);
    for (int round = 0; round < PIECED_ROUNDS && status == SLEY_OK; round++)
      status = staged_round(comm, t, round);
    if (status != SLEY_OK)
      comm->ops->abort(comm, status);
    comm->ops->exchange_destroy(t->exchange);
    mirror_close(&t->src_there);
    mirror_close(&t->dst_there);
    mirror_close(&t->seen_there);
    sl_free(t);
  }
  return status;
}

static void staged_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  assert_case_ok(c, run_case(c, staged_main, (void *)(uintptr_t)c));
  assert_int_equal(sl_memory_now(), before);
}

/* The rows of a piece are present when it has arrived, even if others are still in flight. */
static void test_pieces(void **state) {
  (void)state;
  each_case(staged_body);
}

/* Waiting for pieces is refused before begin and after end. */
static sley_status outside_main(sl_comm *comm, void *arg) {
  const bool *after_end = arg;
  sl_exchange_spec spec = {.name = "none", .dtype = SLEY_F64, .pieces = 2};
  const sl_piece_words *words;
  sl_exchange *exchange;
  SL_TRY(comm->ops->exchange_create(comm, &spec, &exchange));
  sley_status status = SLEY_OK;
  if (*after_end)
    status = comm->ops->exchange_begin(exchange, NULL, 8, NULL, 8, comm->queue);
  if (*after_end && status == SLEY_OK)
    status = sl_exchange_arrive(exchange, comm->queue, &words);
  if (*after_end && status == SLEY_OK)
    status = comm->ops->exchange_end(exchange, comm->queue);
  if (status == SLEY_OK)
    status = sl_exchange_arrive(exchange, comm->queue, &words);
  comm->ops->exchange_destroy(exchange);
  return status;
}

static void outside_body(const rank_case *c) {
  bool after_end = c->seed & 1;
  assert_int_equal(run_case(c, outside_main, &after_end), SLEY_ERR_ARG);
  assert_non_null(strstr(sley_last_error(), "outside begin and end"));
}

static void test_arrival_out_of_order(void **state) {
  (void)state;
  each_case(outside_body);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces),
                                     cmocka_unit_test(test_arrival_out_of_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

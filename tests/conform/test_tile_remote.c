/* SPDX-License-Identifier: Apache-2.0 */
/* Words, queues and sums of tiles, on every transport: every number is reserved once, every message arrives
 * whole and in order, sums are exact and the same bits whichever ranks add the terms; wrong calls. */
#include "allocations.h"
#include "base/random.h"
#include "sley_remote.h"
#include "tile_case.h"

enum { WORK = 12, MESSAGES = 3, LONGEST = 300 };

/* ---- words */

/* All ranks reserve the work of all ranks' words; each number is taken once, and swaps succeed once. */
static sley_status words_main(sl_comm *comm, void *arg) {
  sley_words *words = NULL;
  int64_t sums[4] = {0}, number = 0, old;
  sley_status status = SLEY_OK;
  (void)arg;
  TRY(sley_words_create(comm, 3, &words));
  for (int n = 0; n < comm->size; n++) {
    const int rank = (comm->rank + n) % comm->size;
    for (;;) {
      TRY(sley_words_reserve(words, rank, 1, WORK, &number));
      if (number < 0)
        break;
      sums[0]++;
      sums[1] += number;
      TRY(sley_words_add(words, rank, 2, number, NULL));
    }
    TRY(sley_words_swap(words, rank, 0, 0, comm->rank + 1, &old));
    CHECK(old >= 0 && old <= comm->size);
    sums[2] += old == 0;
  }
  TRY(sley_comm_allreduce(comm, SLEY_SUM, sums, 3));
  CHECK(sums[0] == comm->size * WORK && sums[1] == comm->size * WORK * (WORK - 1) / 2 &&
        sums[2] == comm->size);
  TRY(sley_words_add(words, comm->rank, 2, 0, &old));
  CHECK(old == WORK * (WORK - 1) / 2);
  CHECK(sley_words_add(words, comm->size, 0, 1, NULL) == SLEY_ERR_ARG &&
        strstr(sley_last_error(), "no word"));
  CHECK(sley_words_add(words, 0, 3, 1, NULL) == SLEY_ERR_ARG &&
        sley_words_add(words, 0, -1, 1, NULL) == SLEY_ERR_ARG);
  CHECK(sley_words_swap(words, 0, 0, 0, 0, NULL) == SLEY_ERR_ARG);
  CHECK(sley_words_reserve(words, 0, 0, -1, &old) == SLEY_ERR_ARG);
  TRY(sley_comm_barrier(comm));
  {
    sley_words *none;
    CHECK(sley_words_create(comm, -1, &none) == SLEY_ERR_ARG);
    CHECK(comm->size == 1 || sley_words_create(comm, comm->rank, &none) == SLEY_ERR_ARG);
  }
done:
  sley_words_destroy(words);
  return status;
}

static void words(const rank_case *rank) {
  assert_case_ok(rank, run_case(rank, words_main, NULL));
}

static void work_is_reserved_once(void **state) {
  (void)state;
  each_case(words);
}

/* ---- queues */

typedef struct inbox {
  int me;
  int64_t next[TILE_MOST_RANKS], taken; /* number of the next message of each rank; messages in all */
  bool wrong;
} inbox;

static int64_t length_of(int from, int to, int64_t n) {
  return (from * 31 + to * 17 + n * 41) % LONGEST;
}

static sley_status take(void *context, int from, const void *data, int64_t bytes) {
  inbox *in = context;
  const unsigned char *byte = data;
  const int64_t n = in->next[from]++;
  in->wrong |= bytes != length_of(from, in->me, n);
  for (int64_t b = 0; b < bytes; b++)
    in->wrong |= byte[b] != (unsigned char)(from + 3 * n + b);
  in->taken++;
  return SLEY_OK;
}

static sley_status queue_main(sl_comm *comm, void *arg) {
  const rank_case *rank = arg;
  inbox in = {.me = comm->rank};
  sley_queue *queue = NULL;
  unsigned char data[LONGEST];
  bool any;
  sley_status status = SLEY_OK;
  TRY(sley_queue_create(comm, (int)(rank->seed % 3), 16 + (int64_t)(rank->seed % 5) * 40, take, &in, &queue));
  for (int64_t n = 0; n < MESSAGES; n++)
    for (int r = 0; r < comm->size; r++) {
      const int to = (comm->rank + r) % comm->size;
      for (int64_t b = 0; b < LONGEST; b++)
        data[b] = (unsigned char)(comm->rank + 3 * n + b);
      TRY(sley_queue_send(queue, to, data, length_of(comm->rank, to, n)));
    }
  CHECK(sley_queue_send(queue, comm->size, data, 1) == SLEY_ERR_ARG && strstr(sley_last_error(), "no rank"));
  CHECK(sley_queue_send(queue, 0, NULL, 1) == SLEY_ERR_ARG &&
        sley_queue_send(queue, 0, data, -1) == SLEY_ERR_ARG);
  while (in.taken < (int64_t)MESSAGES * comm->size)
    TRY(sley_queue_receive(queue, &any));
  CHECK(!in.wrong);
  TRY(sley_comm_barrier(comm)); /* the buffers are read until then */
  {
    sley_queue *none;
    CHECK(sley_queue_create(comm, -1, 8, take, &in, &none) == SLEY_ERR_ARG);
    CHECK(sley_queue_create(comm, 0, 0, take, &in, &none) == SLEY_ERR_ARG);
    CHECK(sley_queue_create(comm, 0, 8, NULL, &in, &none) == SLEY_ERR_ARG);
  }
done:
  sley_queue_destroy(queue);
  return status;
}

static void queues(const rank_case *rank) {
  rank_case with = *rank;
  assert_case_ok(rank, run_case(rank, queue_main, &with));
}

static void messages_arrive_whole_and_in_order(void **state) {
  (void)state;
  each_case(queues);
}

/* ---- sums */

typedef struct sample {
  tile_case c;
  bool turned; /* other ranks compute the terms */
  uint64_t bits[TILE_MOST_RANKS];
} sample;

static int64_t terms_of(const sample *s, int64_t tile) {
  return (int64_t)(sl_random(s->c.seed, 5, (uint64_t)tile) % 5);
}

/* Value e of a term: real, so that sums depend on their order. */
static double term_value(const sample *s, int64_t tile, int64_t term, int64_t e) {
  return sl_unit(sl_random(s->c.seed, (uint64_t)(tile * 8 + term + 100), (uint64_t)e)) - 0.3;
}

/* Sends the terms, which ranks compute in turn, the last of a tile first. */
static sley_status add_terms(sl_comm *comm, const sample *s, sley_sums *sums, const sley_tiled *y) {
  const sl_tiling *t = &s->c.x;
  for (int64_t tile = 0; tile < sl_tiles(t); tile++)
    for (int64_t term = terms_of(s, tile) - 1; term >= 0; term--) {
      sley_tile_info info;
      if ((tile + term + s->turned) % comm->size != comm->rank)
        continue;
      SL_TRY(sley_tile_info_get(y, tile / t->across, tile % t->across, &info));
      void *values = tile_rows(1, s->c.dtype, 0, 1, info.entries + 1, 0);
      for (int64_t e = 0; e < info.entries; e++)
        sl_value_set(values, s->c.dtype, e, term_value(s, tile, term, e));
      const sley_status status = sley_sums_add(sums, tile / t->across, tile % t->across, term, values);
      free(values);
      SL_TRY(status);
    }
  return SLEY_OK;
}

/* Compares this rank's rows of Y with 1 + the terms in order, in float64, rounded once. */
static sley_status compare(const sample *s, const sley_tiled *y, int me, const void *rows) {
  const tile_case *c = &s->c;
  for (int64_t row = c->col_begin[me]; row < c->col_begin[me + 1]; row++)
    for (int64_t col = 0; col < c->k; col++) {
      sley_tile_info info;
      int64_t i = 0, j = 0;
      while (sl_tile_row(&c->x, i + 1) <= row)
        i++;
      while (sl_tile_col(&c->x, j + 1) <= col)
        j++;
      const int64_t tile = sl_tile_number(&c->x, i, j);
      double sum = 0, one[1];
      SL_TRY(sley_tile_info_get(y, i, j, &info));
      for (int64_t term = 0; term < terms_of(s, tile); term++) {
        sl_value_set(one, c->dtype, 0,
                     term_value(s, tile, term, (row - info.first_row) * info.cols + col - info.first_col));
        sum += sl_value_at(one, c->dtype, 0);
      }
      sl_value_set(one, c->dtype, 0, 1 + sum);
      EXPECT(sl_value_at(rows, c->dtype, (row - c->col_begin[me]) * c->k + col) ==
             sl_value_at(one, c->dtype, 0));
    }
  return SLEY_OK;
}

static sley_status wrong_terms(sl_comm *comm, const sample *s, sley_sums *sums, sley_tiled *y,
                               int64_t *terms) {
  const sl_tiling *t = &s->c.x;
  sley_sums *none;
  EXPECT(sley_sums_add(sums, t->down, 0, 0, terms) == SLEY_ERR_ARG && strstr(sley_last_error(), "no tile"));
  EXPECT(sley_sums_add(sums, 0, 0, terms[0], terms) == SLEY_ERR_ARG && strstr(sley_last_error(), "no term"));
  EXPECT(sley_sums_add(sums, 0, 0, -1, terms) == SLEY_ERR_ARG);
  EXPECT(sley_sums_add(sums, 0, 0, 0, NULL) == SLEY_ERR_ARG);
  EXPECT(sley_sums_create(y, NULL, 0, &none) == SLEY_ERR_ARG);
  terms[0] += comm->rank;
  EXPECT(comm->size == 1 || sley_sums_create(y, terms, 0, &none) == SLEY_ERR_ARG);
  terms[0] = -1;
  EXPECT(sley_sums_create(y, terms, 0, &none) == SLEY_ERR_ARG);
  return SLEY_OK;
}

static sley_status sums_main(sl_comm *comm, void *arg) {
  sample *s = arg;
  const tile_case *c = &s->c;
  const sley_tiling of_y = tile_public(&c->x);
  const int me = comm->rank;
  const int64_t mine = (c->col_begin[me + 1] - c->col_begin[me]) * c->k;
  int64_t *terms = malloc((size_t)sl_tiles(&c->x) * sizeof *terms);
  void *rows = tile_rows(1, c->dtype, 0, 1, mine + 1, 0);
  sley_tiled *y = NULL;
  sley_sums *sums = NULL;
  sley_status status = SLEY_OK;
  for (int64_t n = 0; n < sl_tiles(&c->x); n++)
    terms[n] = terms_of(s, n);
  for (int64_t e = 0; e < mine; e++)
    sl_value_set(rows, c->dtype, e, 1);
  TRY(sley_tiled_create_dense(comm, c->n, c->k, c->dtype, &of_y, &y));
  TRY(sley_tiled_set_rows(y, c->col_begin, rows, c->k));
  TRY(sley_sums_create(y, terms, (int)(c->seed % 3), &sums));
  TRY(add_terms(comm, s, sums, y));
  TRY(sley_sums_finish(sums));
  TRY(sley_tiled_get_rows(y, c->col_begin, rows, c->k));
  TRY(compare(s, y, me, rows));
  TRY(wrong_terms(comm, s, sums, y, terms));
done:
  sley_sums_destroy(sums);
  sley_tiled_destroy(y);
  free(rows);
  free(terms);
  return status;
}

static void sums(const rank_case *rank) {
  for (int turned = 0; turned < 2; turned++) {
    sample s = {.c = tile_case_draw(rank->seed + 900, rank->ranks), .turned = turned};
    assert_case_ok(rank, run_case(rank, sums_main, &s));
    tile_case_free(&s.c);
  }
}

static void terms_are_added_in_order(void **state) {
  (void)state;
  each_case(sums);
}

/* ---- failures */

/* A term that two ranks add ends the product with a message that names the tile. */
static sley_status twice_main(sl_comm *comm, void *arg) {
  const sley_tiling tiling = {2, 1, 2, 1};
  const int64_t terms[] = {3, 0}; /* rank 0 waits for a term that nobody adds */
  const float values[4] = {1, 2, 3, 4};
  sley_tiled *y = NULL;
  sley_sums *sums = NULL;
  bool *found = arg;
  sley_status status = sley_tiled_create_dense(comm, 2, 2, SLEY_F32, &tiling, &y);
  if (status == SLEY_OK)
    status = sley_sums_create(y, terms, 0, &sums);
  if (status == SLEY_OK)
    status = sley_sums_add(sums, 0, 0, comm->rank == 0, values);
  if (status == SLEY_OK && comm->rank == 1)
    status = sley_sums_add(sums, 0, 0, 0, values);
  if (status == SLEY_OK)
    status = sley_sums_finish(sums);
  if (comm->rank == 0)
    *found = strstr(sley_last_error(), "term of tile (0, 0)") != NULL;
  sley_sums_destroy(sums);
  sley_tiled_destroy(y);
  return status;
}

static void terms_that_come_twice_are_refused(void **state) {
  (void)state;
  if (test_launched())
    skip(); /* made for another number of ranks */
  const rank_case rank = {.transport = "threads", .ranks = 2, .workgroup = 2, .threads = 1};
  bool found = false;
  assert_int_equal(run_case(&rank, twice_main, &found), SLEY_ERR_PEER);
  assert_true(found);
}

static sley_status all_main(sl_comm *comm, void *arg) {
  rank_case rank = {.seed = 1};
  SL_TRY(words_main(comm, NULL));
  SL_TRY(queue_main(comm, &rank));
  return sums_main(comm, arg);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const rank_case rank = {.transport = "threads", .ranks = 1, .workgroup = 1, .threads = 1};
  sample s = {.c = tile_case_draw(903, 1)};
  assert_true(fail_each_allocation(&rank, all_main, &s, SLEY_OK) > 20);
  tile_case_free(&s.c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(work_is_reserved_once), cmocka_unit_test(messages_arrive_whole_and_in_order),
      cmocka_unit_test(terms_are_added_in_order), cmocka_unit_test(terms_that_come_twice_are_refused),
      cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

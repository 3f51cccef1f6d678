/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduce, reduce-scatter and all-gather of random types, operators and lengths, in place or not, in
 * several rounds, compared with a serial oracle that reduces in the order of the ranks: bits and counters
 * must be equal. Every rank can compute every rank's values. */
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "dense_oracle.h"
#include "mirror.h"
#include "ranks.h"
#include "transport/dense_collective.h"

enum { MOST_RANKS = 64, ROUNDS = 3, COLLECTIVES = 8 };

/* A collective, the same on all ranks, and this rank's operands of it: both arrays with a margin of a few
 * values that must not change. */
typedef struct party {
  sl_dense_spec spec;
  uint64_t seed;
  int64_t counts[MOST_RANKS], begin[MOST_RANKS + 1]; /* parts of reduce-scatter and all-gather */
  bool in_place;
  int64_t margin, each, src_values, dst_values;
  char *memory, *model; /* src, then dst; if in place, the larger of them */
  int64_t values, src_at, dst_at;
  mirror there;
  sl_dense *dense;
} party;

static const sley_collective_kind_info *kind_of(const party *p) {
  return &sl_collective_kind_of(p->spec.kind)->info;
}

/* Every rank gets all values, reduced. */
static bool is_all_reduce(const party *p) {
  return kind_of(p)->reduces && kind_of(p)->gathers;
}

static int64_t length(uint64_t bits, int size) {
  static const int64_t lengths[] = {0, 1, 2, 5, 33, 64, 1000, 4096, 9001};
  switch (bits % 4) {
  case 0:
    return (int64_t)(bits / 4 % (uint64_t)(size + 2)); /* about as many as ranks */
  case 1:
    return (int64_t)(bits / 4 % 20000); /* all-reduces in one exchange, and in two */
  default:
    return lengths[bits / 4 % (sizeof lengths / sizeof *lengths)];
  }
}

static void draw_party(party *p, int size, uint64_t seed) {
  *p = (party){.seed = seed};
  p->spec.kind = (sley_collective_kind)(sl_random(seed, 1, 0) % (uint64_t)oracle_kinds());
  p->spec.op = kind_of(p)->reduces ? (sley_reduce)(sl_random(seed, 2, 0) % 3) : SLEY_SUM;
  p->spec.type = (sley_type)(sl_random(seed, 3, 0) % (kind_of(p)->reduces ? 5 : 7));
  p->spec.count = length(sl_random(seed, 4, 0), size);
  p->each = (int64_t)sley_type_bytes(p->spec.type);
  p->in_place = sl_random(seed, 5, 0) % 2;
  p->margin = (int64_t)(sl_random(seed, 6, 0) % 5);
  if (!kind_of(p)->reduces || p->spec.type == SLEY_TYPE_I64) /* any order has the same bits */
    p->spec.any_order = sl_random(seed, 9, 0) % 2;
  bool differ = !kind_of(p)->whole && sl_random(seed, 7, 0) % 2;
  for (int r = 0; r < size; r++) {
    p->counts[r] = differ ? length(sl_random(seed, 8, (uint64_t)r), size) : p->spec.count;
    p->begin[r + 1] = p->begin[r] + p->counts[r];
  }
  if (differ)
    p->spec.counts = p->counts;
  if (!kind_of(p)->whole || is_all_reduce(p))
    return;
  sl_dense_lay_out(&p->spec, size, p->begin);
  for (int r = 0; r < size; r++)
    p->counts[r] = p->begin[r + 1] - p->begin[r];
}

static void lay_out(party *p, int rank, int size) {
  int64_t all = p->begin[size], own = p->begin[rank];
  p->src_values = p->dst_values = p->spec.count;
  if (!is_all_reduce(p)) {
    p->src_values = kind_of(p)->reduces ? all : p->counts[rank];
    p->dst_values = kind_of(p)->gathers ? all : p->counts[rank];
  }
  p->src_at = p->margin;
  p->dst_at = p->src_at + p->src_values + p->margin;
  p->values = p->dst_at + p->dst_values + p->margin;
  if (!p->in_place)
    return;
  p->dst_at = p->margin;
  if (!kind_of(p)->gathers)
    p->dst_at += own;
  if (!kind_of(p)->reduces)
    p->src_at += own;
}

/* Sets value i of a rank's source in a round. */
static void fill(const party *p, void *array, int64_t at, int64_t i, int rank, int round) {
  oracle_draw(array, p->spec.type, at,
              sl_random(p->seed, (uint64_t)rank * ROUNDS + (uint64_t)round + 100, (uint64_t)i));
}

static void fill_source(const party *p, int rank, int round) {
  for (int64_t i = 0; i < p->values; i++) /* including values that are neither read nor written */
    oracle_draw(p->memory, p->spec.type, i, sl_random(p->seed, 99, (uint64_t)(i + round)));
  for (int64_t i = 0; i < p->src_values; i++)
    fill(p, p->memory, p->src_at + i, i, rank, round);
  memcpy(p->model, p->memory, (size_t)(p->values * p->each));
}

/* Computes value `to` of the model: reduces value i of all ranks. */
static void model_value(const party *p, int64_t to, int64_t i, int size, int round) {
  char values[MOST_RANKS][8];
  const void *each[MOST_RANKS];
  for (int r = 0; r < size; r++) {
    fill(p, values[r], 0, i, r, round);
    each[r] = values[r];
  }
  oracle_reduce(p->spec.op, p->spec.type, size, each, p->model + to * p->each);
}

static void run_model(const party *p, int rank, int size, int round) {
  if (!kind_of(p)->reduces) {
    for (int r = 0; r < size; r++)
      for (int64_t i = 0; i < p->counts[r]; i++)
        fill(p, p->model, p->dst_at + p->begin[r] + i, i, r, round);
    return;
  }
  int64_t from = kind_of(p)->gathers ? 0 : p->begin[rank];
  for (int64_t i = 0; i < p->dst_values; i++)
    model_value(p, p->dst_at + i, from + i, size, round);
}

static sley_status open_party(sl_comm *comm, party *p, uint64_t seed) {
  draw_party(p, comm->size, seed);
  lay_out(p, comm->rank, comm->size);
  p->memory = sl_alloc_zero(p->values, (size_t)p->each, "test");
  p->model = sl_alloc_zero(p->values, (size_t)p->each, "test");
  EXPECT(p->memory && p->model);
  SL_TRY(mirror_open(comm, p->memory, p->values * p->each, &p->there));
  return sl_dense_create(comm, &p->spec, &p->dense);
}

static void close_party(party *p) {
  sl_dense_destroy(p->dense);
  mirror_close(&p->there);
  sl_free(p->model);
  sl_free(p->memory);
}

/* Checks the bytes that a run receives, whichever way it takes: the bytes of reduce-scatter and all-gather
 * are exact; an all-reduce receives every peer's array, or less if it is long. */
static sley_status check_traffic(const sl_comm *comm, const party *p, const sl_counters *run) {
  int64_t peers = comm->size - 1, own = p->counts[comm->rank] * p->each, all = p->begin[comm->size] * p->each;
  int64_t bytes = run->bytes[SL_LINK_DIRECT] + run->bytes[SL_LINK_MESSAGE];
  EXPECT(run->bytes[SL_LINK_SELF] == 0 && run->messages[SL_LINK_SELF] == 0);
  if (!kind_of(p)->gathers)
    EXPECT(bytes == own * peers);
  if (!kind_of(p)->reduces)
    EXPECT(bytes == all - own);
  if (is_all_reduce(p) && (comm->size <= 2 || own * comm->size <= SL_DENSE_ONE_EXCHANGE))
    EXPECT(bytes == own * peers);
  else if (is_all_reduce(p))
    EXPECT(bytes >= own && bytes <= 2 * own + 128 * comm->size);
  if (sl_workgroups(comm) == 1)
    EXPECT(run->bytes[SL_LINK_MESSAGE] == 0);
  return SLEY_OK;
}

static sley_status run_party(sl_comm *comm, party *p, int round, sl_counters *expected) {
  sl_counters run;
  fill_source(p, comm->rank, round);
  SL_TRY(mirror_send(&p->there));
  char *base = p->there.here;
  SL_TRY(sl_dense_run(p->dense, base + p->src_at * p->each, base + p->dst_at * p->each, comm->queue));
  sl_dense_traffic(p->dense, &run);
  SL_TRY(check_traffic(comm, p, &run));
  for (int link = 0; link < SL_LINK_COUNT; link++) {
    expected->bytes[link] += run.bytes[link];
    expected->messages[link] += run.messages[link];
  }
  return SLEY_OK;
}

static sley_status check_party(sl_comm *comm, party *p, int round) {
  run_model(p, comm->rank, comm->size, round);
  SL_TRY(mirror_fetch(&p->there));
  for (int64_t i = 0; i < p->values; i++)
    if (memcmp(p->memory + i * p->each, p->model + i * p->each, (size_t)p->each) != 0)
      return sl_fail(
          SLEY_ERR_INTERNAL,
          "kind %d, operator %d, type %d, count %lld%s: value %lld (result from %lld) differs in round %d",
          (int)p->spec.kind, (int)p->spec.op, (int)p->spec.type, (long long)p->spec.count,
          p->in_place ? ", in place" : "", (long long)i, (long long)p->dst_at, round);
  return SLEY_OK;
}

/* Starts all collectives of a round before any result is checked. */
static sley_status run_rounds(sl_comm *comm, party *parties, uint64_t seed) {
  sl_counters expected = {{0}, {0}};
  for (int round = 0; round < ROUNDS; round++) {
    if (sl_random(seed, (uint64_t)comm->rank, (uint64_t)round) % 3 == 0)
      usleep((unsigned)(sl_random(seed, 5, (uint64_t)comm->rank) % 300)); /* lets ranks drift apart */
    for (int i = 0; i < COLLECTIVES; i++)
      SL_TRY(run_party(comm, &parties[i], round, &expected));
    for (int i = 0; i < COLLECTIVES; i++)
      SL_TRY(check_party(comm, &parties[i], round));
  }
  return check_counted(comm, &expected);
}

static sley_status random_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  party *parties = sl_alloc_zero(COLLECTIVES, sizeof *parties, "test");
  EXPECT(parties);
  sley_status status = SLEY_OK;
  comm->ops->counters_reset(comm);
  for (int i = 0; i < COLLECTIVES && status == SLEY_OK; i++)
    status = open_party(comm, &parties[i], c->seed * 100 + (uint64_t)i);
  if (status == SLEY_OK)
    status = run_rounds(comm, parties, c->seed);
  if (status != SLEY_OK)
    comm->ops->abort(comm, status);
  for (int i = 0; i < COLLECTIVES; i++)
    close_party(&parties[i]);
  sl_free(parties);
  return status;
}

static void random_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  assert_case_ok(c, run_case(c, random_main, (void *)(uintptr_t)c));
  assert_int_equal(sl_memory_now(), before);
}

static void test_random_collectives(void **state) {
  (void)state;
  each_case(random_body);
}

/* Sums of prefixes of one array, short enough for one exchange or too long for it, have the same bits, value
 * by value. */
enum { LONG = 12000, SHORT = 500 };

static sley_status lengths_main(sl_comm *comm, void *arg) {
  static const int64_t counts[] = {LONG, SHORT};
  (void)arg;
  sley_status status = SLEY_OK;
  float *array = sl_alloc(LONG, sizeof *array, "test"), *sums = sl_alloc_zero(LONG, 2 * sizeof *sums, "test");
  EXPECT(array && sums);
  for (int64_t i = 0; i < LONG; i++)
    array[i] = (float)(1 + sl_random(9, (uint64_t)comm->rank, (uint64_t)i) % 1000) / 7.0F;
  mirror from, to;
  SL_TRY(mirror_open(comm, array, LONG * (int64_t)sizeof *array, &from));
  SL_TRY(mirror_open(comm, sums, 2 * LONG * (int64_t)sizeof *sums, &to));
  for (int i = 0; i < 2 && status == SLEY_OK; i++) {
    sley_collective *sum;
    sley_collective_options options = SLEY_COLLECTIVE_OPTIONS_INIT;
    options.count = counts[i];
    SL_TRY(sley_collective_create(comm, &options, &sum));
    status = sley_collective_run(sum, from.here, (float *)to.here + i * LONG);
    sley_collective_destroy(sum);
  }
  SL_TRY(status);
  SL_TRY(mirror_fetch(&to));
  EXPECT(memcmp(sums, sums + LONG, SHORT * sizeof *sums) == 0);
  mirror_close(&to);
  mirror_close(&from);
  sl_free(sums);
  sl_free(array);
  return SLEY_OK;
}

/* Arguments that must not differ between ranks, and wrong arguments: all ranks get the same error, and the
 * comm stays usable. */
static sley_status wrong_main(sl_comm *comm, void *arg) {
  (void)arg;
  int64_t counts[MOST_RANKS] = {0};
  sley_collective *made;
  for (int wrong = 0; wrong < 10; wrong++) {
    sley_collective_options o = SLEY_COLLECTIVE_OPTIONS_INIT;
    bool here = comm->rank == comm->size - 1, alone = comm->size == 1;
    o.count = 3;
    if (wrong >= 5) /* wrong by themselves, also with one rank */
      alone = false;
    if (wrong == 0 && here)
      o.kind = SLEY_ALLGATHER;
    if (wrong == 1 && here)
      o.op = SLEY_MAX;
    if (wrong == 2 && here)
      o.type = SLEY_TYPE_F64;
    if (wrong == 3 && here)
      o.count = 4;
    if (wrong == 4) {
      o.kind = SLEY_ALLGATHER;
      o.counts = counts;
      counts[0] = here;
    }
    if (wrong == 5 && here)
      o.type = (sley_type)7;
    if (wrong == 6 && here)
      o.count = -1;
    if (wrong == 7 && here)
      o.counts = counts;
    if (wrong == 8 && here)
      o.struct_size = 3;
    if (wrong == 9 && here)
      o.type = SLEY_TYPE_I8; /* not allowed in an all-reduce */
    sley_status status = sley_collective_create(comm, &o, &made);
    EXPECT(status == (alone ? SLEY_OK : SLEY_ERR_ARG));
    sley_collective_destroy(made);
  }
  sley_collective_options large = SLEY_COLLECTIVE_OPTIONS_INIT;
  large.count = INT64_MAX / 2;
  EXPECT(sley_collective_create(comm, &large, &made) == SLEY_ERR_OVERFLOW && !made);
  return sley_comm_barrier(comm);
}

/* A rank without arrays ends the other ranks too. */
static sley_status missing_main(sl_comm *comm, void *arg) {
  (void)arg;
  sley_collective *sum;
  sley_collective_options options = SLEY_COLLECTIVE_OPTIONS_INIT;
  float array[4] = {1, 2, 3, 4};
  mirror there;
  options.count = 4;
  SL_TRY(sley_collective_create(comm, &options, &sum));
  sley_status status = mirror_open(comm, array, sizeof array, &there);
  if (status == SLEY_OK)
    status = sley_collective_run(sum, comm->rank == 0 ? NULL : there.here, there.here);
  if (status == SLEY_OK)
    status = sley_comm_barrier(comm);
  sley_collective_destroy(sum);
  mirror_close(&there);
  return status;
}

static void words_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  assert_case_ok(c, run_case(c, lengths_main, NULL));
  assert_case_ok(c, run_case(c, wrong_main, NULL));
  assert_int_equal(sl_memory_now(), before);
  /* Memory that a peer of a failed rank may still access is never freed, so memory is not checked here. */
  assert_int_equal(run_case(c, missing_main, NULL), SLEY_ERR_ARG);
}

static void test_lengths_and_errors(void **state) {
  (void)state;
  each_case(words_body);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_collectives),
                                     cmocka_unit_test(test_lengths_and_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

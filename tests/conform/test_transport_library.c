/* SPDX-License-Identifier: Apache-2.0 */
/* Dense collectives that the library of a transport may run: which ones it runs, arrays that need several
 * pieces, any order of summation, and a rank that fails in between. */
#include "base/memory.h"
#include "dense_oracle.h"
#include "mirror.h"
#include "ranks.h"
#include "transport/dense_collective.h"

/* Values repeat with this period. Values and their sums over the ranks are exact in every type. */
enum { MOST_RANKS = 8, PERIOD = 45, PARTS_DIFFER = -1 };

typedef struct long_case {
  sley_collective_kind kind;
  sley_reduce op;
  sley_type type;
  int64_t count; /* values of an all-reduce, or of each part; PARTS_DIFFER: parts have different lengths */
  bool in_place, in_order;
} long_case;

/* MPI uses pieces of 4 MiB. Without MPI and without workgroups, parts of 1 MiB travel in a ring. */
static const long_case long_cases[] = {{SLEY_ALLREDUCE, SLEY_SUM, SLEY_TYPE_F32, 2700001, true},
                                       {SLEY_ALLREDUCE, SLEY_MAX, SLEY_TYPE_F64, 1200000, false},
                                       {SLEY_ALLREDUCE, SLEY_MIN, SLEY_TYPE_I64, 600001, false},
                                       {SLEY_ALLREDUCE, SLEY_SUM, SLEY_TYPE_I64, 600001, true},
                                       {SLEY_ALLREDUCE, SLEY_SUM, SLEY_TYPE_BF16, 100000, false},
                                       {SLEY_REDUCE_SCATTER, SLEY_SUM, SLEY_TYPE_F64, PARTS_DIFFER, false},
                                       {SLEY_ALLGATHER, SLEY_SUM, SLEY_TYPE_U8, PARTS_DIFFER, false},
                                       {SLEY_ALLGATHER, SLEY_SUM, SLEY_TYPE_F16, PARTS_DIFFER, true},
                                       {SLEY_ALLGATHER, SLEY_SUM, SLEY_TYPE_F64, 300001, false},
                                       {SLEY_ALLREDUCE, SLEY_SUM, SLEY_TYPE_F32, 2700001, false, true},
                                       {SLEY_ALLREDUCE, SLEY_SUM, SLEY_TYPE_F64, 1200001, true, true}};

typedef struct party {
  long_case c;
  sl_dense_spec spec;
  int64_t counts[MOST_RANKS], begin[MOST_RANKS + 1];
  int64_t each, src_values, dst_values, src_at, dst_at; /* numbers of values, and positions in `memory` */
  char *memory;
  char values[MOST_RANKS][PERIOD * 8],
      sums[PERIOD * 8]; /* one period of each rank's values, and of the result */
  sl_dense *dense;
  mirror there;
} party;

static void set_value(void *array, sley_type type, int64_t i, int value) {
  if (type == SLEY_TYPE_I64)
    ((int64_t *)array)[i] = value;
  else if (type == SLEY_TYPE_U8)
    ((uint8_t *)array)[i] = (uint8_t)value;
  else
    oracle_set(array, type, i, value);
}

static void draw_values(party *p, int size) {
  for (int i = 0; i < PERIOD; i++) {
    const void *each[MOST_RANKS];
    for (int r = 0; r < size; r++) {
      set_value(p->values[r], p->c.type, i, (i * (r + 1) + i / 5 + r) % 9);
      each[r] = p->values[r] + i * p->each;
    }
    if (p->c.kind != SLEY_ALLGATHER)
      oracle_reduce(p->c.op, p->c.type, size, each, p->sums + i * p->each);
  }
}

/* Divides the values: the first part is long, the last one is empty. */
static void lay_out(party *p, int rank, int size) {
  const bool differ = p->c.count == PARTS_DIFFER;
  for (int r = 0; r < size; r++) {
    p->counts[r] = !differ ? p->c.count : r == 0 ? 900000 : r == size - 1 ? 0 : 1000 * r + 1;
    p->begin[r + 1] = p->begin[r] + p->counts[r];
  }
  p->spec = (sl_dense_spec){.kind = p->c.kind, .op = p->c.op, .type = p->c.type, .any_order = !p->c.in_order};
  p->spec.count = differ ? 0 : p->c.count;
  p->spec.counts = differ ? p->counts : NULL;
  p->each = (int64_t)sley_type_bytes(p->c.type);
  p->src_values = p->c.kind == SLEY_REDUCE_SCATTER ? p->begin[size] : p->counts[rank];
  p->dst_values = p->c.kind == SLEY_ALLGATHER ? p->begin[size] : p->counts[rank];
  p->dst_at = p->c.in_place ? 0 : p->src_values;
  p->src_at = p->c.in_place && p->c.kind == SLEY_ALLGATHER ? p->begin[rank] : 0;
}

static void fill(const party *p, int rank) {
  for (int64_t i = 0; i < p->src_values; i++)
    memcpy(p->memory + (p->src_at + i) * p->each, p->values[rank] + i % PERIOD * p->each, (size_t)p->each);
}

/* Index of the first wrong value of the result, or -1. */
static int64_t find_wrong(const party *p, int rank, int size) {
  const int64_t from = p->c.kind == SLEY_REDUCE_SCATTER ? p->begin[rank] : 0;
  int part = 0;
  for (int64_t i = 0; i < p->dst_values; i++) {
    while (p->c.kind == SLEY_ALLGATHER && part < size && i >= p->begin[part + 1])
      part++;
    const char *right = p->c.kind == SLEY_ALLGATHER
                            ? p->values[part] + (i - p->begin[part]) % PERIOD * p->each
                            : p->sums + (from + i) % PERIOD * p->each;
    if (memcmp(p->memory + (p->dst_at + i) * p->each, right, (size_t)p->each) != 0)
      return i;
  }
  return -1;
}

/* Checks that all ranks together send as much as they receive. */
static sley_status check_traffic(sl_comm *comm, const party *p) {
  sl_counters run;
  int64_t begin[MOST_RANKS + 1];
  sl_dense_traffic(p->dense, &run);
  sl_dense_lay_out(&p->spec, comm->size, begin);
  int64_t bytes =
      run.bytes[SL_LINK_DIRECT] + run.bytes[SL_LINK_MESSAGE] - sl_dense_sent(&p->spec, comm, begin);
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, &bytes, 1));
  EXPECT(bytes == 0);
  return SLEY_OK;
}

static sley_status run_party(sl_comm *comm, party *p) {
  const int64_t values = p->c.in_place ? p->dst_values : p->src_values + p->dst_values;
  p->memory = sl_alloc_zero(values, (size_t)p->each, "test");
  EXPECT(p->memory);
  SL_TRY(mirror_open(comm, p->memory, values * p->each, &p->there));
  SL_TRY(sl_dense_create(comm, &p->spec, &p->dense));
  SL_TRY(check_traffic(comm, p));
  for (int round = 0; round < 2; round++) {
    fill(p, comm->rank);
    SL_TRY(mirror_send(&p->there));
    char *base = p->there.here;
    SL_TRY(sl_dense_run(p->dense, base + p->src_at * p->each, base + p->dst_at * p->each, comm->queue));
    SL_TRY(mirror_fetch(&p->there));
    int64_t wrong = find_wrong(p, comm->rank, comm->size);
    if (wrong >= 0)
      return sl_fail(SLEY_ERR_INTERNAL, "kind %d, operator %d, type %d: value %lld differs in round %d",
                     (int)p->c.kind, (int)p->c.op, (int)p->c.type, (long long)wrong, round);
  }
  return SLEY_OK;
}

static sley_status long_main(sl_comm *comm, void *arg) {
  sley_status status = SLEY_OK;
  (void)arg;
  for (size_t i = 0; i < sizeof long_cases / sizeof *long_cases && status == SLEY_OK; i++) {
    party *p = sl_alloc_zero(1, sizeof *p, "test");
    EXPECT(p);
    p->c = long_cases[i];
    lay_out(p, comm->rank, comm->size);
    draw_values(p, comm->size);
    status = run_party(comm, p);
    if (status != SLEY_OK)
      comm->ops->abort(comm, status);
    sl_dense_destroy(p->dense);
    mirror_close(&p->there);
    sl_free(p->memory);
    sl_free(p);
  }
  return status;
}

/* ---- collectives that the library runs */

static sley_status takes(sl_comm *comm, sl_dense_spec spec, bool *out) {
  sl_dense_native *native = NULL;
  spec.any_order = true;
  sley_status status = comm->ops->dense_native(comm, &spec, &native);
  *out = status == SLEY_OK;
  if (native)
    native->destroy(native);
  return status == SLEY_ERR_UNSUPPORTED ? SLEY_OK : status;
}

/* MPI runs all-gathers and all-reduces of its own types, between workgroups, unless they are short. */
static sley_status taken_main(sl_comm *comm, void *arg) {
  enum { LONG = SL_DENSE_ONE_EXCHANGE };
  static const sl_dense_spec specs[] = {{.kind = SLEY_ALLREDUCE, .type = SLEY_TYPE_F32, .count = LONG},
                                        {.kind = SLEY_ALLREDUCE, .type = SLEY_TYPE_I64, .count = LONG},
                                        {.kind = SLEY_ALLGATHER, .type = SLEY_TYPE_BF16, .count = LONG},
                                        {.kind = SLEY_ALLREDUCE, .type = SLEY_TYPE_BF16, .count = LONG},
                                        {.kind = SLEY_ALLREDUCE, .type = SLEY_TYPE_F16, .count = LONG},
                                        {.kind = SLEY_REDUCE_SCATTER, .type = SLEY_TYPE_F32, .count = LONG},
                                        {.kind = SLEY_ALLREDUCE, .type = SLEY_TYPE_F32, .count = 10}};
  (void)arg;
  if (strcmp(comm->transport, "mpi") != 0)
    return SLEY_OK;
  for (int i = 0; i < 7; i++) {
    bool taken;
    SL_TRY(takes(comm, specs[i], &taken));
    EXPECT(taken == (i < 3 && sl_workgroups(comm) > 1));
  }
  return SLEY_OK;
}

/* ---- a rank that fails in between */

static _Thread_local int copies_left; /* copies until the queue below fails */

static sley_status copy_or_fail(sl_queue *queue, sl_copy_kind kind, void *dst, const void *src,
                                int64_t bytes) {
  (void)queue, (void)kind;
  if (copies_left-- == 0)
    return sl_fail(SLEY_ERR_IO, "no more copies");
  memcpy(dst, src, (size_t)bytes);
  return SLEY_OK;
}

static sley_status wait_for_nothing(sl_queue *queue) {
  (void)queue;
  return SLEY_OK;
}

/* Rank 0 passes pieces of an all-reduce to the library, and fails before the last one, for which all others
 * wait. */
static sley_status midway_main(sl_comm *comm, void *arg) {
  enum { COUNT = 3 << 20 }; /* 6 pieces of MPI in f64 */
  static const sl_device_ops ops = {
      .host_addresses = true, .copy = copy_or_fail, .queue_wait = wait_for_nothing};
  sl_queue queue = {.ops = &ops, .device = comm->device};
  const sl_dense_spec spec = {
      .kind = SLEY_ALLREDUCE, .type = SLEY_TYPE_F64, .count = COUNT, .any_order = true};
  sl_dense_native *native = NULL;
  double *array = NULL;
  sley_status status = comm->ops->dense_native(comm, &spec, &native);
  if (status == SLEY_ERR_UNSUPPORTED)
    return SLEY_OK;
  SL_TRY_GOTO(status, status, done);
  TRY(SL_NEW_ZERO(array, COUNT, "test"));
  copies_left = comm->rank == 0 ? 5 : 1000;
  *(bool *)arg = true;
  TRY(native->run(native, array, array, &queue));
done:
  if (status != SLEY_OK)
    comm->ops->abort(comm, status);
  sl_free(array);
  if (native)
    native->destroy(native);
  return status;
}

static void library_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  bool runs = false;
  assert_case_ok(c, run_case(c, taken_main, NULL));
  if (!c->traced || c->workgroup == 1)
    assert_case_ok(c, run_case(c, long_main, NULL));
  assert_int_equal(sl_memory_now(), before);
  if (strcmp(c->transport, "mpi") != 0)
    return;
  sley_status status = run_case(c, midway_main, &runs);
  assert_int_equal(status, runs ? SLEY_ERR_IO : SLEY_OK);
  assert_true(runs == (c->ranks > c->workgroup));
  assert_int_equal(sl_memory_now(), before);
  assert_case_ok(c, run_case(c, taken_main, NULL));
}

static void test_library(void **state) {
  (void)state;
  each_case(library_body);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_library)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse collectives have the bits of the dense ones, for every kind, operator, type, format, way, length and
 * share of zeros, on every transport. Also tests the order of sums that are not exact. */
#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "collective/ways.h"
#include "dense_oracle.h"
#include "ranks.h"
#include "sparse_job.h"

enum { ROUNDS = 2, JOBS = 14 };

static int64_t length(uint64_t bits) {
  static const int64_t lengths[] = {0, 1, 63, 64, 65, 4095, 4097, 9001, 20011};
  return bits % 4 ? lengths[bits / 4 % (sizeof lengths / sizeof *lengths)] : (int64_t)(bits / 4 % 20000);
}

static uint64_t draw(uint64_t seed, uint64_t what, uint64_t choices) {
  return sl_random(seed, what, 0) % choices;
}

static uint64_t count_ways(void) {
  uint64_t ways = 0;
  while (sl_way_names()[ways])
    ways++;
  return ways;
}

static sley_collective_way_info way_info(sley_collective_way way) {
  return sl_way_of(way)->info;
}

/* Draws a job. bytes: whether the device compresses one-byte values. */
static void draw_job(sparse_job *j, int size, bool bytes, uint64_t seed) {
  static const double limits[] = {0, 0.05, 0.3, 1};
  *j = (sparse_job){.seed = seed};
  sl_dense_spec *dense = &j->spec.dense;
  dense->kind = (sley_collective_kind)draw(seed, 1, (uint64_t)oracle_kinds());
  const sley_collective_kind_info *kind = &sl_collective_kind_of(dense->kind)->info;
  dense->type = (sley_type)draw(seed, 2, !kind->reduces && bytes ? 7 : 5);
  dense->count = length(sl_random(seed, 3, 0));
  dense->op = !kind->reduces || draw(seed, 9, 2) ? SLEY_SUM : (sley_reduce)draw(seed, 10, 3);
  j->spec.format = (sl_sparse_choice)draw(seed, 4, SL_SPARSE_CHOICES);
  j->spec.way = (sley_collective_way)draw(seed, 11, count_ways());
  if (way_info(j->spec.way).only_allreduce && dense->kind != SLEY_ALLREDUCE)
    j->spec.way = SLEY_WAY_AUTO;
  j->spec.dense_above = limits[draw(seed, 12, 4)];
  static const double bounds[] = {0, 0.03, 0.4, 1};
  for (int i = 0; i < SL_MESSAGE_CLASSES && draw(seed, 15, 3) == 0; i++)
    j->spec.above[i] = (sl_sparse_bound){.is_set = draw(seed, 16 + (uint64_t)i, 3) > 0,
                                         .density = bounds[draw(seed, 20 + (uint64_t)i, 4)]};
  j->in_place = draw(seed, 5, 2);
  j->signs = draw(seed, 6, 5) == 0;
  dense->any_order = dense->op == SLEY_SUM && draw(seed, 14, 4) == 0;
  j->whole_numbers = dense->any_order || !way_info(j->spec.way).in_order;
  j->blocks = draw(seed, 13, 3) == 0;
  bool differ = !kind->whole && draw(seed, 7, 2);
  for (int r = 0; r < size; r++)
    j->counts[r] = differ ? length(sl_random(seed, 8, (uint64_t)r)) : dense->count;
  if (differ)
    dense->counts = j->counts;
}

static sley_status open_job(sl_comm *comm, sparse_job *j, uint64_t seed) {
  sl_kernel_args args = {.op = SL_OP_COMPRESS, .compress = {.type = SLEY_TYPE_U8}};
  draw_job(j, comm->size, sl_kernel_serves(comm->device, &args), seed);
  return sparse_job_open(comm, j);
}

/* The path that the collective must take if the spec leaves no choice; else NULL. */
static const char *expected_path(const sl_comm *comm, const sparse_job *j) {
  const sl_sparse_spec *spec = &j->spec;
  int64_t all = spec->dense.kind == SLEY_ALLREDUCE ? spec->dense.count : j->begin[comm->size];
  bool levels = comm->workgroup > 1 && comm->workgroup < comm->size;
  if (comm->size == 1 || all == 0 || (spec->format == SL_SPARSE_DENSE && spec->way == SLEY_WAY_AUTO))
    return "dense";
  if (spec->way == SLEY_WAY_AUTO ||
      (spec->format == SL_SPARSE_AUTO && spec->dense_above < 1 && !sl_sparse_has_bounds(spec)))
    return NULL;
  return spec->way == SLEY_WAY_TWO_LEVEL && !levels ? "direct" : way_info(spec->way).name;
}

/* Checks the numbers of arrays by class; with a bound of 0, arrays with nonzeros travel dense. */
static sley_status check_classes(const sl_comm *comm, const sparse_job *j, const sl_sparse_report *report) {
  int64_t made = 0, dense = 0;
  for (int i = 0; i < SL_MESSAGE_CLASSES; i++) {
    const sl_sparse_bound *above = &j->spec.above[i];
    made += report->made[i];
    dense += report->made_dense[i];
    EXPECT(report->made_dense[i] >= 0 && report->made_dense[i] <= report->made[i]);
    if (i != SL_GATHERED && above->is_set && above->density == 0 && report->nonzeros > 0 && !report->in_place)
      EXPECT(report->made_dense[i] == report->made[i]);
  }
  EXPECT(made == report->arrays && dense == report->formats[SL_COMPRESSED_DENSE]);
  EXPECT(report->made[SL_INTER] == 0 || comm->workgroup < comm->size);
  EXPECT(report->made[SL_INTRA] == 0 || comm->workgroup > 1);
  return SLEY_OK;
}

/* Checks that the reported bytes received on all ranks equal the comm's counters, and that the reported
 * numbers agree with each other. */
static sley_status check_report(sl_comm *comm, const sparse_job *j) {
  sl_sparse_report report;
  sl_counters counted;
  SL_TRY(sl_sparse_report_of(j->one, &report));
  comm->ops->counters(comm, &counted); /* counts arrays that peers read in place after the report */
  int64_t formats = 0;
  const char *path = expected_path(comm, j);
  bool is_direct = strcmp(report.path, "direct") == 0, is_dense = strcmp(report.path, "dense") == 0;
  for (int f = 0; f < SL_COMPRESSED_FORMATS; f++)
    formats += report.formats[f];
  EXPECT(!path || strcmp(report.path, path) == 0);
  EXPECT(report.in_place == (is_direct && comm->zero_copy && comm->workgroup == comm->size));
  int64_t sums[3] = {report.received, counted.bytes[SL_LINK_DIRECT], counted.bytes[SL_LINK_MESSAGE]};
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, sums, 3));
  if (sums[0] != sums[1] + sums[2])
    return sl_fail(SLEY_ERR_INTERNAL,
                   "kind %d, path %s, in place %d, %s: %lld bytes have come, counted are %lld and %lld",
                   (int)j->spec.dense.kind, report.path, (int)report.in_place,
                   sl_sparse_reason_text(report.reason), (long long)sums[0], (long long)sums[1],
                   (long long)sums[2]);
  EXPECT(counted.bytes[SL_LINK_SELF] == 0);
  EXPECT(report.nonzeros >= 0 && report.nonzeros <= report.values && formats == report.arrays);
  EXPECT(report.values <= j->src_values);
  SL_TRY(check_classes(comm, j, &report));
  EXPECT(!is_dense || (report.arrays == 0 && report.sent == report.dense_sent));
  EXPECT(j->spec.format != SL_SPARSE_PICI || report.formats[SL_COMPRESSED_COO] == 0);
  EXPECT(j->spec.format != SL_SPARSE_COO || report.formats[SL_COMPRESSED_PICI32] == 0);
  EXPECT(comm->size > 1 || report.sent == 0);
  EXPECT(!is_direct || j->spec.dense.kind == SLEY_ALLREDUCE ||
         report.sent <= report.dense_sent + (comm->size - 1) * (SL_COMPRESSED_HEADER + 8));
  EXPECT(strcmp(sl_sparse_reason_text(report.reason), "unknown") != 0);
  return SLEY_OK;
}

/* Checks the reported number of nonzeros of the result. */
static sley_status check_result_nonzeros(const sl_comm *comm, const sparse_job *j) {
  static const char zero[8];
  sl_sparse_report report;
  int64_t nonzeros = 0;
  SL_TRY(sl_sparse_report_of(j->one, &report));
  for (int64_t i = j->dst_at; i < j->dst_at + j->dst_values; i++)
    nonzeros += memcmp(j->sparse + i * j->each, zero, (size_t)j->each) != 0;
  EXPECT(report.result_nonzeros == nonzeros ||
         (report.result_nonzeros == -1 &&
          (strcmp(report.path, "dense") == 0 || j->spec.way == SLEY_WAY_RECURSIVE_DOUBLING ||
           j->spec.dense.kind == SLEY_REDUCE_SCATTER || comm->size == 2)));
  return SLEY_OK;
}

static sley_status run_job(sl_comm *comm, sparse_job *j, int round) {
  SL_TRY(sparse_job_fill(j, comm->rank, round));
  comm->ops->counters_reset(comm);
  SL_TRY(sparse_job_run_sparse(comm, j));
  SL_TRY(check_report(comm, j));
  SL_TRY(sparse_job_run_dense(comm, j));
  SL_TRY(sparse_job_compare(j, round));
  return check_result_nonzeros(comm, j);
}

static sley_status random_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  sparse_job *jobs = sl_alloc_zero(JOBS, sizeof *jobs, "test");
  EXPECT(jobs);
  sley_status status = SLEY_OK;
  for (int i = 0; i < JOBS && status == SLEY_OK; i++)
    status = open_job(comm, &jobs[i], c->seed * 100 + (uint64_t)i);
  for (int i = 0; i < JOBS * ROUNDS && status == SLEY_OK; i++)
    status = run_job(comm, &jobs[i % JOBS], i / JOBS);
  if (status != SLEY_OK)
    comm->ops->abort(comm, status);
  for (int i = 0; i < JOBS; i++)
    sparse_job_close(&jobs[i]);
  sl_free(jobs);
  return status;
}

static void random_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  assert_case_ok(c, run_case(c, random_main, (void *)(uintptr_t)c));
  assert_int_equal(sl_memory_now(), before);
}

static void test_bits_of_the_dense_ones(void **state) {
  (void)state;
  each_case(random_body);
}

/* Whole numbers, of which 99 % are zeros: in every way and format the sums are right, and far fewer bytes
 * travel than in dense collectives. */
enum { LONG = 1000007, SHORT = 70001 };

static float whole(int rank, int64_t i) {
  uint64_t bits = sl_random(17, (uint64_t)rank, (uint64_t)i);
  return bits % 100 ? 0.0F : (float)(int)(bits / 100 % 2001) - 1000;
}

/* Checks the sums; each rank checks a different part of the result. */
static sley_status check_sums(const sl_comm *comm, const float *values, int64_t count) {
  for (int64_t i = comm->rank; i < count; i += comm->size) {
    float expected = 0;
    for (int r = 0; r < comm->size; r++)
      expected += whole(r, i);
    EXPECT(values[i] == expected);
  }
  return SLEY_OK;
}

static sley_status sum_whole(sl_comm *comm, const sl_sparse_spec *spec, const float *given, mirror *there) {
  int64_t count = spec->dense.count;
  sl_sparse *sum;
  sl_sparse_report report;
  memcpy(there->host, given, (size_t)count * sizeof(float));
  SL_TRY(mirror_send(there));
  SL_TRY(sl_sparse_create(comm, spec, &sum));
  SL_TRY(sl_sparse_run(sum, there->here, there->here, comm->queue));
  SL_TRY(sl_sparse_report_of(sum, &report));
  sl_sparse_destroy(sum);
  SL_TRY(mirror_fetch(there));
  SL_TRY(check_sums(comm, there->host, count));
  if (comm->size == 1)
    return SLEY_OK;
  bool compresses = spec->format != SL_SPARSE_AUTO && spec->way != SLEY_WAY_SPLIT_DENSE;
  EXPECT(!compresses || report.formats[SL_COMPRESSED_DENSE] == 0);
  EXPECT(!compresses || report.sent <= report.dense_sent / 3);
  /* in a recursive doubling, ranks that another rank has joined send no values of src alone */
  EXPECT(report.values > 0 || spec->way == SLEY_WAY_RECURSIVE_DOUBLING);
  EXPECT(report.nonzeros <= report.values / 50);
  EXPECT(spec->way != SLEY_WAY_SPLIT_DENSE || report.made_dense[SL_GATHERED] == report.made[SL_GATHERED]);
  return SLEY_OK;
}

static sley_status whole_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  int64_t count = c->seed % 8 == 0 ? LONG : SHORT;
  float *given = sl_alloc(count, sizeof *given, "test"), *values = sl_alloc(count, sizeof *values, "test");
  EXPECT(given && values);
  for (int64_t i = 0; i < count; i++)
    given[i] = whole(comm->rank, i);
  mirror there;
  SL_TRY(mirror_open(comm, values, count * (int64_t)sizeof *values, &there));
  static const sl_sparse_spec specs[] = {{.format = SL_SPARSE_PICI, .way = SLEY_WAY_DIRECT},
                                         {.format = SL_SPARSE_COO, .way = SLEY_WAY_RING},
                                         {.format = SL_SPARSE_PICI, .way = SLEY_WAY_RING},
                                         {.format = SL_SPARSE_COO, .way = SLEY_WAY_TWO_LEVEL},
                                         {.format = SL_SPARSE_COO, .way = SLEY_WAY_RECURSIVE_DOUBLING},
                                         {.format = SL_SPARSE_COO, .way = SLEY_WAY_SPLIT_ALLGATHER},
                                         {.format = SL_SPARSE_COO, .way = SLEY_WAY_SPLIT_DENSE},
                                         {.format = SL_SPARSE_AUTO, .dense_above = 0.02}};
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    sl_sparse_spec spec = specs[i];
    spec.dense = (sl_dense_spec){.kind = SLEY_ALLREDUCE, .count = count};
    SL_TRY(sum_whole(comm, &spec, given, &there));
  }
  mirror_close(&there);
  sl_free(values);
  sl_free(given);
  return SLEY_OK;
}

/* ---- the order of sums that are not exact */

enum { ORDER_COUNT = 701 };

/* Fills a rank's values, which any rank can compute. */
static void fill_order(void *array, sley_type type, int rank) {
  for (int64_t i = 0; i < ORDER_COUNT; i++) {
    uint64_t bits = sl_random(23, (uint64_t)rank, (uint64_t)i);
    oracle_draw(array, type, i, bits / 4);
    if (bits % 4 == 0)
      oracle_set(array, type, i, 0);
  }
}

/* Adds value i of all ranks as a ring does: from the rank after the owner of the part on, rounded after each
 * addition. */
static void sum_in_ring(const sl_comm *comm, sley_type type, char *const *all, int64_t at, int owner,
                        void *out) {
  size_t each = sley_type_bytes(type);
  memcpy(out, all[(owner + 1) % comm->size] + at, each);
  for (int hop = 2; hop <= comm->size; hop++) {
    char sum[8];
    const void *two[] = {out, all[(owner + hop) % comm->size] + at};
    oracle_reduce(SLEY_SUM, type, 2, two, sum);
    memcpy(out, sum, each);
  }
}

/* Adds and rounds the values of each workgroup, and then adds these sums. */
static void sum_in_levels(const sl_comm *comm, sley_type type, char *const *all, int64_t at, void *out) {
  char sums[SPARSE_JOB_RANKS][8];
  const void *of[SPARSE_JOB_RANKS], *values[SPARSE_JOB_RANKS];
  for (int g = 0; g < sl_workgroups(comm); g++) {
    int members = sl_workgroup_size(comm, g);
    for (int m = 0; m < members; m++)
      values[m] = all[sl_workgroup_first(comm, g) + m] + at;
    oracle_reduce(SLEY_SUM, type, members, values, sums[g]);
    of[g] = sums[g];
  }
  oracle_reduce(SLEY_SUM, type, sl_workgroups(comm), of, out);
}

/* Adds pairs of neighbours, rounded after each addition: first so many that a power of two sums is left, each
 * rank 2 i and 2 i + 1 at the beginning; then all, until one sum is left. */
static void sum_in_tree(const sl_comm *comm, sley_type type, char *const *all, int64_t at, void *out) {
  char sums[SPARSE_JOB_RANKS][8];
  size_t each = sley_type_bytes(type);
  int power = 1, left = comm->size;
  while (2 * power <= comm->size)
    power *= 2;
  for (int r = 0; r < comm->size; r++)
    memcpy(sums[r], all[r] + at, each);
  for (int pairs = comm->size - power; left > 1; pairs = left / 2) {
    for (int i = 0; i < left - pairs; i++) {
      char sum[8];
      const void *two[] = {sums[2 * i], sums[2 * i + 1]};
      if (i < pairs)
        oracle_reduce(SLEY_SUM, type, 2, two, sum);
      else
        memcpy(sum, sums[i + pairs], each);
      memcpy(sums[i], sum, each);
    }
    left -= pairs;
  }
  memcpy(out, sums[0], each);
}

/* Adds the ranks' values in the order that the way documents. */
static void sum_by_way(const sl_comm *comm, const sl_sparse_spec *spec, char *const *all, int64_t at,
                       int owner, void *out) {
  const void *values[SPARSE_JOB_RANKS];
  sley_type type = spec->dense.type;
  for (int r = 0; r < comm->size; r++)
    values[r] = all[r] + at;
  if (spec->way == SLEY_WAY_TWO_LEVEL && comm->workgroup > 1)
    sum_in_levels(comm, type, all, at, out);
  else if (spec->way == SLEY_WAY_RING)
    sum_in_ring(comm, type, all, at, owner, out);
  else if (spec->way == SLEY_WAY_RECURSIVE_DOUBLING)
    sum_in_tree(comm, type, all, at, out);
  else
    oracle_reduce(SLEY_SUM, type, comm->size, values, out);
}

/* Checks that a sum is as near to the sum in double as additions rounded to the type bring it: a relative
 * error of at most eps for each, of the sum of magnitudes. */
static sley_status check_near(const sl_comm *comm, sley_type type, char *const *all, int64_t i,
                              const void *got) {
  static const double eps[] = {[SLEY_TYPE_F32] = 0x1p-24,
                               [SLEY_TYPE_F64] = 0x1p-53,
                               [SLEY_TYPE_F16] = 0x1p-11,
                               [SLEY_TYPE_BF16] = 0x1p-8};
  double sum = 0, magnitudes = 0, value = oracle_get(got, type);
  int64_t at = i * (int64_t)sley_type_bytes(type);
  for (int r = 0; r < comm->size; r++) {
    sum += oracle_get(all[r] + at, type);
    magnitudes += fabs(oracle_get(all[r] + at, type));
  }
  if (!isfinite(magnitudes) || magnitudes > 1e4 || !isfinite(value))
    return SLEY_OK;
  EXPECT(fabs(value - sum) <= magnitudes * eps[type] * 2 * comm->size + comm->size * 0x1p-24);
  return SLEY_OK;
}

static sley_status check_order(sl_comm *comm, const sl_sparse_spec *spec, char *const *all, mirror *there) {
  int64_t each = (int64_t)sley_type_bytes(spec->dense.type), begin[SPARSE_JOB_RANKS + 1];
  sl_sparse *sum;
  memcpy(there->host, all[comm->rank], (size_t)(ORDER_COUNT * each));
  SL_TRY(mirror_send(there));
  SL_TRY(sl_sparse_create(comm, spec, &sum));
  SL_TRY(sl_sparse_run(sum, there->here, there->here, comm->queue));
  sl_sparse_destroy(sum);
  SL_TRY(mirror_fetch(there));
  sl_dense_lay_out(&spec->dense, comm->size, begin);
  int owner = 0;
  for (int64_t i = 0; i < ORDER_COUNT; i++) {
    char expected[8];
    while (i >= begin[owner + 1])
      owner++;
    sum_by_way(comm, spec, all, i * each, owner, expected);
    EXPECT(memcmp(expected, (char *)there->host + i * each, (size_t)each) == 0);
    SL_TRY(check_near(comm, spec->dense.type, all, i, expected));
  }
  return SLEY_OK;
}

static sley_status order_main(sl_comm *comm, void *arg) {
  (void)arg;
  char *all[SPARSE_JOB_RANKS];
  double result[ORDER_COUNT];
  mirror there;
  for (int r = 0; r < comm->size; r++) {
    all[r] = sl_alloc(ORDER_COUNT, sizeof(double), "test");
    EXPECT(all[r]);
  }
  SL_TRY(mirror_open(comm, result, sizeof result, &there));
  for (int type = SLEY_TYPE_F32; type <= SLEY_TYPE_BF16 && comm->size > 1; type++) {
    for (int r = 0; r < comm->size; r++)
      fill_order(all[r], (sley_type)type, r);
    sl_sparse_spec spec = {.dense = {.kind = SLEY_ALLREDUCE, .type = (sley_type)type, .count = ORDER_COUNT},
                           .format = SL_SPARSE_PICI};
    for (int way = SLEY_WAY_DIRECT; way < (int)count_ways(); way++) {
      spec.way = (sley_collective_way)way;
      SL_TRY(check_order(comm, &spec, all, &there));
    }
  }
  mirror_close(&there);
  for (int r = 0; r < comm->size; r++)
    sl_free(all[r]);
  return SLEY_OK;
}

static void sums_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  assert_case_ok(c, run_case(c, whole_main, (void *)(uintptr_t)c));
  assert_case_ok(c, run_case(c, order_main, NULL));
  assert_int_equal(sl_memory_now(), before);
}

static void test_sums(void **state) {
  (void)state;
  each_case(sums_body);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits_of_the_dense_ones),
                                     cmocka_unit_test(test_sums)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

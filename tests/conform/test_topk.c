/* SPDX-License-Identifier: Apache-2.0 */
/* Top-k through the public interface: over steps and ranks, the sums of the sparse all-reduces and the
 * residuals add up to all gradients; the share of values sent; special values with expected results;
 * residuals of the caller, and copied ones; refused arguments; failing allocations. */
#include <math.h>
#include <stddef.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/value.h"
#include "mirror.h"
#include "ranks.h"

enum { STEPS = 6, LONGEST = 20011 };

static int64_t bytes_of(const sley_topk_options *o) {
  return o->count * (int64_t)sley_dtype_bytes(o->dtype);
}

/* Runs top-k in place through device memory: src is replaced by its values that are sent. */
static sley_status run_host(sley_comm *comm, sley_topk *topk, void *src, int64_t bytes) {
  mirror there;
  SL_TRY(mirror_open(comm, src, bytes, &there));
  sley_status status = sley_topk_run(topk, there.here, there.here);
  if (status == SLEY_OK)
    status = mirror_fetch(&there);
  mirror_close(&there);
  return status;
}

/* ---- steps over ranks */

/* Gradients of whole numbers, mostly zeros, so small that their sums are exact. */
static double gradient_at(uint64_t seed, int rank, int step, int64_t i) {
  const uint64_t bits = sl_random(seed, (uint64_t)(rank * STEPS + step), (uint64_t)i);
  return bits % 4 ? 0 : (double)(bits / 4 % 7) - 3;
}

typedef struct training {
  sley_comm *comm;
  sley_topk_options options;
  sley_topk *topk;
  sley_collective *sum;
  mirror there;
  void *gradient;
  double *received; /* sum over all steps of the received sums */
  void *residual;
} training;

static sley_status open_training(training *t) {
  sley_collective_options sum = SLEY_COLLECTIVE_OPTIONS_INIT;
  const int64_t bytes = bytes_of(&t->options);
  sum.type = (sley_type)t->options.dtype;
  sum.count = t->options.count;
  sum.compress = SLEY_COMPRESS_PICI;
  SL_TRY(sley_topk_create(t->comm, &t->options, &t->topk));
  SL_TRY(sley_collective_create(t->comm, &sum, &t->sum));
  t->gradient = sl_alloc_zero(bytes + 8, 1, "test");
  t->received = sl_alloc_zero(t->options.count, sizeof *t->received, "test");
  t->residual = sl_alloc_zero(t->options.count, sizeof(double), "test");
  EXPECT(t->gradient && t->received && t->residual);
  return mirror_open(t->comm, t->gradient, bytes + 8, &t->there);
}

static void close_training(training *t) {
  mirror_close(&t->there);
  sley_collective_destroy(t->sum);
  sley_topk_destroy(t->topk);
  sl_free(t->gradient);
  sl_free(t->received);
  sl_free(t->residual);
}

static sley_status take_step(training *t, uint64_t seed, int step) {
  const sley_topk_options *o = &t->options;
  sley_topk_info info;
  int64_t kept = 0;
  for (int64_t i = 0; i < o->count; i++)
    sl_value_set(t->gradient, o->dtype, i, gradient_at(seed, sley_comm_rank(t->comm), step, i));
  SL_TRY(mirror_send(&t->there));
  SL_TRY(sley_topk_run(t->topk, t->there.here, t->there.here));
  SL_TRY(sley_topk_info_get(t->topk, &info));
  SL_TRY(mirror_fetch(&t->there));
  for (int64_t i = 0; i < o->count; i++) {
    const double sent = sl_value_at(t->gradient, o->dtype, i);
    EXPECT(sent == 0 || fabs(sent) >= info.threshold);
    kept += sent != 0;
  }
  EXPECT(kept == info.kept && info.count == o->count && info.sample <= o->count);
  SL_TRY(sley_collective_run(t->sum, t->there.here, t->there.here));
  SL_TRY(mirror_fetch(&t->there));
  for (int64_t i = 0; i < o->count; i++)
    t->received[i] += sl_value_at(t->gradient, o->dtype, i);
  return SLEY_OK;
}

/* Checks that the residuals of all ranks and the received sums add up to all gradients; all are whole
 * numbers. */
static sley_status check_sums(const training *t, uint64_t seed) {
  const sley_topk_options *o = &t->options;
  int64_t *left;
  SL_TRY(sley_topk_residual_get(t->topk, t->residual));
  SL_TRY(SL_NEW_ZERO(left, o->count, "test"));
  for (int64_t i = 0; i < o->count; i++)
    left[i] = (int64_t)sl_value_at(t->residual, sl_sum_dtype(o->dtype), i);
  SL_TRY(sley_comm_allreduce(t->comm, SLEY_SUM, left, (int)o->count));
  for (int64_t i = 0; i < o->count; i++) {
    double all = 0;
    for (int r = 0; r < sley_comm_size(t->comm); r++)
      for (int step = 0; step < STEPS; step++)
        all += gradient_at(seed, r, step, i);
    EXPECT(all == t->received[i] + (double)left[i]);
  }
  sl_free(left);
  return SLEY_OK;
}

static sley_status steps_main(sley_comm *comm, void *arg) {
  static const int64_t counts[] = {0, 1, 37, 1001, 5000};
  static const double densities[] = {0.01, 0.1, 1};
  const rank_case *c = arg;
  training t = {.comm = comm, .options = SLEY_TOPK_OPTIONS_INIT};
  t.options.dtype = (sley_dtype)(c->seed % 4);
  t.options.count = counts[sl_random(c->seed, 1, 0) % 5];
  t.options.density = densities[sl_random(c->seed, 2, 0) % 3];
  t.options.seed = c->seed;
  SL_TRY(open_training(&t));
  for (int step = 0; step < STEPS; step++)
    SL_TRY(take_step(&t, c->seed, step));
  SL_TRY(check_sums(&t, c->seed));
  close_training(&t);
  return SLEY_OK;
}

/* ---- one rank by itself */

/* Measures the share of values that is sent, and the threshold, for values with an approximately normal
 * distribution. */
static sley_status share_of(sley_comm *comm, double density, double sample, int64_t count, uint64_t seed,
                            double *share, double *threshold) {
  sley_topk_options o = SLEY_TOPK_OPTIONS_INIT;
  sley_topk_info info;
  sley_topk *topk;
  float *values;
  o.count = count;
  o.density = density;
  o.sample = sample;
  o.seed = seed;
  SL_TRY(SL_NEW(values, count, "test"));
  for (int64_t i = 0; i < count; i++) {
    values[i] = -6;
    for (uint64_t j = 0; j < 12; j++)
      values[i] += (float)sl_unit(sl_random(5, (uint64_t)i, j));
  }
  SL_TRY(sley_topk_create(comm, &o, &topk));
  SL_TRY(run_host(comm, topk, values, bytes_of(&o)));
  SL_TRY(sley_topk_info_get(topk, &info));
  *share = (double)info.kept / (double)count;
  *threshold = info.threshold;
  sley_topk_destroy(topk);
  sl_free(values);
  return SLEY_OK;
}

static sley_status share_main(sley_comm *comm, void *arg) {
  static const double densities[] = {0.002, 0.01, 0.1, 0.5};
  double share, threshold, again, other;
  (void)arg;
  for (size_t i = 0; i < sizeof densities / sizeof *densities; i++) {
    SL_TRY(share_of(comm, densities[i], 0.001, LONGEST, 1, &share, &threshold));
    EXPECT(share > 0.5 * densities[i] && share < 1.6 * densities[i]);
    SL_TRY(share_of(comm, densities[i], 1, LONGEST, 1, &share, &other)); /* exact: the sample is the array */
    EXPECT(fabs(share - densities[i]) < 1.0 / LONGEST);
  }
  SL_TRY(share_of(comm, 0.5, 0.001, LONGEST, 1, &share, &again));
  SL_TRY(share_of(comm, 0.5, 0.001, LONGEST, 2, &share, &other)); /* only the seed sets the places */
  EXPECT(again == threshold && other != threshold);
  SL_TRY(share_of(comm, 1, 0.001, LONGEST, 1, &share, &threshold));
  EXPECT(share > 0.9999 && threshold == 0);
  return share_of(comm, 0.5, 0.5, 0, 1, &share, &threshold);
}

/* A case with expected results: values src in f32 and the residual before become dst and after. */
typedef struct by_hand {
  double density;
  int64_t count, kept;
  float src[6], before[6], dst[6], after[6];
} by_hand;

static const by_hand cases[] = {
    {0.01, 1, 1, {3}, {0}, {3}, {0}},
    {0.01, 1, 0, {0}, {0}, {0}, {0}},
    {0.5, 6, 3, {1, -2, 3, -4, 5, -6}, {0}, {0, 0, 0, -4, 5, -6}, {1, -2, 3, 0, 0, 0}},
    {0.5, 6, 3, {1, -2, 3, -4, 5, -6}, {9, 0, 0, 4, 0, 0}, {10, 0, 0, 0, 5, -6}, {0, -2, 3, 0, 0, 0}},
    {0.35, 5, 2, {1, -2, 3, -4, 5}, {0}, {0, 0, 0, -4, 5}, {1, -2, 3, 0, 0}},        /* 1.75 of 5, rounded */
    {0.34, 6, 4, {1, 2, -2, 2, 2, 0}, {0}, {0, 2, -2, 2, 2, 0}, {1, 0, 0, 0, 0, 0}}, /* ties */
    {0.01, 5, 5, {7, -7, 7, -7, 7}, {0}, {7, -7, 7, -7, 7}, {0}},                    /* all equal */
    {0.01, 5, 0, {0, -0.0F, 0, 0, 0}, {0}, {0}, {0}},                                /* all zeros */
    {1, 5, 4, {1, 0, 3, -4, 5}, {0, 0, 0, 0, 1}, {1, 0, 3, -4, 6}, {0}},             /* all kept */
    {0.34,
     6,
     2,
     {1, NAN, 3, -INFINITY, 5, -6},
     {1, 2, 3, 4, 5, 6},
     {0, NAN, 0, -INFINITY, 0, 0},
     {2, 2, 6, 4, 10, 0}},
    {0.5, 2, 1, {3e38F, 1}, {3e38F, 1}, {INFINITY, 0}, {0, 2}}};

static sley_status check_by_hand(sley_comm *comm, const by_hand *c) {
  sley_topk_options o = SLEY_TOPK_OPTIONS_INIT;
  sley_topk_info info;
  sley_topk *topk;
  float values[6], left[6];
  o.count = c->count;
  o.density = c->density;
  memcpy(values, c->src, sizeof values);
  SL_TRY(sley_topk_create(comm, &o, &topk));
  SL_TRY(sley_topk_info_get(topk, &info));
  EXPECT(info.kept == 0 && info.threshold == 0 && info.count == c->count && info.sample == c->count);
  SL_TRY(sley_topk_residual_set(topk, c->before));
  SL_TRY(run_host(comm, topk, values, bytes_of(&o)));
  SL_TRY(sley_topk_residual_get(topk, left));
  SL_TRY(sley_topk_info_get(topk, &info));
  EXPECT(info.kept == c->kept);
  EXPECT(memcmp(values, c->dst, (size_t)bytes_of(&o)) == 0 &&
         memcmp(left, c->after, (size_t)bytes_of(&o)) == 0);
  sley_topk_destroy(topk);
  return SLEY_OK;
}

/* In f16, the rest of a sum beyond the largest number, or of rounding, stays in the residual. */
static sley_status narrow_main(sley_comm *comm, void *arg) {
  sley_topk_options o = SLEY_TOPK_OPTIONS_INIT;
  sley_topk *topk;
  uint16_t values[3];
  float left[3] = {40000, -40000, 1};
  (void)arg;
  o.dtype = SLEY_F16;
  o.count = 3;
  o.density = 1;
  for (int i = 0; i < 3; i++)
    values[i] = sl_f16_of_f32(i == 0 ? 30000.0F : i == 1 ? -40000.0F : 2048.0F);
  SL_TRY(sley_topk_create(comm, &o, &topk));
  SL_TRY(sley_topk_residual_set(topk, left));
  SL_TRY(run_host(comm, topk, values, bytes_of(&o)));
  SL_TRY(sley_topk_residual_get(topk, left));
  EXPECT(sl_f32_of_f16(values[0]) == 65504 && left[0] == 70000 - 65504);
  EXPECT(sl_f32_of_f16(values[1]) == -65504 && left[1] == -80000 + 65504);
  EXPECT(sl_f32_of_f16(values[2]) == 2048 && left[2] == 1);
  sley_topk_destroy(topk);
  return SLEY_OK;
}

static sley_status hand_main(sley_comm *comm, void *arg) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    SL_TRY(check_by_hand(comm, &cases[i]));
  return narrow_main(comm, arg);
}

/* A residual in the caller's memory has the same results as one that is copied through host memory. */
static sley_status residual_main(sley_comm *comm, void *arg) {
  float mine[4] = {8, 0, 0, 0}, src[4] = {1, 2, 3, 4}, again[4] = {1, 2, 3, 4}, left[4];
  sley_topk_options o = SLEY_TOPK_OPTIONS_INIT;
  sley_topk *theirs, *own;
  mirror there;
  (void)arg;
  o.count = 4;
  o.density = 0.5;
  SL_TRY(sley_topk_create(comm, &o, &own));
  SL_TRY(sley_topk_residual_set(own, mine));
  SL_TRY(mirror_open(comm, mine, sizeof mine, &there));
  o.residual = there.here;
  SL_TRY(sley_topk_create(comm, &o, &theirs));
  SL_TRY(run_host(comm, theirs, src, sizeof src));
  SL_TRY(run_host(comm, own, again, sizeof again));
  sley_topk_destroy(theirs);
  SL_TRY(mirror_fetch(&there));
  SL_TRY(sley_topk_residual_get(own, left));
  EXPECT(memcmp(src, again, sizeof src) == 0 && memcmp(mine, left, sizeof mine) == 0);
  EXPECT(src[0] == 9 && src[1] == 0 && src[3] == 4 && mine[0] == 0 && mine[1] == 2 && mine[2] == 3);
  mirror_close(&there);
  sley_topk_destroy(own);
  return SLEY_OK;
}

/* Steps with a leaky residual, whose bits are those of the documented formula. LEAKY has more than one row of
 * the pass that multiplies. */
enum { LEAKY = 9001 };

static sley_status leaky_main(sley_comm *comm, void *arg) {
  static const double factors[] = {0, 0.3, 0.9, 1};
  static float residual[LEAKY], src[LEAKY], got[LEAKY], left[LEAKY];
  (void)arg;
  for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
    sley_topk_options o = SLEY_TOPK_OPTIONS_INIT;
    sley_topk_info info;
    sley_topk *topk;
    o.count = LEAKY;
    o.density = 0.1;
    o.residual_factor = factors[f];
    SL_TRY(sley_topk_create(comm, &o, &topk));
    memset(residual, 0, sizeof residual);
    for (int step = 0; step < STEPS; step++) {
      for (int64_t i = 0; i < LEAKY; i++)
        got[i] = src[i] = (float)(sl_unit(sl_random(11, (uint64_t)step, (uint64_t)i)) - 0.5);
      SL_TRY(run_host(comm, topk, got, sizeof got));
      SL_TRY(sley_topk_info_get(topk, &info));
      for (int64_t i = 0; i < LEAKY; i++) {
        const float r = (float)(factors[f] * (double)residual[i]), s = src[i] + r;
        const bool sends = fabs((double)s) >= info.threshold;
        EXPECT(got[i] == (sends ? s : 0));
        residual[i] = sends ? 0 : s;
      }
    }
    SL_TRY(sley_topk_residual_get(topk, left));
    EXPECT(memcmp(left, residual, sizeof left) == 0);
    sley_topk_destroy(topk);
  }
  return SLEY_OK;
}

/* ---- refused arguments */

static sley_status refused(sley_comm *comm, const sley_topk_options *o, sley_status expected,
                           const char *says) {
  sley_topk *made = (sley_topk *)&made;
  const sley_status status = sley_topk_create(comm, o, &made);
  EXPECT(status == expected && !made && strstr(sley_last_error(), says));
  return SLEY_OK;
}

static sley_status wrong_main(sley_comm *comm, void *arg) {
  (void)arg;
  static const double shares[] = {0, -1, 1.0001, NAN, INFINITY};
  const sley_topk_options good = SLEY_TOPK_OPTIONS_INIT;
  sley_topk_options o = good;
  sley_topk_info info;
  for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
    o = good;
    o.density = shares[i];
    SL_TRY(refused(comm, &o, SLEY_ERR_ARG, "density"));
    o = good;
    o.sample = shares[i];
    SL_TRY(refused(comm, &o, SLEY_ERR_ARG, "sample"));
  }
  for (size_t i = 1; i < sizeof shares / sizeof *shares; i++) {
    o = good;
    o.residual_factor = shares[i];
    SL_TRY(refused(comm, &o, SLEY_ERR_ARG, "residual_factor"));
  }
  o = good;
  o.dtype = (sley_dtype)4;
  SL_TRY(refused(comm, &o, SLEY_ERR_ARG, "dtype 4"));
  o = good;
  o.count = -1;
  SL_TRY(refused(comm, &o, SLEY_ERR_ARG, "count is -1"));
  o.count = INT64_MAX / 4;
  SL_TRY(refused(comm, &o, SLEY_ERR_OVERFLOW, "2^63"));
  o = good;
  o.residual = (char *)NULL + 2;
  SL_TRY(refused(comm, &o, SLEY_ERR_ARG, "residual must be aligned"));
  o = good;
  o.struct_size = sizeof o + 1;
  SL_TRY(refused(comm, &o, SLEY_ERR_ARG, "sley_topk_options"));
  SL_TRY(refused(comm, NULL, SLEY_ERR_ARG, "options is NULL"));
  SL_TRY(refused(NULL, &good, SLEY_ERR_ARG, "comm is NULL"));
  EXPECT(sley_topk_create(comm, &good, NULL) == SLEY_ERR_ARG);
  EXPECT(sley_topk_run(NULL, NULL, NULL) == SLEY_ERR_ARG);
  EXPECT(sley_topk_residual_get(NULL, &info) == SLEY_ERR_ARG);
  EXPECT(sley_topk_residual_set(NULL, &info) == SLEY_ERR_ARG);
  EXPECT(sley_topk_info_get(NULL, &info) == SLEY_ERR_ARG);
  sley_topk_destroy(NULL);
  return SLEY_OK;
}

static sley_status wrong_run_main(sley_comm *comm, void *arg) {
  sley_topk_options o = SLEY_TOPK_OPTIONS_INIT;
  sley_topk *topk;
  float values[4] = {0};
  (void)arg;
  o.count = 3;
  SL_TRY(sley_topk_create(comm, &o, &topk));
  EXPECT(sley_topk_run(topk, NULL, values) == SLEY_ERR_ARG && strstr(sley_last_error(), "src is NULL"));
  EXPECT(sley_topk_run(topk, values, NULL) == SLEY_ERR_ARG && strstr(sley_last_error(), "dst is NULL"));
  EXPECT(sley_topk_run(topk, (char *)values + 2, values) == SLEY_ERR_ARG);
  EXPECT(sley_topk_run(topk, values, (char *)values + 2) == SLEY_ERR_ARG);
  EXPECT(sley_topk_residual_get(topk, NULL) == SLEY_ERR_ARG);
  EXPECT(sley_topk_info_get(topk, NULL) == SLEY_ERR_ARG);
  sley_topk_destroy(topk);
  return SLEY_OK;
}

/* Each allocation of a create fails once, in cases in which no other rank allocates at the same time. */
static sley_status memory_main(sley_comm *comm, void *arg) {
  sley_topk_options o = SLEY_TOPK_OPTIONS_INIT;
  sley_topk *topk = NULL;
  (void)arg;
  o.count = 1000;
  const int64_t before = sl_memory_now();
  int failures = 0;
  for (sley_status status = SLEY_ERR_MEMORY; status != SLEY_OK; failures++) {
    sl_memory_fail_at(failures + 1);
    status = sley_topk_create(comm, &o, &topk);
    sl_memory_fail_at(0);
    EXPECT(status == SLEY_OK || (status == SLEY_ERR_MEMORY && sl_memory_now() == before && !topk));
    EXPECT(failures < 100);
  }
  EXPECT(failures > 1);
  sley_topk_destroy(topk);
  EXPECT(sl_memory_now() == before);
  return SLEY_OK;
}

static void body(const rank_case *c) {
  const int64_t before = sl_memory_now();
  assert_case_ok(c, run_case(c, steps_main, (void *)(uintptr_t)c));
  assert_case_ok(c, run_case(c, hand_main, NULL));
  assert_case_ok(c, run_case(c, residual_main, NULL));
  assert_case_ok(c, run_case(c, wrong_main, NULL));
  assert_case_ok(c, run_case(c, wrong_run_main, NULL));
  if (c->ranks == 1) {
    assert_case_ok(c, run_case(c, share_main, NULL));
    assert_case_ok(c, run_case(c, leaky_main, NULL));
    assert_case_ok(c, run_case(c, memory_main, NULL));
  }
  assert_int_equal(sl_memory_now(), before);
}

static void test_topk(void **state) {
  (void)state;
  each_case(body);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_topk)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

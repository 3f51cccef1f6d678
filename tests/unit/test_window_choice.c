/* SPDX-License-Identifier: Apache-2.0 */
/* The model of row windows: whatever it chooses takes no longer, by its own figures, than none or all. */
#include "support.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "device/cuda/spmm/window_choice.h"
#include "device/figures.h"
#include "tune/window_fit.h"

enum { WINDOWS = 20000, ROWS = WINDOWS * SL_WINDOW_ROWS - 3 };

typedef struct sample {
  sl_spmm_matrix a;
  int64_t rowptr[ROWS + 1];
  int32_t slots[WINDOWS];
  bool chosen[WINDOWS];
} sample;

/* `dense` windows in a row have rows of `length` entries, in as many columns; the other rows have one entry
 * each, in a column of its own. */
static sample *make(sley_dtype dtype, int dense, int length) {
  sample *s = calloc(1, sizeof *s);
  assert_non_null(s);
  for (int64_t i = 0; i < ROWS; i++)
    s->rowptr[i + 1] = s->rowptr[i] + (i / SL_WINDOW_ROWS < dense ? length : 1);
  for (int w = 0; w < WINDOWS; w++)
    s->slots[w] = w < dense ? length : SL_WINDOW_ROWS;
  s->a = (sl_spmm_matrix){.rows = ROWS, .rowptr = s->rowptr, .index = SLEY_I32, .dtype = dtype};
  return s;
}

static int64_t choose(sample *s, int64_t target) {
  const sl_spmm_problem problem = {.a = &s->a, .k = 128, .figures = &sl_figures_hopper};
  return sl_windows_choose(&problem, s->slots, target, s->chosen);
}

static void test_counts(void **state) {
  (void)state;
  sample *s = make(SLEY_F32, 10, 8);
  assert_int_equal(sl_window_count_of(0), 0);
  assert_int_equal(sl_window_count_of(16), 1);
  assert_int_equal(sl_window_count_of(17), 2);
  assert_int_equal(sl_window_count_of(ROWS), WINDOWS);
  assert_int_equal(sl_window_entries(&s->a, 0), 128);
  assert_int_equal(sl_window_entries(&s->a, 10), 16);
  assert_int_equal(sl_window_entries(&s->a, WINDOWS - 1), 13); /* its last rows are missing */
  free(s);
}

static double tensor_time(sley_dtype dtype, bool tf32, int64_t k, int64_t slots, int64_t target) {
  const sl_window_shape shape = {slots, 2 * slots, target, 1};
  return sl_window_tensor_time(sl_window_figures_of(&sl_figures_hopper.windows, dtype, tf32), dtype, k,
                               &shape);
}

static double stream_time(sley_dtype dtype, bool tf32, int64_t k, int64_t entries) {
  const sl_window_shape shape = {entries / 2, entries, 0, 1};
  return sl_window_stream_time(sl_window_figures_of(&sl_figures_hopper.windows, dtype, tf32), dtype, k,
                               &shape);
}

static void test_times_grow(void **state) {
  (void)state;
  const sley_dtype dtypes[] = {SLEY_F32, SLEY_F16, SLEY_BF16, SLEY_F32};
  for (int d = 0; d < 4; d++)
    for (int64_t k = 16; k <= 1024; k *= 2) {
      const bool tf32 = d == 3;
      assert_true(tensor_time(dtypes[d], tf32, k, 100, 0) > tensor_time(dtypes[d], tf32, k, 50, 0));
      assert_true(tensor_time(dtypes[d], tf32, 2 * k, 50, 0) > tensor_time(dtypes[d], tf32, k, 50, 0));
      assert_true(tensor_time(dtypes[d], tf32, k + 1, 50, 0) > tensor_time(dtypes[d], tf32, k, 50, 0));
      assert_true(tensor_time(dtypes[d], tf32, k, 0, 0) > 0);
      assert_true(tensor_time(dtypes[d], tf32, k, 800, 1) > tensor_time(dtypes[d], tf32, k, 800, 0));
      assert_true(stream_time(dtypes[d], tf32, k, 100) > stream_time(dtypes[d], tf32, k, 50));
    }
}

/* Of both kernels' times, by figures. */
static double mean_error(const sl_window_sample *samples, int count, const sl_window_figures *figures) {
  double sum = 0;
  for (int i = 0; i < count; i++) {
    const sl_window_sample *s = &samples[i];
    sum += fabs(sl_window_tensor_time(figures, s->dtype, s->k, &s->window) / s->tensor - 1);
    sum += fabs(sl_window_stream_time(figures, s->dtype, s->k, &s->window) / s->stream - 1);
  }
  return sum / (2 * count);
}

/* Figures by which times were made are found again, or others that give nearly the same times; wrong times do
 * not move them far. What no sample tells of stays. */
static void test_fit(void **state) {
  (void)state;
  static sl_window_sample samples[400];
  const sl_window_figures made = {.tensor = {0.1, 2, 1.2, 0.6, 0.5, 0.9, 3, 2, 12},
                                  .stream = {0.02, 0.007, 0.005, 0.007, 0.005, 0.02, 0.8, 0.5, 0.03}};
  const sl_window_figures start = *sl_window_figures_of(&sl_figures_hopper.windows, SLEY_F32, false);
  int count = 0;
  for (; count < 400; count++) {
    sl_window_sample *s = &samples[count];
    const int64_t slots = 1 + (int64_t)(sl_random(3, 0, (uint64_t)count) % 150);
    *s = (sl_window_sample){
        .dtype = SLEY_F32,
        .k = 10 + (int64_t)(sl_random(3, 1, (uint64_t)count) % 300),
        .window = {slots, slots + (int64_t)(sl_random(3, 2, (uint64_t)count) % (14 * (uint64_t)slots)),
                   (int64_t)(sl_random(3, 3, (uint64_t)count) % 4), 1 << sl_random(3, 4, (uint64_t)count) % 4,
                   (int64_t)(sl_random(3, 5, (uint64_t)count) % 1000000), sl_figures_hopper.cache}};
    s->tensor = sl_window_tensor_time(&made, s->dtype, s->k, &s->window);
    s->stream = sl_window_stream_time(&made, s->dtype, s->k, &s->window);
  }
  sl_window_figures found = start;
  const double before = mean_error(samples, count, &start);
  sl_window_fit(samples, count, &found);
  assert_true(before > 0.15);
  assert_true(mean_error(samples, count, &found) < 0.06);
  assert_true(found.tensor[SL_TENSOR_LOAD + 3] ==
              start.tensor[SL_TENSOR_LOAD + 3]); /* f32 has no such loads */
  for (int i = 0; i < 20; i++)
    *(i % 2 ? &samples[i].tensor : &samples[i].stream) *= i % 4 < 2 ? 5 : 0.2;
  found = start;
  sl_window_fit(samples, count, &found);
  assert_true(mean_error(samples + 20, count - 20, &found) < 0.06);
}

/* Samples that no figures explain. */
static void test_fit_bounds(void **state) {
  (void)state;
  sl_window_sample samples[2] = {
      {.dtype = SLEY_F16, .k = 64, .window = {8, 64, 0, 1, 1000, 1e6}, .tensor = 1, .stream = 1e-15},
      {.dtype = SLEY_F16, .k = 64, .window = {80, 640, 0, 1, 1000, 1e6}, .tensor = 1, .stream = 1e-15}};
  const sl_window_figures start = *sl_window_figures_of(&sl_figures_hopper.windows, SLEY_F16, false);
  sl_window_figures found = start;
  sl_window_fit(samples, 0, &found);
  assert_memory_equal(&found, &start, sizeof found);
  sl_window_fit(samples, 2, &found);
  for (int i = 0; i < SL_WINDOW_FIGURES; i++) {
    assert_true(found.tensor[i] >= start.tensor[i] / 4.001 && found.tensor[i] <= start.tensor[i] * 4.001);
    assert_true(found.stream[i] >= start.stream[i] / 4.001 && found.stream[i] <= start.stream[i] * 4.001);
  }
}

/* Dense windows go to Tensor cores, sparse ones do not, and of both kinds in large numbers each to its own.
 */
static void test_choice(void **state) {
  (void)state;
  sample *all = make(SLEY_F32, WINDOWS, 96), *none = make(SLEY_F32, 0, 0),
         *some = make(SLEY_F32, WINDOWS / 2, 400);
  assert_int_equal(choose(all, 16), WINDOWS);
  assert_int_equal(choose(none, 16), 0);
  assert_int_equal(choose(some, 16), WINDOWS / 2);
  for (int w = 0; w < WINDOWS; w++) {
    assert_true(all->chosen[w]);
    assert_false(none->chosen[w]);
    assert_true(some->chosen[w] == (w < WINDOWS / 2));
  }
  /* A few dense windows are not worth a launch, nor any where one warp would work longest. */
  sample *few = make(SLEY_F32, 3, 96);
  assert_int_equal(choose(few, 16), 0);
  assert_int_equal(choose(all, 1000000), 0);
  /* A window that must not go there stays. */
  all->slots[7] = -1;
  assert_int_equal(choose(all, 16), WINDOWS - 1);
  assert_false(all->chosen[7]);
  free(all);
  free(none);
  free(some);
  free(few);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counts),     cmocka_unit_test(test_times_grow), cmocka_unit_test(test_fit),
      cmocka_unit_test(test_fit_bounds), cmocka_unit_test(test_choice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of dense windows: dense parts are chosen, sparse ones are not, whatever the height; memory stays
 * within its bound; windows are cut so that multiprocessors have about equal work. */
#include "support.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "device/cuda/spmm/windows/dense_choice.h"
#include "device/figures.h"

enum { GROUPS = 200, ROWS = GROUPS * SL_DENSE_ROWS_MOST };

typedef struct sample {
  sl_spmm_matrix a;
  int64_t rowptr[ROWS + 1], group[GROUPS];
  int32_t slots[SL_DENSE_HEIGHTS][GROUPS * 4];
  bool chosen[GROUPS * 4];
} sample;

/* Each run of `equal` rows, at most 64, has the same `length` columns, and no column with other runs; rows of
 * the first `dense` groups only, the others have `few` columns of their own. */
static sample *make(sley_dtype dtype, int dense, int equal, int length, int few) {
  sample *s = calloc(1, sizeof *s);
  assert_non_null(s);
  for (int64_t i = 0; i < ROWS; i++)
    s->rowptr[i + 1] = s->rowptr[i] + (i / SL_DENSE_ROWS_MOST < dense ? length : few);
  for (int h = 0; h < SL_DENSE_HEIGHTS; h++) {
    const int rows = sl_dense_rows_of(h), each = SL_DENSE_ROWS_MOST / rows;
    for (int64_t w = 0; w < GROUPS * each; w++)
      s->slots[h][w] = w / each < dense ? (rows > equal ? rows / equal : 1) * length : rows * few;
  }
  for (int64_t g = 0; g < GROUPS; g++)
    s->group[g] = g;
  s->a = (sl_spmm_matrix){.rows = ROWS, .rowptr = s->rowptr, .index = SLEY_I32, .dtype = dtype};
  return s;
}

/* Figures that do not change with those of a GPU: multiply-adds of dense windows cost less than streams, but
 * not by a factor of 16. */
static const sl_device_figures *figures(void) {
  static sl_device_figures f;
  f = sl_figures_hopper;
  for (int kind = 0; kind < SL_DENSE_KINDS; kind++)
    f.dense[kind] = (sl_dense_figures){
        .cell = {2e-5, 2e-5, 2e-5, kind == SL_DENSE_F64 ? 0 : 2e-5},
        .load = 1e-4,
        .store = 1e-5,
    };
  return &f;
}

static sl_dense_way way_of(const sample *s, int64_t k) {
  const sl_spmm_problem problem = {.a = &s->a, .k = k, .figures = figures()};
  const sl_dense_sample all = {
      GROUPS, (int64_t *)s->group, {(int32_t *)s->slots[0], (int32_t *)s->slots[1], (int32_t *)s->slots[2]}};
  return sl_dense_choose_way(&problem, &all);
}

static int64_t choose(sample *s, sl_dense_way way, int64_t k) {
  const sl_spmm_problem problem = {.a = &s->a, .k = k, .figures = figures()};
  int height = 0;
  while (sl_dense_rows_of(height) < way.rows)
    height++;
  return sl_dense_choose(&problem, way, s->slots[height], s->chosen);
}

static void test_height(void **state) {
  (void)state;
  const sley_dtype dtypes[] = {SLEY_F32, SLEY_F64, SLEY_F16};
  for (int d = 0; d < 3; d++)
    for (int64_t k = 32; k <= 512; k *= 2) {
      sample *tall = make(dtypes[d], GROUPS, 64, 60, 0), *low = make(dtypes[d], GROUPS, 1, 60, 0);
      sl_dense_way way = way_of(tall, k);
      assert_int_equal(way.rows, 64);
      assert_true(fabs(way.slots - 4) < 1e-12); /* four windows of 16 rows have the same columns */
      assert_int_equal(way_of(low, k).rows, 0); /* rows share no column */
      free(tall);
      free(low);
    }
}

static void test_windows(void **state) {
  (void)state;
  sample *some = make(SLEY_F64, GROUPS / 2, 64, 80, 3), *none = make(SLEY_F64, 0, 64, 80, 3);
  const sl_dense_way way = way_of(some, 128);
  assert_int_equal(way.rows, 64);
  assert_int_equal(choose(some, way, 128), GROUPS / 2);
  for (int g = 0; g < GROUPS; g++)
    assert_true(some->chosen[g] == (g < GROUPS / 2));
  assert_int_equal(way_of(none, 128).rows, 0);
  assert_int_equal(choose(none, way, 128), 0);
  /* A window that must not be chosen, as one with values that are not finite. */
  some->slots[2][5] = -1;
  assert_int_equal(choose(some, way, 128), GROUPS / 2 - 1);
  assert_false(some->chosen[5]);
  free(some);
  free(none);
}

/* Slots, words and values take at most 1.5 times the bytes of columns and values. */
static void test_memory(void **state) {
  (void)state;
  const sley_dtype dtypes[] = {SLEY_F32, SLEY_F64, SLEY_F16};
  for (int d = 0; d < 3; d++)
    for (int h = 0; h < SL_DENSE_HEIGHTS; h++) {
      const int64_t entries = 1000000, bytes = (int64_t)sley_dtype_bytes(dtypes[d]);
      const int rows = sl_dense_rows_of(h);
      const int64_t slots = sl_dense_slots_most(dtypes[d], rows, entries), slot = rows > 32 ? 20 : 12;
      assert_true(2 * (slots * slot + entries * bytes) <= 3 * entries * (4 + bytes));
      assert_true(2 * ((slots + 1) * slot + entries * bytes) > 3 * entries * (4 + bytes));
    }
}

static void test_panels(void **state) {
  (void)state;
  for (int64_t k = 1; k <= 2000; k++)
    for (int wide = 0; wide < 2; wide++) {
      const sley_dtype dtype = wide ? SLEY_F64 : SLEY_F32;
      const int panel = sl_dense_panel(dtype, k);
      assert_true(panel == 16 || panel == 32 || panel == 64 || (panel == 128 && !wide));
      assert_true(sl_dense_panels(dtype, k) * panel >= k && (sl_dense_panels(dtype, k) - 1) * panel < k);
      assert_true(sl_dense_time(&sl_figures_hopper, dtype, k, 64, 100) > 0);
    }
  assert_int_equal(sl_dense_panel(SLEY_F32, 128), 128);
  assert_int_equal(sl_dense_panel(SLEY_F32, 12), 16);
  assert_int_equal(sl_dense_panel(SLEY_F64, 128), 64);
}

/* Windows of random lengths: fragments are at most as many as promised, and few windows are cut into enough
 * blocks. */
static void test_cut(void **state) {
  (void)state;
  int64_t *first = calloc(5001, sizeof *first);
  sl_spmm_matrix a = {.index = SLEY_I32, .dtype = SLEY_F32};
  for (uint64_t round = 0; round < 200; round++) {
    const int64_t windows = 1 + (int64_t)(sl_random(5, 0, round) % (round % 2 ? 60 : 5000)),
                  most = 1 + (int64_t)(sl_random(5, 1, round) % 4000);
    const sl_spmm_problem problem = {
        .a = &a, .k = 9 + (int64_t)(sl_random(5, 2, round) % 600), .figures = &sl_figures_hopper};
    for (int64_t w = 0; w < windows; w++)
      first[w + 1] = first[w] + 1 + (int64_t)(sl_random(6 + round, 0, (uint64_t)w) % (uint64_t)most);
    const sl_chunk_sizes sizes = sl_dense_cut(&problem, windows, first);
    sl_chunks chunks;
    assert_int_equal(sl_chunks_make(windows, NULL, first, sizes, NULL, &chunks), SLEY_OK);
    assert_true(chunks.slots <= sl_dense_fragments_most(&problem));
    assert_true(chunks.chunks == windows - chunks.longs + chunks.slots);
    for (int64_t i = 0; i < chunks.chunks; i++)
      assert_int_equal(chunks.chunk[i].rows, 1);
    sl_chunks_free(&chunks);
  }
  /* The windows of a full matrix with 3000 rows fill the GPU only if they are cut. */
  for (int64_t w = 0; w < 47; w++)
    first[w + 1] = first[w] + 3000;
  const sl_spmm_problem narrow = {.a = &a, .k = 100, .figures = &sl_figures_hopper};
  assert_true(sl_dense_cut(&narrow, 47, first).fragment <= 1000);
  free(first);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_height), cmocka_unit_test(test_windows), cmocka_unit_test(test_memory),
      cmocka_unit_test(test_panels), cmocka_unit_test(test_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

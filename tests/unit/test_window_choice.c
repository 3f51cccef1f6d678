/* SPDX-License-Identifier: Apache-2.0 */
/* The model of row windows: whatever it chooses takes no longer, by its own figures, than none or all. */
#include "support.h"

#include <stdlib.h>

#include "device/cuda/window_choice.h"

enum { WINDOWS = 5000, ROWS = WINDOWS * SL_WINDOW_ROWS - 3 };

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

static void test_times_grow(void **state) {
  (void)state;
  const sley_dtype dtypes[] = {SLEY_F32, SLEY_F16, SLEY_BF16};
  for (int d = 0; d < 3; d++)
    for (int64_t k = 16; k <= 1024; k *= 2) {
      assert_true(sl_window_tensor_time(dtypes[d], k, 100) > sl_window_tensor_time(dtypes[d], k, 50));
      assert_true(sl_window_tensor_time(dtypes[d], 2 * k, 50) > sl_window_tensor_time(dtypes[d], k, 50));
      assert_true(sl_window_tensor_time(dtypes[d], k + 1, 50) > sl_window_tensor_time(dtypes[d], k, 50));
      assert_true(sl_window_tensor_time(dtypes[d], k, 0) > 0);
      assert_true(sl_window_stream_time(dtypes[d], k, 100) > sl_window_stream_time(dtypes[d], k, 50));
    }
}

/* Dense windows go to Tensor cores, sparse ones do not, and of both kinds in large numbers each to its own.
 */
static void test_choice(void **state) {
  (void)state;
  sample *all = make(SLEY_F32, WINDOWS, 96), *none = make(SLEY_F32, 0, 0),
         *some = make(SLEY_F32, WINDOWS / 2, 400);
  assert_int_equal(sl_windows_choose(&all->a, 128, all->slots, 16, all->chosen), WINDOWS);
  assert_int_equal(sl_windows_choose(&none->a, 128, none->slots, 16, none->chosen), 0);
  assert_int_equal(sl_windows_choose(&some->a, 128, some->slots, 16, some->chosen), WINDOWS / 2);
  for (int w = 0; w < WINDOWS; w++) {
    assert_true(all->chosen[w]);
    assert_false(none->chosen[w]);
    assert_true(some->chosen[w] == (w < WINDOWS / 2));
  }
  /* A few dense windows are not worth a launch, nor any where one warp would work longest. */
  sample *few = make(SLEY_F32, 3, 96);
  assert_int_equal(sl_windows_choose(&few->a, 128, few->slots, 16, few->chosen), 0);
  assert_int_equal(sl_windows_choose(&all->a, 128, all->slots, 1000000, all->chosen), 0);
  /* A window that must not go there stays. */
  all->slots[7] = -1;
  assert_int_equal(sl_windows_choose(&all->a, 128, all->slots, 16, all->chosen), WINDOWS - 1);
  assert_false(all->chosen[7]);
  free(all);
  free(none);
  free(some);
  free(few);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_times_grow),
      cmocka_unit_test(test_choice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles for random row lengths. They must hold every row once, with all its entries in stored order, and
 * longer rows before shorter ones within a window (for very long rows approximately). `common` and `ragged`
 * must be right. */
#include "support.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/value.h"
#include "device/cpu/spmm/bundles.h"

enum { MAX_ROWS = 200, MAX_ENTRIES = 1200 * MAX_ROWS, COLUMNS = 1000, ROUNDS = 600 };

typedef struct sample {
  sl_spmm_matrix a;
  int height, window;
  int64_t k, cut; /* rows before cut are filled as a separate range */
  int64_t rowptr[MAX_ROWS + 1], rowid[MAX_ROWS], wide[MAX_ENTRIES];
  int32_t narrow[MAX_ENTRIES];
  double val[MAX_ENTRIES]; /* in the matrix's type */
} sample;

static int64_t column_of(int64_t entry) {
  return sl_below(sl_random(3, (uint64_t)entry, 0), COLUMNS);
}

static double value_of(int64_t entry, int turn) {
  return (double)(sl_below(sl_random(4, (uint64_t)entry, (uint64_t)turn), 2000) -
                  1000); /* exact in 16 bits of f16 */
}

static void draw_values(sample *s, int turn) {
  for (int64_t j = 0; j < s->rowptr[s->a.rows]; j++)
    sl_value_set(s->val, s->a.dtype, j, value_of(j, turn));
}

static void make(uint64_t round, sample *s) {
  static const sley_dtype dtypes[] = {SLEY_F32, SLEY_F64, SLEY_F16};
  bool tall = sl_random(1, round, 1) % 2;
  s->height = tall ? 16 : 8;
  s->window = s->height * (int)(1 + sl_below(sl_random(1, round, 2), 8));
  s->k = tall ? 1 : 1 + sl_below(sl_random(1, round, 3), 40);
  s->a = (sl_spmm_matrix){.rows = sl_below(sl_random(1, round, 0), MAX_ROWS + 1),
                          .rowptr = s->rowptr,
                          .rowid = sl_random(1, round, 4) % 2 ? s->rowid : NULL,
                          .index = sl_random(1, round, 5) % 2 ? SLEY_I32 : SLEY_I64,
                          .dtype = dtypes[sl_below(sl_random(1, round, 6), 3)],
                          .val = s->val};
  s->a.col = s->a.index == SLEY_I32 ? (void *)s->narrow : (void *)s->wide;
  s->cut = sl_below(sl_random(1, round, 7), s->a.rows + 1);
  int64_t longest = 1 + sl_below(sl_random(1, round, 8), 20);
  s->rowptr[0] = sl_below(sl_random(1, round, 9), 3) * 17;
  for (int64_t i = 0; i < s->a.rows; i++) {
    uint64_t bits = sl_random(2, round, (uint64_t)i);
    s->rowptr[i + 1] = s->rowptr[i] + (bits % 3 == 0 ? 0
                                                     : sl_below(bits, longest) * (bits % 31 == 0   ? 60
                                                                                  : bits % 11 == 0 ? 12
                                                                                                   : 1));
    s->rowid[i] = (i > 0 ? s->rowid[i - 1] : -1) + 1 + (int64_t)(bits % 4);
  }
  for (int64_t j = 0; j < s->rowptr[s->a.rows]; j++) {
    s->narrow[j] = (int32_t)column_of(j);
    s->wide[j] = column_of(j);
  }
  draw_values(s, 0);
}

static int64_t length_of(const sample *s, int64_t row) {
  return s->rowptr[row + 1] - s->rowptr[row];
}

static void check_entry(const sample *s, const sl_bundles *b, int64_t place, int64_t entry, int turn) {
  assert_int_equal(b->x[place], column_of(entry) * s->k);
  assert_true(sl_value_at(b->val, sl_sum_dtype(s->a.dtype), place) == value_of(entry, turn));
}

/* Checks a bundle; returns its number of entries. */
static int64_t check_bundle(const sample *s, const sl_bundles *b, int64_t index, int turn, char *seen) {
  const sl_bundle bundle = b->bundle[index];
  int64_t entries = 0, least = INT64_MAX, rest = bundle.first + (int64_t)bundle.common * bundle.rows;
  assert_in_range(bundle.rows, 1, s->height);
  for (int r = 0; r < bundle.rows; r++) {
    int64_t at = index * s->height + r, row = b->row[at], length = length_of(s, row);
    assert_int_equal(seen[row]++, 0);
    assert_int_equal(b->y[at], s->a.rowid ? s->rowid[row] : row);
    assert_true(r == 0 || length_of(s, b->row[at - 1]) >= length - (length < 256 ? 0 : length / 8));
    assert_true(length >= bundle.common);
    least = length < least ? length : least;
    entries += length;
    for (int64_t n = 0; n < length; n++)
      check_entry(s, b, n < bundle.common ? bundle.first + n * bundle.rows + r : rest++, s->rowptr[row] + n,
                  turn);
  }
  assert_int_equal(bundle.common, bundle.rows == s->height ? least : 0);
  assert_int_equal(bundle.ragged, entries > (int64_t)bundle.common * bundle.rows);
  return entries;
}

static void check(const sample *s, const sl_bundles *b, int64_t bundles, int turn) {
  char seen[MAX_ROWS] = {0};
  int64_t entries = 0;
  for (int64_t i = 0; i < bundles; i++) {
    assert_int_equal(b->bundle[i].first, entries);
    entries += check_bundle(s, b, i, turn, seen);
  }
  assert_int_equal(entries, sl_spmm_entries(&s->a));
  for (int64_t i = 0; i < s->a.rows; i++)
    assert_int_equal(seen[i], 1);
}

static void test_bundles_hold_every_row_once(void **state) {
  (void)state;
  sample *s = malloc(sizeof *s);
  assert_non_null(s);
  for (uint64_t round = 0; round < ROUNDS; round++) {
    sl_bundles *b;
    make(round, s);
    int64_t first = sl_bundles_of(s->cut, s->height),
            all = first + sl_bundles_of(s->a.rows - s->cut, s->height);
    assert_sley_ok(sl_bundles_alloc(&s->a, s->k, all, s->height, s->window, &b));
    sl_bundles_fill(b, &s->a, first, s->cut, s->a.rows);
    sl_bundles_fill(b, &s->a, 0, 0, s->cut);
    check(s, b, all, 0);
    draw_values(s, 1);
    sl_bundles_refill(b, &s->a, s->val, 0, all);
    check(s, b, all, 1);
    sl_bundles_free(b);
  }
  free(s);
}

static void test_no_memory(void **state) {
  (void)state;
  sample *s = malloc(sizeof *s);
  assert_non_null(s);
  make(1, s);
  int64_t before = sl_memory_now();
  for (int64_t nth = 1; nth <= 5; nth++) {
    sl_bundles *b;
    sl_memory_fail_at(nth);
    assert_int_equal(sl_bundles_alloc(&s->a, s->k, 9, s->height, s->window, &b), SLEY_ERR_MEMORY);
    assert_null(b);
    assert_int_equal(sl_memory_now(), before);
  }
  sl_memory_fail_at(0);
  free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bundles_hold_every_row_once),
                                     cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of windows must equal those of a table of marks, on random matrices: numbers of rows that are
 * not multiples of 16, empty rows, no rows, rectangular, repeated entries, views, 64-bit columns, other
 * orders, threads. */
#include "support.h"

#include "base/random.h"
#include "base/team.h"
#include "matrix/windows.h"

enum { MAX_ROWS = 150, MAX_COLS = 70, MAX_ENTRIES = 2 * MAX_ROWS * MAX_COLS, ROUNDS = 300 };

/* A matrix with random columns; in some matrices many rows are empty; some entries occur twice. */
static sley_matrix *random_matrix(uint64_t seed) {
  static const int64_t heights[] = {0, 1, 2, 15, 16, 17, 31, 32, 48, 100, MAX_ROWS};
  static int64_t rowptr[MAX_ROWS + 1];
  static int32_t narrow[MAX_ENTRIES];
  static int64_t wide[MAX_ENTRIES];
  static float val[MAX_ENTRIES];
  int64_t rows = heights[sl_below(sl_random(seed, 0, 0), 11)], count = 0;
  int64_t cols = sl_below(sl_random(seed, 0, 1), MAX_COLS + 1);
  double density = sl_unit(sl_random(seed, 0, 2)), full = sl_unit(sl_random(seed, 0, 3));
  bool is_wide = sl_random(seed, 0, 4) & 1, repeats = sl_random(seed, 0, 5) & 1;
  for (int64_t i = 0; i < rows; i++) {
    bool empty = sl_unit(sl_random(seed, 1, (uint64_t)i)) > full;
    for (int64_t j = 0; j < cols && !empty; j++) {
      uint64_t bits = sl_random(seed, 2 + (uint64_t)i, (uint64_t)j);
      int times = sl_unit(bits) < density ? 1 + (repeats && bits % 5 == 0) : 0;
      for (; times > 0; times--) {
        narrow[count] = (int32_t)j;
        wide[count++] = j;
      }
    }
    rowptr[i + 1] = count;
  }
  sley_csr csr = {.rows = rows,
                  .cols = cols,
                  .rowptr = rowptr,
                  .col = is_wide ? (void *)wide : (void *)narrow,
                  .val = val,
                  .index = is_wide ? SLEY_I64 : SLEY_I32};
  sley_matrix *out;
  assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_COPY, &out));
  return out;
}

static sley_window_info count_by_marks(const sley_matrix *matrix, const int64_t *row_at) {
  sley_window_info info = {0};
  for (int64_t first = 0; first < matrix->rows; first += 16) {
    uint8_t met[MAX_COLS] = {0};
    int64_t entries = 0, columns = 0;
    for (int64_t i = first; i < first + 16 && i < matrix->rows; i++) {
      int64_t row = row_at ? row_at[i] : i;
      for (int64_t e = matrix->rowptr[row]; e < matrix->rowptr[row + 1]; e++) {
        int64_t column = sl_index_at(matrix->col, matrix->index, e);
        columns += !met[column];
        met[column] = 1;
        entries++;
      }
    }
    info.windows++;
    info.entries += entries;
    info.columns += columns;
    for (int i = 16; i >= 0 && entries > 0; i--)
      if (entries >= i * columns) {
        info.by_intensity[i] += entries;
        break;
      }
  }
  return info;
}

static void check(const sley_matrix *matrix, const int64_t *row_at, int threads) {
  sley_window_info got, want = count_by_marks(matrix, row_at);
  sl_team *team;
  assert_sley_ok(sl_team_create(threads, &team));
  assert_sley_ok(sl_matrix_windows(matrix, row_at, team, &got));
  sl_team_destroy(team);
  assert_int_equal(got.windows, want.windows);
  assert_int_equal(got.entries, want.entries);
  assert_int_equal(got.columns, want.columns);
  for (int i = 0; i < SLEY_INTENSITIES; i++)
    assert_int_equal(got.by_intensity[i], want.by_intensity[i]);
}

static void random_shapes(void **state) {
  (void)state;
  bool full_windows = false;
  for (uint64_t seed = 0; seed < ROUNDS; seed++) {
    sley_matrix *matrix = random_matrix(seed), *view;
    int64_t row_at[MAX_ROWS + 1], skipped = matrix->rows / 3;
    for (int64_t i = 0; i < matrix->rows; i++)
      row_at[i] = matrix->rows - 1 - i;
    check(matrix, NULL, 1);
    check(matrix, NULL, 3);
    check(matrix, row_at, 2);
    full_windows |= count_by_marks(matrix, NULL).by_intensity[16] > 0;
    assert_sley_ok(sley_matrix_row_block(matrix, skipped, matrix->rows - skipped, &view));
    check(view, NULL, 2);
    sley_matrix_destroy(view);
    sley_matrix_destroy(matrix);
  }
  assert_true(full_windows); /* the last of by_intensity was met */
}

/* A matrix with more windows than a thread takes at a time. */
static void many_windows(void **state) {
  (void)state;
  sley_matrix *matrix;
  sley_window_info one, three;
  assert_sley_ok(sley_matrix_read("band:n=50000,width=2", NULL, &matrix));
  sl_team *team;
  assert_sley_ok(sl_team_create(3, &team));
  assert_sley_ok(sl_matrix_windows(matrix, NULL, NULL, &one));
  assert_sley_ok(sl_matrix_windows(matrix, NULL, team, &three));
  sl_team_destroy(team);
  assert_memory_equal(&one, &three, sizeof one);
  assert_int_equal(one.windows, 3125);
  assert_int_equal(one.entries, matrix->nnz);
  /* Row i has columns i - 2 to i + 2, so 16 rows have 20; the first and the last window have 18. */
  assert_int_equal(one.columns, 3125 * 20 - 4);
  sley_matrix_destroy(matrix);
}

/* A matrix may have more columns than memory could hold marks for. */
static void very_wide(void **state) {
  (void)state;
  const int64_t rowptr[] = {0, 2, 3}, col[] = {0, INT64_MAX - 2, INT64_MAX - 2};
  const float val[] = {1, 1, 1};
  sley_csr csr = {
      .rows = 2, .cols = INT64_MAX - 1, .rowptr = rowptr, .col = col, .val = val, .index = SLEY_I64};
  sley_matrix *matrix;
  sley_window_info info;
  assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_BORROW, &matrix));
  assert_sley_ok(sley_matrix_windows(matrix, NULL, 1, &info));
  assert_int_equal(info.entries, 3);
  assert_int_equal(info.columns, 2);
  assert_int_equal(info.by_intensity[1], 3);
  sley_matrix_destroy(matrix);
}

static void arguments_are_checked(void **state) {
  (void)state;
  sley_matrix *matrix;
  sley_window_info info;
  const int64_t twice[] = {0, 1, 1}, beyond[] = {0, 1, 3}, turned[] = {2, 1, 0};
  assert_sley_ok(sley_matrix_read("diag:n=3", NULL, &matrix));
  assert_int_equal(sley_matrix_windows(NULL, NULL, 1, &info), SLEY_ERR_ARG);
  assert_int_equal(sley_matrix_windows(matrix, NULL, 1, NULL), SLEY_ERR_ARG);
  assert_int_equal(sley_matrix_windows(matrix, NULL, -1, &info), SLEY_ERR_ARG);
  assert_int_equal(sley_matrix_windows(matrix, twice, 1, &info), SLEY_ERR_ARG);
  assert_non_null(strstr(sley_last_error(), "row_at[2]"));
  assert_int_equal(sley_matrix_windows(matrix, beyond, 1, &info), SLEY_ERR_ARG);
  assert_sley_ok(sley_matrix_windows(matrix, turned, 0, &info));
  assert_int_equal(info.columns, 3);
  sley_matrix_destroy(matrix);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_shapes),
      cmocka_unit_test(many_windows),
      cmocka_unit_test(very_wide),
      cmocka_unit_test(arguments_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

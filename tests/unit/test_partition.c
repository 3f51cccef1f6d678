/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions of rows: examples, awkward shapes, owners, and argument checks. */
#include "support.h"

#include "partition/partition.h"

/* A matrix of the given rowptr; the partitions look at nothing else. */
static sley_matrix matrix_of(const int64_t *rowptr, int64_t rows) {
  return (sley_matrix){.rows = rows, .cols = 1, .nnz = rowptr[rows] - rowptr[0], .rowptr = rowptr};
}

static void expect(const int64_t *begin, const int64_t *want, int ranks) {
  for (int r = 0; r <= ranks; r++)
    assert_int_equal(begin[r], want[r]);
}

static void equal_rows_differ_by_one(void **state) {
  (void)state;
  int64_t begin[6];
  sl_partition_equal(7, 3, begin);
  expect(begin, (int64_t[]){0, 3, 5, 7}, 3);
  sl_partition_equal(2, 5, begin);
  expect(begin, (int64_t[]){0, 1, 2, 2, 2, 2}, 5);
  sl_partition_equal(0, 2, begin);
  expect(begin, (int64_t[]){0, 0, 0}, 2);
}

static void nonzeros_are_balanced(void **state) {
  (void)state;
  int64_t begin[5];
  const int64_t rowptr[] = {0, 6, 7, 8, 9, 10, 11, 12};
  sley_matrix matrix = matrix_of(rowptr, 7);
  sl_partition_nnz(&matrix, 2, begin);
  expect(begin, (int64_t[]){0, 1, 7}, 2);
  sl_partition_nnz(&matrix, 4, begin);
  expect(begin, (int64_t[]){0, 0, 1, 4, 7}, 4);
}

static void view_counts_from_its_first_row(void **state) {
  (void)state;
  int64_t begin[3];
  const int64_t rowptr[] = {100, 104, 105, 106, 107, 108};
  sley_matrix matrix = matrix_of(rowptr, 5);
  sl_partition_nnz(&matrix, 2, begin);
  expect(begin, (int64_t[]){0, 1, 5}, 2);
}

static void huge_row_takes_a_rank(void **state) {
  (void)state;
  int64_t begin[5];
  const int64_t rowptr[] = {0, 1, 2, 1002, 1003, 1004};
  sley_matrix matrix = matrix_of(rowptr, 5);
  sl_partition_nnz(&matrix, 4, begin);
  expect(begin, (int64_t[]){0, 2, 2, 3, 5}, 4);
}

static void empty_rows_are_shared(void **state) {
  (void)state;
  int64_t begin[5];
  const int64_t none[9] = {0};
  sley_matrix matrix = matrix_of(none, 8);
  sl_partition_nnz(&matrix, 4, begin);
  expect(begin, (int64_t[]){0, 2, 4, 6, 8}, 4);
  const int64_t middle[] = {0, 1, 1, 1, 1, 1, 2};
  matrix = matrix_of(middle, 6);
  sl_partition_nnz(&matrix, 2, begin);
  expect(begin, (int64_t[]){0, 3, 6}, 2);
  const int64_t nothing[] = {5};
  matrix = matrix_of(nothing, 0);
  sl_partition_nnz(&matrix, 3, begin);
  expect(begin, (int64_t[]){0, 0, 0, 0}, 3);
}

static void huge_counts_do_not_overflow(void **state) {
  (void)state;
  int64_t begin[4];
  const int64_t third = INT64_MAX / 3, rowptr[] = {0, third, 2 * third, 3 * third};
  sley_matrix matrix = matrix_of(rowptr, 3);
  sl_partition_nnz(&matrix, 3, begin);
  expect(begin, (int64_t[]){0, 1, 2, 3}, 3);
}

static void owner_skips_empty_ranks(void **state) {
  (void)state;
  const int64_t begin[] = {0, 0, 2, 2, 2, 3, 3};
  assert_int_equal(sl_partition_owner(begin, 6, 0), 1);
  assert_int_equal(sl_partition_owner(begin, 6, 1), 1);
  assert_int_equal(sl_partition_owner(begin, 6, 2), 4);
  assert_int_equal(sl_partition_owner((int64_t[]){0, 9}, 1, 8), 0);
}

static void names_choose_the_partition(void **state) {
  (void)state;
  int64_t begin[3];
  const int64_t rowptr[] = {0, 6, 7, 8, 9, 10, 11, 12};
  sley_matrix matrix = matrix_of(rowptr, 7);
  assert_sley_ok(sley_partition_rows(&matrix, "nnz", 2, begin));
  expect(begin, (int64_t[]){0, 1, 7}, 2);
  assert_sley_ok(sley_partition_rows(&matrix, "rows", 2, begin));
  expect(begin, (int64_t[]){0, 4, 7}, 2);
}

static void arguments_are_checked(void **state) {
  (void)state;
  int64_t begin[3];
  const int64_t rowptr[] = {0, 1, 2};
  sley_matrix matrix = matrix_of(rowptr, 2);
  assert_sley_ok(sley_partition_rows(&matrix, "nnz", 2, begin));
  assert_sley_ok(sley_partition_rows(&matrix, "rows", 2, begin));
  expect(begin, (int64_t[]){0, 1, 2}, 2);
  assert_int_equal(sley_partition_rows(&matrix, "edges", 2, begin), SLEY_ERR_ARG);
  assert_non_null(strstr(sley_last_error(), "rows or nnz"));
  assert_int_equal(sley_partition_rows(&matrix, NULL, 2, begin), SLEY_ERR_ARG);
  assert_int_equal(sley_partition_rows(NULL, "rows", 2, begin), SLEY_ERR_ARG);
  assert_int_equal(sley_partition_rows(&matrix, "rows", 0, begin), SLEY_ERR_ARG);
  assert_int_equal(sley_partition_rows(&matrix, "rows", 2, NULL), SLEY_ERR_ARG);
  assert_int_equal(sley_partition_equal(-1, 2, begin), SLEY_ERR_ARG);
  assert_int_equal(sley_partition_equal(1, -2, begin), SLEY_ERR_ARG);
  assert_sley_ok(sley_partition_equal(3, 2, begin));
  expect(begin, (int64_t[]){0, 2, 3}, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_rows_differ_by_one),       cmocka_unit_test(nonzeros_are_balanced),
      cmocka_unit_test(view_counts_from_its_first_row), cmocka_unit_test(huge_row_takes_a_rank),
      cmocka_unit_test(empty_rows_are_shared),          cmocka_unit_test(huge_counts_do_not_overflow),
      cmocka_unit_test(owner_skips_empty_ranks),        cmocka_unit_test(names_choose_the_partition),
      cmocka_unit_test(arguments_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

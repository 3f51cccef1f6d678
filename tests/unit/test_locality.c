/* SPDX-License-Identifier: Apache-2.0 */
/* How often products find rows of X at hand: always where few rows are named, mostly near a diagonal, hardly
 * ever where entries lie anywhere. */
#include "ops/spmm.h"
#include "ranks.h"

typedef struct wanted {
  const sley_matrix *matrix;
  int64_t k;
  double near;
} wanted;

static sley_status look(sley_comm *comm, void *arg) {
  wanted *w = arg;
  sley_matrix_info info;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_plan *plan = NULL;
  sley_matrix *block = NULL;
  options.dry = true;
  sley_status status = sley_matrix_info_get(w->matrix, &info);
  const int64_t begin[2] = {0, info.rows};
  if (status == SLEY_OK)
    status = sley_matrix_row_block(w->matrix, 0, info.rows, &block);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, begin, begin, w->k, &options, &plan);
  if (status == SLEY_OK)
    w->near = plan->plan.near_local;
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

static double near_of(const char *text, int64_t k) {
  sley_matrix *matrix;
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = 1;
  options.device = "cpu";
  assert_sley_ok(sley_matrix_read(text, NULL, &matrix));
  wanted w = {.matrix = matrix, .k = k};
  assert_sley_ok(sley_run_ranks(&options, look, &w));
  sley_matrix_destroy(matrix);
  return w.near;
}

static void rows_are_found_where_they_are_near(void **state) {
  (void)state;
  assert_true(near_of("er:n=1000,nnz=9000", 32) == 1); /* 128 KiB of X */
  assert_true(near_of("empty:rows=100000,cols=100000", 64) == 1);
  double anywhere = near_of("er:n=100000,nnz=800000", 64), grid = near_of("grid:nx=300,ny=300", 64),
         narrow = near_of("er:n=100000,nnz=800000", 4);
  assert_true(anywhere >= 0 && anywhere < 0.15);
  assert_true(grid > 0.6 && grid <= 1);
  assert_true(narrow > 2 * anywhere); /* more rows fit */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_found_where_they_are_near)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

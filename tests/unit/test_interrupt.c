/* SPDX-License-Identifier: Apache-2.0 */
/* An interrupt ends calls until it is cleared; then they work again, with ranks too. */
#include <sley.h>

#include "support.h"

static sley_status read_graph(void) {
  sley_matrix *matrix = NULL;
  sley_status status = sley_matrix_read("er:n=1000,nnz=8000", NULL, &matrix);
  sley_matrix_destroy(matrix);
  return status;
}

static sley_status barrier_main(sley_comm *comm, void *arg) {
  (void)arg;
  return sley_comm_barrier(comm);
}

static sley_status run_barrier(void) {
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = 3;
  return sley_run_ranks(&options, barrier_main, NULL);
}

static void test_calls_work_again(void **state) {
  (void)state;
  assert_false(sley_interrupt_clear());
  assert_int_equal(read_graph(), SLEY_OK);
  sley_interrupt();
  sley_interrupt();
  assert_int_equal(read_graph(), SLEY_ERR_INTERRUPTED);
  assert_int_equal(read_graph(), SLEY_ERR_INTERRUPTED);
  assert_int_equal(run_barrier(), SLEY_ERR_INTERRUPTED);
  assert_true(sley_interrupt_clear());
  assert_false(sley_interrupt_clear());
  assert_int_equal(read_graph(), SLEY_OK);
  assert_int_equal(run_barrier(), SLEY_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_calls_work_again)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

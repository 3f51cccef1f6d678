/* SPDX-License-Identifier: Apache-2.0 */
/* The figures built in: this host's cores are among them, and the ranks of a host share those. */
#include <stdlib.h>

#include "base/team.h"
#include "machine/machine.h"
#include "support.h"

enum { RANKS = 16, K = 32 };

static void knows_this_hosts_cores(void **state) {
  (void)state;
  const sl_machine *found;
  setenv("SLEY_MACHINE", "builtin", 1);
  assert_sley_ok(sl_machine_find(&sl_machine_threads, &found));
  assert_int_equal(found->cores, sl_cores());
  assert_true(sl_machine_is_built_in(found));
  assert_true(found->spmm_bandwidth == sl_machine_threads.spmm_bandwidth);
  assert_int_equal(found->rates, sl_machine_threads.rates);
  assert_sley_ok(sl_machine_find(&sl_machine_h200, &found));
  assert_int_equal(found->cores, 0);
}

typedef struct shared {
  const sley_matrix *matrix;
  const sl_machine *machine;
  const char *algo;
  int64_t begin[RANKS + 1];
  double ms;
  char reason[SLEY_ERROR_BYTES];
} shared;

static sley_status rank_main(sley_comm *comm, void *arg) {
  shared *s = arg;
  int rank = sley_comm_rank(comm);
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_plan_info info;
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;
  options.dry = true;
  options.algo = s->algo;
  options.machine = s->machine;
  sley_status status =
      sley_matrix_row_block(s->matrix, s->begin[rank], s->begin[rank + 1] - s->begin[rank], &block);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, s->begin, s->begin, K, &options, &plan);
  if (status == SLEY_OK)
    status = sley_plan_info_get(plan, &info);
  if (status == SLEY_OK && rank == 0) {
    s->ms = info.predicted_ms;
    snprintf(s->reason, sizeof s->reason, "%s", info.reason);
  }
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

static void plan_on(shared *s, const sl_machine *machine) {
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = RANKS;
  options.threads = 1;
  s->machine = machine;
  assert_sley_ok(sley_run_ranks(&options, rank_main, s));
}

/* A quarter of the cores takes all of the time that the ranks work three to five times as long: their data
 * shares the caches too. */
static void ranks_share_the_cores(void **state) {
  (void)state;
  sley_matrix *matrix;
  assert_sley_ok(
      sley_matrix_read("er:n=16384,nnz=262144,seed=1", &(sley_read_options)SLEY_READ_OPTIONS_INIT, &matrix));
  for (const char *const *algo = sley_algorithms(); *algo; algo++) {
    shared s = {.matrix = matrix, .algo = *algo};
    sl_machine many = sl_machine_threads, few = sl_machine_threads;
    many.cores = 8;
    few.cores = 2;
    many.crowded_meeting = few.crowded_meeting = many.meeting = few.meeting = 1e-9;
    assert_sley_ok(sley_partition_rows(matrix, "rows", RANKS, s.begin));
    plan_on(&s, &many);
    double eight = s.ms;
    plan_on(&s, &few);
    if (!(s.ms > 2.5 * eight && s.ms < 6 * eight))
      fail_msg("%s: %g ms on eight cores, %g on two", *algo, eight, s.ms);
  }
  sley_matrix_destroy(matrix);
}

static void says_whose_figures(void **state) {
  (void)state;
  sley_matrix *matrix;
  sl_machine other = sl_machine_threads;
  snprintf(other.source, sizeof other.source, "a file");
  assert_sley_ok(
      sley_matrix_read("er:n=1000,nnz=8000,seed=1", &(sley_read_options)SLEY_READ_OPTIONS_INIT, &matrix));
  shared s = {.matrix = matrix, .algo = "auto"};
  assert_sley_ok(sley_partition_rows(matrix, "rows", RANKS, s.begin));
  plan_on(&s, NULL);
  assert_non_null(strstr(s.reason, "(built-in figures; run sley tune)"));
  plan_on(&s, &other);
  assert_null(strstr(s.reason, "built-in"));
  sley_matrix_destroy(matrix);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(knows_this_hosts_cores),
                                     cmocka_unit_test(ranks_share_the_cores),
                                     cmocka_unit_test(says_whose_figures)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

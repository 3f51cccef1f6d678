/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds of many more ranks than cores, whose ranks take turns. */
#include <stdatomic.h>

#include "base/memory.h"
#include "base/team.h"
#include "ranks.h"

enum { RANKS = 200, ROUNDS = 20 };

typedef struct world_seen {
  atomic_int running, most;
} world_seen;

static sley_status look(sley_comm *comm, void *arg) {
  world_seen *seen = arg;
  for (int round = 0; round < ROUNDS; round++) {
    int now = atomic_fetch_add(&seen->running, 1) + 1, most = atomic_load(&seen->most);
    while (now > most && !atomic_compare_exchange_weak(&seen->most, &most, now))
      ;
    for (volatile int i = 0; i < 2000; i++)
      ;
    atomic_fetch_sub(&seen->running, 1);
    int64_t sum = round + sley_comm_rank(comm);
    sley_status status = sley_comm_allreduce(comm, SLEY_SUM, &sum, 1);
    if (status != SLEY_OK)
      return status;
    EXPECT(sum == (int64_t)round * RANKS + RANKS * (RANKS - 1) / 2);
  }
  return SLEY_OK;
}

static sley_status run(int ranks, sley_status (*main)(sley_comm *, void *), void *arg) {
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = ranks;
  options.workgroup = 3;
  options.threads = 1;
  options.device = "cpu";
  return sley_run_ranks(&options, main, arg);
}

static void only_so_many_run_at_once(void **state) {
  (void)state;
  world_seen seen = {0};
  assert_sley_ok(run(RANKS, look, &seen));
  assert_in_range(atomic_load(&seen.most), 1, sl_cores() > 0 ? sl_cores() : 1);
}

typedef struct product {
  const sley_matrix *matrix;
  int64_t begin[RANKS + 1];
  float *x, *y;
} product;

static sley_status multiply(sley_comm *comm, void *arg) {
  product *p = arg;
  int rank = sley_comm_rank(comm);
  sley_matrix *block = NULL;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  static const char *const algos[] = {"halo", "cover", "halo-fused", "rowwise"};
  sley_status status =
      sley_matrix_row_block(p->matrix, p->begin[rank], p->begin[rank + 1] - p->begin[rank], &block);
  for (int i = 0; i < 4 && status == SLEY_OK; i++) {
    sley_plan *plan = NULL;
    options.algo = algos[i];
    status = sley_plan_create(comm, block, p->begin, p->begin, 4, &options, &plan);
    if (status == SLEY_OK)
      status = sley_spmm(plan, 1, p->x + p->begin[rank] * 4, 4, 0, p->y + p->begin[rank] * 4, 4);
    sley_plan_destroy(plan);
  }
  sley_matrix_destroy(block);
  return status;
}

static void products_are_right(void **state) {
  (void)state;
  product p = {0};
  sley_matrix *matrix;
  sley_matrix_info info;
  sley_check check;
  assert_sley_ok(sley_matrix_read("er:n=1000,nnz=4000", NULL, &matrix));
  assert_sley_ok(sley_matrix_info_get(matrix, &info));
  p.matrix = matrix;
  p.x = calloc(1000 * 4, sizeof *p.x);
  p.y = calloc(1000 * 4, sizeof *p.y);
  assert_non_null(p.y);
  assert_sley_ok(sley_partition_equal(1000, RANKS, p.begin));
  assert_sley_ok(sley_dense_random(1, 0, 1000, 4, NULL, SLEY_F32, p.x, 4));
  assert_sley_ok(run(RANKS, multiply, &p));
  assert_sley_ok(sley_check_spmm(matrix, false, 4, p.x, 4, p.y, 4, 1, &check));
  assert_true(check.ok);
  free(p.y);
  free(p.x);
  sley_matrix_destroy(matrix);
}

/* One rank fails while the others wait. */
static sley_status fail_once(sley_comm *comm, void *arg) {
  (void)arg;
  int64_t one = 1;
  if (sley_comm_rank(comm) == RANKS / 2)
    return sl_fail(SLEY_ERR_INPUT, "this one fails");
  for (int i = 0; i < 3; i++) {
    sley_status status = sley_comm_allreduce(comm, SLEY_SUM, &one, 1);
    if (status != SLEY_OK)
      return status;
  }
  return SLEY_OK;
}

static void a_failure_reaches_all(void **state) {
  (void)state;
  assert_int_equal(run(RANKS, fail_once, NULL), SLEY_ERR_INPUT);
  assert_non_null(strstr(sley_last_error(), "rank 100: this one fails"));
}

/* One rank returns without the call that all others make. */
static sley_status leave_early(sley_comm *comm, void *arg) {
  (void)arg;
  return sley_comm_rank(comm) == 7 ? SLEY_OK : sley_comm_barrier(comm);
}

static void a_rank_that_left_is_named(void **state) {
  (void)state;
  assert_int_equal(run(RANKS, leave_early, NULL), SLEY_ERR_PEER);
  assert_non_null(strstr(sley_last_error(), "rank 7 has returned"));
}

/* An algorithm planned alone, or compared. */
typedef struct planning {
  const sley_matrix *matrix;
  int64_t begin[RANKS + 1];
  bool compared;
} planning;

static sley_status plan_dry(sley_comm *comm, void *arg) {
  static const char *const algos[] = {"bcast-1d", NULL};
  const planning *p = arg;
  int rank = sley_comm_rank(comm);
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_matrix *block;
  sley_plan *plan = NULL;
  sley_comparison *comparison = NULL;
  options.algo = algos[0];
  options.dry = true;
  SL_TRY(sley_matrix_row_block(p->matrix, p->begin[rank], p->begin[rank + 1] - p->begin[rank], &block));
  sley_status status =
      p->compared ? sley_plan_compare(comm, block, p->begin, p->begin, 4, &options, algos, &comparison)
                  : sley_plan_create(comm, block, p->begin, p->begin, 4, &options, &plan);
  sley_plan_destroy(plan);
  sley_comparison_destroy(comparison);
  sley_matrix_destroy(block);
  return status;
}

static int64_t peak_of(planning *p, bool compared) {
  p->compared = compared;
  sl_memory_peak_reset();
  assert_sley_ok(run(RANKS, plan_dry, p));
  return sl_memory_peak();
}

/* A comparison holds the plans of as many ranks as work at once; plans of bcast-1d take 200 bytes and more
 * for each of the other ranks. */
static void compared_plans_are_few_at_a_time(void **state) {
  (void)state;
  planning p = {0};
  sley_matrix *matrix;
  if (sl_cores() > RANKS / 4)
    skip();
  assert_sley_ok(sley_matrix_read("er:n=1000,nnz=4000", NULL, &matrix));
  assert_sley_ok(sley_partition_equal(1000, RANKS, p.begin));
  p.matrix = matrix;
  int64_t planned = peak_of(&p, false), compared = peak_of(&p, true);
  sley_matrix_destroy(matrix);
  assert_true(planned - compared > (int64_t)RANKS * RANKS * 200 / 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_so_many_run_at_once), cmocka_unit_test(products_are_right),
      cmocka_unit_test(compared_plans_are_few_at_a_time), cmocka_unit_test(a_failure_reaches_all),
      cmocka_unit_test(a_rank_that_left_is_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds of many more ranks than cores, whose ranks take turns, and may wait outside the library. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

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

/* Ranks that wait outside the library: for all others, for one that sleeps, for one that comes last. */
typedef struct outside {
  pthread_barrier_t all;
  pthread_mutex_t door;
  atomic_bool last_has_come;
} outside;

static sley_status sum_is_right(sley_comm *comm) {
  int64_t sum = sley_comm_rank(comm), ranks = sley_comm_size(comm);
  sley_status status = sley_comm_allreduce(comm, SLEY_SUM, &sum, 1);
  if (status == SLEY_OK)
    EXPECT(sum == ranks * (ranks - 1) / 2);
  return status;
}

static sley_status wait_for_all(sley_comm *comm, void *arg) {
  outside *o = arg;
  for (int round = 0; round < 3; round++) {
    pthread_barrier_wait(&o->all);
    sley_status status = sum_is_right(comm);
    if (status != SLEY_OK)
      return status;
  }
  pthread_barrier_wait(&o->all);
  return SLEY_OK;
}

static void a_barrier_of_the_callers_own_ends(void **state) {
  (void)state;
  static const int sizes[] = {65, 100, 256};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    outside o;
    pthread_barrier_init(&o.all, NULL, (unsigned)sizes[i]);
    assert_sley_ok(run(sizes[i], wait_for_all, &o));
    pthread_barrier_destroy(&o.all);
  }
}

/* All but the last wait for a lock that the first holds while it waits for them in the library. */
static sley_status wait_for_a_lock(sley_comm *comm, void *arg) {
  outside *o = arg;
  int rank = sley_comm_rank(comm);
  sley_status status = SLEY_OK;
  if (rank == 0)
    pthread_mutex_lock(&o->door);
  status = sum_is_right(comm);
  if (rank == 0) {
    nanosleep(&(struct timespec){.tv_nsec = 200 * 1000 * 1000}, NULL);
    pthread_mutex_unlock(&o->door);
  } else {
    pthread_mutex_lock(&o->door);
    pthread_mutex_unlock(&o->door);
  }
  return status == SLEY_OK ? sum_is_right(comm) : status;
}

/* The first asks again and again whether the last has come. */
static sley_status ask_for_the_last(sley_comm *comm, void *arg) {
  outside *o = arg;
  int rank = sley_comm_rank(comm);
  if (rank == sley_comm_size(comm) - 1)
    atomic_store(&o->last_has_come, true);
  while (rank < sl_cores() && !atomic_load(&o->last_has_come))
    sched_yield();
  return sum_is_right(comm);
}

static void locks_and_loops_of_the_callers_own_end(void **state) {
  (void)state;
  outside o = {.door = PTHREAD_MUTEX_INITIALIZER};
  assert_sley_ok(run(100, wait_for_a_lock, &o));
  assert_sley_ok(run(100, ask_for_the_last, &o));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(only_so_many_run_at_once),
                                     cmocka_unit_test(products_are_right),
                                     cmocka_unit_test(compared_plans_are_few_at_a_time),
                                     cmocka_unit_test(a_failure_reaches_all),
                                     cmocka_unit_test(a_rank_that_left_is_named),
                                     cmocka_unit_test(a_barrier_of_the_callers_own_ends),
                                     cmocka_unit_test(locks_and_loops_of_the_callers_own_end)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

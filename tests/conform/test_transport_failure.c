/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that every transport handles failures as promised: a failure of any rank at any time reaches all
 * ranks as an error that names the rank, without a hang, a leak or a read of freed memory. */
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "mirror.h"
#include "ranks.h"

enum { RANKS = 8, ROWS = 300, BYTES = 64, STEPS = 8, STAGES = 3 };

/* The errors that the ranks got. */
typedef struct outcome {
  sley_status status[RANKS];
  char message[RANKS][1024];
} outcome;

typedef struct failure {
  const rank_case *c;
  int rank, step; /* the rank that fails, and its step; -1: none */
  enum { OUTSIDE, BEFORE_ARRIVAL, BEFORE_END, BEFORE_RECLAIM, TRIALS } where; /* place within a round */
  sl_grain grain;
  outcome seen;
} failure;

/* Fails with an abort, because memory that peers read in place is freed next. */
static sley_status fail_inside(sl_comm *comm, int step) {
  sley_status status = sl_fail(SLEY_ERR_IO, "disk on fire at step %d", step);
  comm->ops->abort(comm, status);
  return status;
}

static sley_status step_of_work(sl_comm *comm, failure *f, int step, sl_exchange *exchange, const char *src,
                                char *dst, sl_symm *symm) {
  bool fails = comm->rank == f->rank && step == f->step;
  /* This rank frees its buffers when it fails, but the others learn of it only when its main returns. */
  if (fails && f->where == OUTSIDE)
    SL_TRY(sl_exchange_reclaim(exchange, comm->queue));
  if (fails && f->where == OUTSIDE)
    return sl_fail(SLEY_ERR_IO, "disk on fire at step %d", step);
  SL_TRY(comm->ops->exchange_begin(exchange, src, BYTES, dst, BYTES, comm->queue));
  if (fails && f->where == BEFORE_ARRIVAL)
    return fail_inside(comm, step);
  const sl_piece_words *words;
  if (fails || step % 2) /* one stage must arrive */
    SL_TRY(sl_exchange_arrive(exchange, comm->queue, &words));
  if (fails && f->where == BEFORE_END)
    return fail_inside(comm, step);
  SL_TRY(comm->ops->exchange_end(exchange, comm->queue));
  if (fails)
    return fail_inside(comm, step);
  if (sl_random(f->c->seed, (uint64_t)step, 2) % 2) /* otherwise the next begin reclaims */
    SL_TRY(sl_exchange_reclaim(exchange, comm->queue));
  int64_t value = 1;
  switch (sl_random(f->c->seed, (uint64_t)step, 1) % 4) {
  case 0:
    return comm->ops->barrier(comm);
  case 1:
    if (!symm)
      return sl_agree(comm, SLEY_OK);
    SL_TRY(sl_fetch_add(symm, step % comm->size, 0, 1, &value));
    return sl_flush_all(symm);
  case 2:
    return comm->ops->allreduce(comm, SL_SUM, &value, 1);
  default:
    return sl_agree(comm, SLEY_OK);
  }
}

/* All ranks send ROWS rows to all ranks, with lists and without. Buffers are freed as soon as the rank gets
 * an error. */
static sley_status failing_work(sl_comm *comm, failure *f) {
  int64_t rows[ROWS];
  static const int64_t piece_end[] = {ROWS / 3, ROWS / 2};
  for (int i = 0; i < ROWS; i++)
    rows[i] = ROWS - 1 - i;
  sl_row_list send[RANKS], recv[RANKS];
  for (int p = 0; p < comm->size; p++) {
    send[p] = (sl_row_list){.peer = p, .count = ROWS, .rows = p % 2 ? rows : NULL, .bytes = BYTES};
    recv[p] = (sl_row_list){.peer = p, .count = ROWS, .first = p * ROWS, .bytes = BYTES};
    recv[p].piece_end = p % 3 ? piece_end : NULL;
  }
  sl_exchange_spec spec = {.name = "all to all",
                           .sends = comm->size,
                           .recvs = comm->size,
                           .send = send,
                           .recv = recv,
                           .dtype = SLEY_F32,
                           .grain = f->grain,
                           .pieces = STAGES};
  sl_exchange *exchange = NULL;
  sl_symm *symm = NULL;
  char *src = NULL, *dst = NULL;
  mirror from = {0}, to = {0};
  sley_status status;
  SL_TRY_GOTO(status, comm->ops->exchange_create(comm, &spec, &exchange), done);
  if (test_one_sided(comm))
    SL_TRY_GOTO(status, sl_symm_alloc(comm, 64, &symm), done);
  src = sl_alloc_zero(ROWS, BYTES, "test");
  dst = sl_alloc((int64_t)comm->size * ROWS, BYTES, "test");
  SL_TRY_GOTO(status, sl_agree(comm, src && dst ? SLEY_OK : SLEY_ERR_MEMORY), done);
  memset(dst, 0, (size_t)(comm->size * ROWS * BYTES));
  SL_TRY_GOTO(status, mirror_open(comm, src, ROWS * BYTES, &from), done);
  SL_TRY_GOTO(status, mirror_open(comm, dst, (int64_t)comm->size * ROWS * BYTES, &to), done);
  for (int step = 0; step < STEPS && status == SLEY_OK; step++)
    status = step_of_work(comm, f, step, exchange, from.here, to.here, symm);
  if (status == SLEY_OK)
    status = sl_exchange_reclaim(exchange, comm->queue);
  if (status == SLEY_OK) /* otherwise nobody waits for a rank that fails after the last end */
    status = comm->ops->barrier(comm);
done:
  mirror_close(&from);
  mirror_close(&to);
  sl_free(dst);
  sl_free(src);
  sl_symm_free(symm);
  comm->ops->exchange_destroy(exchange);
  return status;
}

static sley_status failing_main(sl_comm *comm, void *arg) {
  failure *f = arg;
  sley_status status = failing_work(comm, f);
  f->seen.status[comm->rank] = status;
  snprintf(f->seen.message[comm->rank], sizeof f->seen.message[0], "%s", status ? sley_last_error() : "");
  return status;
}

static void abort_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  for (int trial = 0; trial < 2 * TRIALS; trial++) {
    uint64_t bits = sl_random(c->seed, 3, (uint64_t)trial);
    failure f = {.c = c,
                 .rank = (int)sl_below(bits, c->ranks),
                 .step = (int)(bits % STEPS),
                 .where = trial % TRIALS,
                 .grain = trial / TRIALS ? SL_GRAIN_ROW : SL_GRAIN_PEER};
    char message[128];
    assert_int_equal(run_case(c, failing_main, &f), SLEY_ERR_IO);
    char told[sizeof message];
    snprintf(told, sizeof told, "%s", sley_last_error());
    share_seen(f.seen.status, sizeof f.seen.status[0]);
    share_seen(f.seen.message, sizeof f.seen.message[0]);
    snprintf(message, sizeof message, "rank %d: disk on fire at step %d", f.rank, f.step);
    assert_string_equal(told, message);
    snprintf(message, sizeof message, "rank %d failed: disk on fire at step %d", f.rank, f.step);
    for (int r = 0; r < c->ranks; r++)
      if (r != f.rank) {
        assert_int_equal(f.seen.status[r], SLEY_ERR_PEER);
        assert_string_equal(f.seen.message[r], message);
      }
    assert_int_equal(sl_memory_now(), before);
  }
}

static void test_failure_reaches_all(void **state) {
  (void)state;
  each_case(abort_body);
}

/* A rank that returns while others wait for it is an error too. */
static sley_status leave_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  SL_TRY(comm->ops->barrier(comm));
  return comm->rank == (int)c->seed % comm->size ? SLEY_OK : comm->ops->barrier(comm);
}

static void leave_body(const rank_case *c) {
  sley_status status = run_case(c, leave_main, (void *)(uintptr_t)c);
  assert_int_equal(status, c->ranks > 1 ? SLEY_ERR_PEER : SLEY_OK);
  if (c->ranks > 1)
    assert_non_null(strstr(sley_last_error(), "has returned"));
}

static void test_rank_that_leaves(void **state) {
  (void)state;
  each_case(leave_body);
}

/* ------------------------------------------------------------------------------------------------- wrong
 * lists */

static sley_status create_ring(sl_comm *comm, sl_row_list send, sl_row_list recv, bool add,
                               sl_exchange **out) {
  int size = comm->size;
  send.peer = (comm->rank + 1) % size;
  recv.peer = (comm->rank + size - 1) % size;
  sl_exchange_spec spec = {
      .name = "ring", .sends = 1, .recvs = 1, .send = &send, .recv = &recv, .dtype = SLEY_F64};
  spec.add = add;
  return comm->ops->exchange_create(comm, &spec, out);
}

/* Rank 0 passes a wrong size for the next rank. Both get the reason; other ranks learn that a rank failed. */
static sley_status mismatch_main(sl_comm *comm, void *arg) {
  (void)arg;
  const sl_row_list right = {.count = 3, .bytes = 16};
  for (int kind = 0; kind < 3; kind++) {
    sl_row_list send = right;
    if (comm->rank == 0 && kind == 0)
      send.count = 2;
    if (comm->rank == 0 && kind == 1)
      send.bytes = 8;
    sl_exchange *exchange;
    sley_status status = create_ring(comm, send, right, comm->rank == 0 && kind == 2, &exchange);
    /* With another operator, rank 0 disagrees with both its peers. */
    bool concerned = comm->rank < 2 || (kind == 2 && comm->rank == comm->size - 1);
    EXPECT(status == (concerned ? SLEY_ERR_ARG : SLEY_ERR_PEER) && !exchange);
    EXPECT(strstr(sley_last_error(), "exchange ring") != NULL);
  }
  /* A list that the peer does not have. */
  sl_row_list to_next = {.peer = (comm->rank + 1) % comm->size, .count = 1, .bytes = 4};
  sl_exchange_spec spec = {.name = "alone", .sends = comm->rank == 0, .send = &to_next, .dtype = SLEY_F32};
  sl_exchange *exchange;
  sley_status status = comm->ops->exchange_create(comm, &spec, &exchange);
  EXPECT(status == (comm->rank < 2 ? SLEY_ERR_ARG : SLEY_ERR_PEER));
  EXPECT(strstr(sley_last_error(), "rank 0 sends to rank 1") != NULL);
  /* The comm stays usable. */
  SL_TRY(create_ring(comm, right, right, false, &exchange));
  comm->ops->exchange_destroy(exchange);
  return SLEY_OK;
}

static void mismatch_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  if (c->ranks > 1)
    assert_case_ok(c, run_case(c, mismatch_main, NULL));
  assert_int_equal(sl_memory_now(), before);
}

static void test_lists_that_do_not_match(void **state) {
  (void)state;
  each_case(mismatch_body);
}

/* A list that all threads check, with one wrong entry. */
static int64_t long_list[200000];
enum { LONG_LIST = sizeof long_list / sizeof *long_list, WRONG_ENTRY = 150001 };

/* Lists that are wrong by themselves, on every rank. */
static sley_status invalid_main(sl_comm *comm, void *arg) {
  (void)arg;
  static const int64_t negative[] = {0, -1};
  const sl_row_list wrong[] = {
      {.peer = -1, .count = 1, .bytes = 4},
      {.peer = comm->size, .count = 1, .bytes = 4},
      {.peer = 0, .count = -1, .bytes = 4},
      {.peer = 0, .count = 1, .bytes = -4},
      {.peer = 0, .count = 1, .offset = -8, .bytes = 4},
      {.peer = 0, .count = 1, .first = -1, .bytes = 4},
      {.peer = 0, .count = 2, .rows = negative, .bytes = 4},
      {.peer = 0, .count = LONG_LIST, .rows = long_list, .bytes = 4},
      {.peer = 0, .count = INT64_MAX / 2, .bytes = 4},
      {.peer = 0, .count = 1, .bytes = INT64_MAX},
      {.peer = 0, .count = 1, .bytes = 3}, /* not a whole number of values */
  };
  sl_exchange *exchange;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    sl_exchange_spec spec = {.name = "wrong", .sends = 1, .send = &wrong[i], .add = true, .dtype = SLEY_F32};
    EXPECT(comm->ops->exchange_create(comm, &spec, &exchange) == SLEY_ERR_ARG && !exchange);
  }
  static const int64_t ends[][2] = {{2, 1}, {0, 4}, {-1, 2}};
  for (size_t i = 0; i < 5; i++) { /* stages out of order, too many stages, or stages with add */
    sl_row_list list = {.peer = 0, .count = 3, .bytes = 4, .piece_end = i < 3 ? ends[i] : NULL};
    sl_exchange_spec spec = {.name = "stages", .recvs = 1, .recv = &list, .dtype = SLEY_F32, .pieces = 3};
    spec.pieces = i == 3 ? SL_PIECES_MOST + 1 : 3;
    spec.add = i == 4;
    EXPECT(comm->ops->exchange_create(comm, &spec, &exchange) == SLEY_ERR_ARG && !exchange);
  }
  sl_row_list twice[] = {{.peer = 0}, {.peer = 0}};
  sl_exchange_spec spec = {.name = "twice", .sends = 2, .send = twice, .dtype = SLEY_F32};
  EXPECT(comm->ops->exchange_create(comm, &spec, &exchange) == SLEY_ERR_ARG);
  EXPECT(comm->size == 1 || strstr(sley_last_error(), "ascending peers, not 0 after 0"));
  return SLEY_OK;
}

static void invalid_body(const rank_case *c) {
  long_list[WRONG_ENTRY] = -5;
  assert_case_ok(c, run_case(c, invalid_main, NULL));
}

static void test_invalid_lists(void **state) {
  (void)state;
  each_case(invalid_body);
}

static sley_status twice_main(sl_comm *comm, void *arg) {
  const bool *begin_twice = arg;
  const sl_row_list one = {.count = 1, .bytes = 8};
  double rows[2] = {1, 0};
  sl_exchange *exchange;
  mirror there;
  SL_TRY(create_ring(comm, one, one, false, &exchange));
  sley_status status = mirror_open(comm, rows, sizeof rows, &there);
  double *src = there.here, *dst = src + 1;
  for (int i = 0; i <= *begin_twice && status == SLEY_OK; i++)
    status = comm->ops->exchange_begin(exchange, src, 8, dst, 8, comm->queue);
  for (int i = *begin_twice; i < 2 && status == SLEY_OK; i++)
    status = comm->ops->exchange_end(exchange, comm->queue);
  comm->ops->exchange_destroy(exchange);
  mirror_close(&there);
  return status;
}

static void twice_body(const rank_case *c) {
  for (int begin_twice = 0; begin_twice < 2; begin_twice++) {
    bool flag = begin_twice;
    assert_int_equal(run_case(c, twice_main, &flag), SLEY_ERR_ARG);
    assert_non_null(strstr(sley_last_error(), begin_twice ? "begun again" : "was not begun"));
  }
}

static void test_rounds_out_of_order(void **state) {
  (void)state;
  each_case(twice_body);
}

/* --------------------------------------------------------------------------------------------- memory,
 * interrupt */

static void allocation_body(const rank_case *c) {
  if (c->ranks > (strcmp(c->transport, "threads") == 0 ? 4 : 2)) /* processes take longer to start */
    return;
  int64_t before = sl_memory_now();
  failure f = {.c = c, .rank = -1};
  sl_memory_fail_at(0);
  assert_case_ok(c, run_case(c, failing_main, &f));
  int64_t allocations = most_seen(sl_memory_count());
  for (int64_t n = 1 + (int64_t)test_first((uint64_t)allocations); n <= allocations;
       n += (int64_t)test_share()) {
    sl_memory_fail_at(n);
    sley_status status = run_case(c, failing_main, &f);
    if (status != SLEY_ERR_MEMORY && status != SLEY_OK)
      fail_msg("allocation %lld: %s: %s", (long long)n, sley_status_name(status), sley_last_error());
    assert_int_equal(sl_memory_now(), before);
  }
  sl_memory_fail_at(0);
}

static void test_every_allocation_fails_once(void **state) {
  (void)state;
  each_case(allocation_body);
}

/* Rank 0 requests an interrupt and continues; the others wait for it in vain. */
static sley_status interrupted_main(sl_comm *comm, void *arg) {
  (void)arg;
  SL_TRY(comm->ops->barrier(comm));
  if (comm->rank == 0) {
    usleep(2000);
    sley_interrupt();
    usleep(100 * 1000);
  }
  return comm->ops->barrier(comm);
}

/* Runs in a process of its own, because an interrupt ends every call of its process. */
static void interrupt_body(const rank_case *c) {
  if (c->ranks != 4 || test_launched() || !test_on_cpu()) /* a forked process cannot use its parent's GPUs */
    return;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(20);
    _exit(run_case(c, interrupted_main, NULL));
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), SLEY_ERR_INTERRUPTED);
}

static void test_interrupt(void **state) {
  (void)state;
  each_case(interrupt_body);
}

/* After all failures, ranks work as before. */
static void well_body(const rank_case *c) {
  failure f = {.c = c, .rank = -1};
  assert_case_ok(c, run_case(c, failing_main, &f));
}

static void test_all_is_well_afterwards(void **state) {
  (void)state;
  each_case(well_body);
}

static sley_status never_main(sl_comm *comm, void *arg) {
  (void)comm;
  *(bool *)arg = true;
  return SLEY_OK;
}

static void test_launch_refused(void **state) {
  (void)state;
  bool ran = false;
  const rank_case wrong[] = {{"threads", false, 0, 1, 1, 0},  {"threads", false, 2, 0, 1, 0},
                             {"threads", false, 2, 3, 1, 0},  {"threads", false, 2, 1, 0, 0},
                             {"threads", false, -5, 1, 1, 0}, {"threads", false, 1 << 30, 1, 1, 0}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_int_equal(run_case(&wrong[i], never_main, &ran), SLEY_ERR_ARG);
  assert_false(ran);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_failure_reaches_all),
      cmocka_unit_test(test_rank_that_leaves),
      cmocka_unit_test(test_lists_that_do_not_match),
      cmocka_unit_test(test_invalid_lists),
      cmocka_unit_test(test_rounds_out_of_order),
      cmocka_unit_test(test_every_allocation_fails_once),
      cmocka_unit_test(test_interrupt),
      cmocka_unit_test(test_launch_refused),
      cmocka_unit_test(test_all_is_well_afterwards),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

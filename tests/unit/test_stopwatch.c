/* SPDX-License-Identifier: Apache-2.0 */
/* Times by kinds of work: what nested marks count to, that all together are the whole, and failing waits. */
#include "transport/stopwatch.h"

#include "base/clock.h"
#include "support.h"

static int waits, fails_at; /* fails_at: the wait that fails, from 1 on; 0: none */

static sley_status counted_wait(sl_comm *comm) {
  (void)comm;
  return ++waits == fails_at ? sl_fail(SLEY_ERR_PEER, "rank 1 has failed") : SLEY_OK;
}

static const sl_transport_ops ops = {.wait = counted_wait};

static sl_comm comm_of_test(int failing) {
  waits = 0;
  fails_at = failing;
  return (sl_comm){.ops = &ops, .size = 1};
}

/* Until the clock has moved on. */
static void work(void) {
  const double begin = sl_now();
  while (sl_now() <= begin)
    ;
}

static double sum_of(const sl_stopwatch *watch) {
  double sum = 0;
  for (int d = 0; d < SL_DIRECTIONS; d++)
    for (int w = 0; w < SL_WORKS; w++)
      sum += watch->seconds[d][w];
  return sum;
}

static void test_without_one(void **state) {
  (void)state;
  sl_comm comm = comm_of_test(0);
  const sl_work before = sl_work_begin(&comm, SL_WORK_GEMM);
  assert_int_equal(sl_work_end(&comm, before, SLEY_ERR_IO), SLEY_ERR_IO);
  assert_int_equal(sl_work_end(&comm, before, SLEY_OK), SLEY_OK);
  sl_stopwatch_turn(&comm, SL_BACKWARD);
  assert_int_equal(sl_stopwatch_stop(&comm, SLEY_OK), SLEY_OK);
  assert_int_equal(waits, 0);
}

static void test_all_is_counted_once(void **state) {
  (void)state;
  sl_comm comm = comm_of_test(0);
  sl_stopwatch watch;
  const double begin = sl_now();
  assert_sley_ok(sl_stopwatch_start(&comm, &watch));
  for (int w = SL_WORK_EXCHANGE; w < SL_WORKS; w++) {
    if (w == SL_WORK_LOSS)
      sl_stopwatch_turn(&comm, SL_BACKWARD);
    const sl_work before = sl_work_begin(&comm, (sl_work)w);
    assert_int_equal(before, SL_WORK_OTHER);
    work();
    assert_sley_ok(sl_work_end(&comm, before, SLEY_OK));
    work();
  }
  assert_sley_ok(sl_stopwatch_stop(&comm, SLEY_OK));
  const double end = sl_now();
  assert_null(comm.watch);
  for (int w = SL_WORK_EXCHANGE; w < SL_WORKS; w++) {
    assert_true((watch.seconds[SL_FORWARD][w] > 0) == (w < SL_WORK_LOSS));
    assert_true((watch.seconds[SL_BACKWARD][w] > 0) == (w >= SL_WORK_LOSS));
  }
  assert_true(watch.seconds[SL_FORWARD][SL_WORK_OTHER] > 0 && watch.seconds[SL_BACKWARD][SL_WORK_OTHER] > 0);
  assert_true(sum_of(&watch) <= (end - begin) * (1 + 1e-9));
}

/* An exchange within a product is an exchange; a product within an optimizer is the optimizer's. */
static void test_nested(void **state) {
  (void)state;
  sl_comm comm = comm_of_test(0);
  sl_stopwatch watch;
  assert_sley_ok(sl_stopwatch_start(&comm, &watch));
  const sl_work outer = sl_work_begin(&comm, SL_WORK_OPTIMIZER);
  const int outside = waits;
  const sl_work inner = sl_work_begin(&comm, SL_WORK_GEMM);
  work();
  assert_sley_ok(sl_work_end(&comm, inner, SLEY_OK));
  assert_int_equal(waits, outside); /* nothing changed: nobody waited */
  const sl_work exchange = sl_work_begin(&comm, SL_WORK_EXCHANGE);
  const sl_work within = sl_work_begin(&comm, SL_WORK_EXCHANGE);
  work();
  assert_sley_ok(sl_work_end(&comm, within, SLEY_OK));
  assert_int_equal(watch.work, SL_WORK_EXCHANGE);
  assert_sley_ok(sl_work_end(&comm, exchange, SLEY_OK));
  assert_int_equal(watch.work, SL_WORK_OPTIMIZER);
  assert_sley_ok(sl_work_end(&comm, outer, SLEY_OK));
  assert_int_equal(watch.work, SL_WORK_OTHER);
  assert_sley_ok(sl_stopwatch_stop(&comm, SLEY_OK));
  assert_true(watch.seconds[SL_FORWARD][SL_WORK_GEMM] == 0);
  assert_true(watch.seconds[SL_FORWARD][SL_WORK_OPTIMIZER] > 0);
  assert_true(watch.seconds[SL_FORWARD][SL_WORK_EXCHANGE] > 0);
}

/* Wherever a wait fails, its error comes out, and the stopwatch is off the comm in the end. */
static void test_failing_waits(void **state) {
  (void)state;
  for (int failing = 1; failing <= 4; failing++) {
    sl_comm comm = comm_of_test(failing);
    sl_stopwatch watch;
    sley_status status = sl_stopwatch_start(&comm, &watch);
    assert_int_equal(status, failing == 1 ? SLEY_ERR_PEER : SLEY_OK);
    if (status == SLEY_OK) {
      const sl_work before = sl_work_begin(&comm, SL_WORK_SPMM);
      status = sl_work_end(&comm, before, SLEY_OK);
      assert_int_equal(status, failing <= 3 ? SLEY_ERR_PEER : SLEY_OK);
      status = sl_stopwatch_stop(&comm, status);
      assert_int_equal(status, SLEY_ERR_PEER);
    }
    assert_null(comm.watch);
    assert_int_equal(waits, failing); /* none after the one that failed */
    assert_string_equal(sley_last_error(), "rank 1 has failed");
  }
}

/* The work's own error counts, and needs no wait. */
static void test_failing_work(void **state) {
  (void)state;
  sl_comm comm = comm_of_test(0);
  sl_stopwatch watch;
  assert_sley_ok(sl_stopwatch_start(&comm, &watch));
  const sl_work before = sl_work_begin(&comm, SL_WORK_SPMM);
  const int outside = waits;
  sley_status status = sl_work_end(&comm, before, SLEY_ERR_MEMORY);
  assert_int_equal(sl_stopwatch_stop(&comm, status), SLEY_ERR_MEMORY);
  assert_int_equal(waits, outside);
  assert_null(comm.watch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_without_one),  cmocka_unit_test(test_all_is_counted_once),
      cmocka_unit_test(test_nested),       cmocka_unit_test(test_failing_waits),
      cmocka_unit_test(test_failing_work),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

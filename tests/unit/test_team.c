/* SPDX-License-Identifier: Apache-2.0 */
/* Teams: every thread runs each body once, loops cover their range, the lowest failing thread's message
 * arrives, and waiting works both for those who poll and for those who have gone to sleep. */
#define _GNU_SOURCE /* for sched_getcpu and sets of processors */
#include "support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/memory.h"
#include "base/team.h"

enum { MOST = 9 };

static sley_status count_thread(void *context, int thread, int threads) {
  _Atomic int *runs = context;
  if (thread >= threads)
    return SLEY_ERR_INTERNAL;
  atomic_fetch_add(&runs[thread], 1);
  return SLEY_OK;
}

static void pause_for(long microseconds) {
  nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000}, NULL);
}

static void test_each_thread_runs_once_a_round(void **state) {
  (void)state;
  for (int threads = 1; threads <= MOST; threads += 2) {
    sl_team *team;
    assert_sley_ok(sl_team_create(threads, &team));
    assert_int_equal(sl_team_size(team), threads);
    _Atomic int runs[MOST] = {0};
    enum { ROUNDS = 300 };
    for (int round = 0; round < ROUNDS; round++) {
      assert_sley_ok(sl_team_run(team, count_thread, runs));
      if (round % 50 == 0)
        pause_for(1000); /* the workers go to sleep */
    }
    for (int t = 0; t < MOST; t++)
      assert_int_equal(runs[t], t < threads ? ROUNDS : 0);
    sl_team_destroy(team);
  }
  assert_int_equal(sl_team_size(NULL), 1);
  sl_team_destroy(NULL);
}

static sley_status slow_worker(void *context, int thread, int threads) {
  (void)threads;
  if (thread > 0)
    pause_for(1500);
  atomic_fetch_add((_Atomic int *)context, 1);
  return SLEY_OK;
}

static void test_the_caller_waits_for_a_slow_worker(void **state) {
  (void)state;
  sl_team *team;
  assert_sley_ok(sl_team_create(3, &team));
  _Atomic int done = 0;
  for (int round = 1; round <= 10; round++) {
    assert_sley_ok(sl_team_run(team, slow_worker, &done));
    assert_int_equal(done, 3 * round);
  }
  sl_team_destroy(team);
}

static sley_status mark_range(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  for (int64_t i = begin; i < end; i++)
    ((unsigned char *)context)[i]++;
  return SLEY_OK;
}

/* A loop in which a worker stays in a piece. */
typedef struct held {
  _Atomic bool held;    /* a worker is inside a piece */
  _Atomic bool release; /* it may end */
  _Atomic int done, on_caller;
  pthread_t caller;
} held;

/* The first worker that comes stays in its piece until the caller has done all others. */
static sley_status hold(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  held *h = context;
  assert_int_equal(end, begin + 1);
  if (pthread_equal(pthread_self(), h->caller))
    atomic_fetch_add(&h->on_caller, 1);
  else if (!atomic_exchange(&h->held, true))
    while (!atomic_load(&h->release))
      pause_for(100);
  if (atomic_fetch_add(&h->done, 1) + 2 >= 32)
    atomic_store(&h->release, true);
  return SLEY_OK;
}

static void test_others_take_the_pieces_of_a_held_thread(void **state) {
  (void)state;
  sl_team *team;
  assert_sley_ok(sl_team_create(2, &team));
  for (int round = 0; round < 50; round++) {
    held h = {.caller = pthread_self()};
    assert_sley_ok(sl_team_for(team, 32, 1, hold, &h));
    assert_int_equal(h.done, 32);
    assert_true(h.on_caller >= 31 || !h.held);
    if (round % 10 == 0)
      pause_for(1000);
  }
  sl_team_destroy(team);
}

/* Loops whose caller finishes at once and begins the next while workers that were woken still come. */
static void test_late_workers_find_nothing_to_do(void **state) {
  (void)state;
  enum { COUNT = 16, LOOPS = 3000 };
  for (int threads = 2; threads <= 40; threads += 19) { /* one gate, and several */
    sl_team *team;
    assert_sley_ok(sl_team_create(threads, &team));
    for (int round = 0; round < LOOPS; round++) {
      unsigned char marks[COUNT] = {0};
      assert_sley_ok(round % 2 ? sl_team_for(team, COUNT, 1, mark_range, marks)
                               : sl_team_for_brief(team, COUNT, mark_range, marks));
      for (int i = 0; i < COUNT; i++)
        assert_int_equal(marks[i], 1);
      if (round % 100 == 0)
        pause_for(300);
    }
    _Atomic int runs[40] = {0};
    assert_sley_ok(sl_team_run(team, count_thread, runs));
    for (int t = 0; t < threads; t++)
      assert_int_equal(runs[t], 1);
    sl_team_destroy(team);
  }
}

/* With all threads bound to one core, no more than one can run at a time. */
static void test_a_team_on_one_core(void **state) {
  (void)state;
  cpu_set_t before, one;
  if (sched_getaffinity(0, sizeof before, &before) != 0)
    skip();
  CPU_ZERO(&one);
  CPU_SET((size_t)sched_getcpu(), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0)
    skip();
  sl_team *team; /* its threads have the caller's binding */
  assert_sley_ok(sl_team_create(2, &team));
  for (int round = 0; round < 300; round++) {
    unsigned char marks[64] = {0};
    assert_sley_ok(sl_team_for(team, 64, 2, mark_range, marks));
    for (int i = 0; i < 64; i++)
      assert_int_equal(marks[i], 1);
    if (round % 20 == 0)
      pause_for(500);
  }
  sl_team_destroy(team);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void test_a_loop_covers_its_range_once(void **state) {
  (void)state;
  sl_team *team;
  assert_sley_ok(sl_team_create(4, &team));
  const int64_t counts[] = {0, 1, 7, 1000}, grains[] = {0, 1, 3, 1000, 5000};
  for (size_t c = 0; c < 4; c++)
    for (size_t g = 0; g < 5; g++) {
      unsigned char marks[1001] = {0};
      assert_sley_ok(sl_team_for(team, counts[c], grains[g], mark_range, marks));
      for (int64_t i = 0; i < 1001; i++)
        assert_int_equal(marks[i], i < counts[c]);
    }
  sl_team_destroy(team);
}

static sley_status fail_from_second(void *context, int thread, int threads) {
  (void)context;
  (void)threads;
  return thread >= 1 ? sl_fail(SLEY_ERR_INPUT, "thread %d failed", thread) : SLEY_OK;
}

static void test_the_lowest_failure_is_reported(void **state) {
  (void)state;
  sl_team *team;
  assert_sley_ok(sl_team_create(5, &team));
  for (int round = 0; round < 50; round++) {
    assert_int_equal(sl_team_run(team, fail_from_second, NULL), SLEY_ERR_INPUT);
    assert_string_equal(sley_last_error(), "thread 1 failed");
  }
  _Atomic int runs[MOST] = {0};
  assert_sley_ok(sl_team_run(team, count_thread, runs));
  sl_team_destroy(team);
}

/* Blocks of one thread and of all, at any address. */
static void test_blocks_are_copied(void **state) {
  (void)state;
  static const int64_t bytes[] = {0, 1, 4095, (1 << 20) - 1, 1 << 20, (3 << 20) + 77};
  enum { MOST_BYTES = (3 << 20) + 77 };
  unsigned char *from = malloc(MOST_BYTES + 1), *to = malloc(MOST_BYTES + 2);
  assert_true(from && to);
  for (int64_t i = 0; i < MOST_BYTES + 1; i++)
    from[i] = (unsigned char)(i * 11 + i / 251);
  for (int threads = 0; threads <= 4; threads += 2) {
    sl_team *team = NULL;
    if (threads > 0)
      assert_sley_ok(sl_team_create(threads, &team));
    for (size_t b = 0; b < sizeof bytes / sizeof *bytes; b++) {
      memset(to, 0, MOST_BYTES + 2);
      sl_team_copy(team, to + 1, from, bytes[b]);
      assert_memory_equal(to + 1, from, (size_t)bytes[b]);
      assert_true(to[0] == 0 && to[bytes[b] + 1] == 0);
    }
    sl_team_destroy(team);
  }
  free(to);
  free(from);
}

static void test_sums_are_the_same_on_any_team(void **state) {
  (void)state;
  enum { COUNT = 700001 };
  int64_t *sum = malloc(COUNT * sizeof *sum), *wanted = malloc(COUNT * sizeof *wanted);
  const int64_t counts[] = {0, 1, 5000, (1 << 18) + 1, COUNT};
  for (int threads = 1; threads <= MOST; threads += 2) {
    sl_team *team;
    assert_sley_ok(sl_team_create(threads, &team));
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      for (int64_t i = 0, all = 0; i < COUNT; i++) {
        sum[i] = i * 7919 % 1009;
        wanted[i] = i < counts[c] ? all += sum[i] : sum[i];
      }
      sl_team_sum_up(team, sum, counts[c]);
      assert_memory_equal(sum, wanted, COUNT * sizeof *sum);
    }
    sl_team_destroy(team);
  }
  free(wanted);
  free(sum);
}

/* What a watcher has seen. */
typedef struct seen {
  int calls;
  double least, most;
  const char *work;
} seen;

static void see(void *context, const char *work, double share) {
  seen *s = context;
  s->calls++;
  s->work = work;
  s->least = share < s->least ? share : s->least;
  s->most = share > s->most ? share : s->most;
}

static void test_work_is_watched(void **state) {
  (void)state;
  unsigned char marks[1000] = {0};
  for (int threads = 1; threads <= 4; threads += 3) {
    sl_team *team;
    seen s = {.least = 2};
    assert_sley_ok(sl_team_create(threads, &team));
    sley_watch(see, &s);
    assert_sley_ok(sl_team_for(team, 1000, 10, mark_range, marks)); /* it has no name */
    assert_int_equal(s.calls, 0);
    sl_team_begin_work(team, "counting", 2);
    assert_true(s.calls == 1 && s.most == 0);
    assert_sley_ok(sl_team_for(team, 1000, 10, mark_range, marks));
    if (threads == 1) /* with more threads, those that report at once are left out */
      assert_true(s.calls == 101 && s.most == 0.5);
    assert_true(s.calls > 1 && s.most > 0 && s.most <= 0.5 && s.least == 0);
    assert_string_equal(s.work, "counting");
    for (int loop = 0; loop < 3; loop++) /* more loops than announced */
      assert_sley_ok(sl_team_for(team, 1000, 10, mark_range, marks));
    assert_true(s.most > 0.5 && s.most <= 1);
    int calls = s.calls;
    sl_team_begin_work(team, NULL, 0);
    assert_sley_ok(sl_team_for(team, 1000, 10, mark_range, marks));
    sl_team_begin_work(team, "counting", 1);
    assert_int_equal(s.calls, calls + 1);
    sley_watch(NULL, NULL);
    assert_sley_ok(sl_team_for(team, 1000, 10, mark_range, marks));
    assert_int_equal(s.calls, calls + 1);
    sl_team_destroy(team);
  }
}

static void test_creation_without_memory(void **state) {
  (void)state;
  int64_t before = sl_memory_now();
  sl_team *team;
  for (int nth = 1; nth <= 2; nth++) {
    sl_memory_fail_at(nth);
    assert_int_equal(sl_team_create(3, &team), SLEY_ERR_MEMORY);
    assert_null(team);
  }
  sl_memory_fail_at(0);
  assert_int_equal(sl_team_create(-1, &team), SLEY_ERR_ARG);
  assert_int_equal(sl_memory_now(), before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_thread_runs_once_a_round),
      cmocka_unit_test(test_the_caller_waits_for_a_slow_worker),
      cmocka_unit_test(test_a_loop_covers_its_range_once),
      cmocka_unit_test(test_others_take_the_pieces_of_a_held_thread),
      cmocka_unit_test(test_late_workers_find_nothing_to_do),
      cmocka_unit_test(test_a_team_on_one_core),
      cmocka_unit_test(test_the_lowest_failure_is_reported),
      cmocka_unit_test(test_blocks_are_copied),
      cmocka_unit_test(test_sums_are_the_same_on_any_team),
      cmocka_unit_test(test_work_is_watched),
      cmocka_unit_test(test_creation_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

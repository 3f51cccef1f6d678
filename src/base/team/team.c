/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a team: how they begin, wait, sleep and end. Loops are in team_loops.c. */
#include <math.h>

#include "base/clock.h"
#include "base/cores.h"
#include "base/memory.h"
#include "base/team/team_inside.h"

/* Waking a sleeping thread costs tens of microseconds, so a waiting thread first polls for this time. */
const double sl_team_poll_seconds = 200e-6;

/* The caller's time of polling while other threads use the workers' cores. The core of a caller that sleeps
 * is free for a worker that has lost its own. */
static const double crowded_poll_seconds = 20e-6;

/* A thread that has not run for this time, although it was ready, has shared its core. */
static const double gap_seconds = 500e-6;

/* Time for which workers do not poll after such a gap, in gaps. It doubles from gap to gap up to the longest
 * time, unless a gap comes late after the one before. */
static const double crowded_gaps = 10, longest_crowded_seconds = 1;

/* After a delay, the caller works alone for as many times the delay, so that delays take at most a tenth of
 * its time. */
static const double alone_delays = 10;

/* Time for which the caller works alone after a worker could run only on the caller's core. */
static const double same_core_seconds = 0.1;

/* Seconds of the first wake-up, before one was measured, and the most that a measurement counts: the threads
 * lost their cores if it took longer. */
static const double first_wake_call = 10e-6, first_latency = 30e-6, most_wake_up = 60e-6;

/* Threads of all teams. Polling is useful only while each thread has a core; otherwise it would take time
 * from other threads. */
static _Atomic int threads_of_all_teams;

int sl_cores(void) {
  return sl_processors_here()->cores;
}

/* Tells the processor that this loop only waits. */
static inline void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

int sl_team_size(const sl_team *team) {
  return team ? team->threads : 1;
}

/* Keeps the failure of the lowest thread, so that the reported error does not depend on timing. */
void sl_team_note(sl_team *team, int thread, sley_status status) {
  if (status == SLEY_OK)
    return;
  pthread_mutex_lock(&team->lock);
  if (team->failed_thread < 0 || thread < team->failed_thread) {
    team->failed_thread = thread;
    sl_error_take(status, &team->failure);
  }
  pthread_mutex_unlock(&team->lock);
}

/* ---- delays */

/* Notes that a worker that was ready did not run for that long. */
static void note_gap(sl_team *team, double now, double gap) {
  const double before = atomic_load_explicit(&team->crowded_for, memory_order_relaxed);
  double pause = crowded_gaps * gap;
  if (now < atomic_load_explicit(&team->crowded_until, memory_order_relaxed) + before && pause < 2 * before)
    pause = 2 * before;
  pause = pause < longest_crowded_seconds ? pause : longest_crowded_seconds;
  atomic_store_explicit(&team->crowded_for, pause, memory_order_relaxed);
  atomic_store_explicit(&team->crowded_until, now + pause, memory_order_relaxed);
}

/* For so many seconds the caller runs loops alone that are shorter than too_short. */
static void leave_alone(sl_team *team, double now, double seconds, double too_short) {
  atomic_store_explicit(&team->too_short, too_short, memory_order_relaxed);
  atomic_store_explicit(&team->alone_until, now + seconds, memory_order_relaxed);
}

/* Notes that the caller has waited so long for a piece. */
static void note_delay(sl_team *team, double now, double delay) {
  if (sl_team_is_crowded(team, now))
    leave_alone(team, now, alone_delays * delay, delay);
  note_gap(team, now, delay);
}

void sl_team_note_absence(sl_team *team, double now, double seconds) {
  note_gap(team, now, seconds > gap_seconds ? seconds : gap_seconds);
}

/* ---- gates */

static sl_team_gate *gate_of(const sl_team *team, int thread, uint32_t *bit) {
  *bit = UINT32_C(1) << (thread % SL_GATE_THREADS);
  return &team->gates[thread / SL_GATE_THREADS];
}

static int gates_of(int threads) {
  return (threads + SL_GATE_THREADS - 1) / SL_GATE_THREADS;
}

void sl_team_open(sl_team *team, sl_team_body body, void *context) {
  team->body = body;
  team->context = context;
  team->taken = 0;
  atomic_store_explicit(&team->caller_core, sl_core_now(), memory_order_relaxed);
  atomic_store_explicit(&team->finished, 0, memory_order_relaxed);
  atomic_store_explicit(&team->awaited, -1, memory_order_relaxed);
  for (int g = 0; g < gates_of(team->threads); g++) {
    const int threads = team->threads - g * SL_GATE_THREADS;
    const uint32_t all =
        threads < SL_GATE_THREADS ? (UINT32_C(1) << threads) - 1 : (UINT32_C(1) << SL_GATE_THREADS) - 1;
    atomic_exchange(&team->gates[g].open, g == 0 ? all & ~UINT32_C(1) : all);
  }
}

/* Lowers a thread's flag. Returns whether it was raised. */
static bool begin_part(const sl_team *team, int thread) {
  uint32_t bit;
  sl_team_gate *gate = gate_of(team, thread, &bit);
  return atomic_load_explicit(&gate->open, memory_order_relaxed) & bit &&
         atomic_fetch_and(&gate->open, ~bit) & bit;
}

static bool take_part(sl_team *team, int thread) {
  const bool took = begin_part(team, thread);
  team->taken += took;
  return took;
}

static bool is_finished(const void *context) {
  const sl_team *team = context;
  return atomic_load(&team->finished) == atomic_load(&team->awaited);
}

static bool has_work(const void *context) {
  const sl_team_worker *self = context;
  uint32_t bit;
  return atomic_load(&gate_of(self->team, self->index, &bit)->open) & bit || atomic_load(&self->team->stop);
}

/* Polls for that long until the condition holds. Returns false if it did not; *gap is then the longest time
 * for which this thread did not run. */
static bool poll_until(bool (*holds)(const void *), const void *context, double seconds, double *gap) {
  double now = sl_now(), before = now;
  const double end = now + seconds;
  *gap = 0;
  do {
    for (int i = 0; i < 32; i++) {
      if (holds(context))
        return true;
      relax();
    }
    before = now;
    now = sl_now();
    *gap = now - before > *gap ? now - before : *gap;
  } while (now < end);
  return holds(context);
}

static bool may_poll(void) {
  return atomic_load_explicit(&threads_of_all_teams, memory_order_relaxed) <= sl_cores();
}

int sl_team_close(sl_team *team, double patience) {
  int begun = team->threads - 1 - team->taken;
  double gap;
  for (int g = 0; g < gates_of(team->threads); g++)
    begun -= __builtin_popcount(atomic_exchange(&team->gates[g].open, 0));
  atomic_exchange(&team->awaited, begun);
  if (is_finished(team))
    return begun;
  const double start = sl_now();
  const bool crowded = sl_team_is_crowded(team, start);
  if (!may_poll() ||
      !poll_until(is_finished, team, crowded ? crowded_poll_seconds : sl_team_poll_seconds, &gap))
    while (!is_finished(team))
      sl_sleep(&team->caller, is_finished, team);
  const double end = sl_now();
  if (end - start > patience + gap_seconds)
    note_delay(team, end, end - start);
  return begun;
}

/* ---- sleep */

/* Wakes one worker, if there are still some to wake. */
static bool wake_next(sl_team *team) {
  int next;
  if (atomic_fetch_sub(&team->to_wake, 1) <= 0)
    return false;
  atomic_store_explicit(&team->woken_at, sl_now(), memory_order_relaxed);
  while ((next = atomic_fetch_add(&team->next_to_wake, 1)) < team->threads)
    if (sl_wake(&team->workers[next - 1].sleeper))
      return true;
  return false;
}

/* The caller wakes two, and each of them wakes two more. */
void sl_team_wake(sl_team *team, int most) {
  const double start = sl_now();
  atomic_store(&team->next_to_wake, 1);
  atomic_store(&team->to_wake, most);
  if (!wake_next(team))
    return;
  const double took = sl_now() - start;
  team->wake_call += ((took < most_wake_up ? took : most_wake_up) - team->wake_call) / 8;
  (void)wake_next(team);
}

/* What a worker does that has been woken. */
static void note_wake_up(sl_team *team) {
  const double now = sl_now(), took = now - atomic_load_explicit(&team->woken_at, memory_order_relaxed);
  const double mean = atomic_load_explicit(&team->latency, memory_order_relaxed),
               short_time = took < most_wake_up ? took : most_wake_up;
  atomic_store_explicit(&team->latency, mean + (short_time - mean) / 8, memory_order_relaxed);
  if (took > gap_seconds)
    note_gap(team, now, took);
  if (wake_next(team))
    (void)wake_next(team);
}

/* Moves a worker to another core if it is on the caller's, where only one of them can run. Returns false if
 * it has no other. */
static bool leave_the_caller(sl_team_worker *self) {
  sl_team *team = self->team;
  const int core = atomic_load_explicit(&team->caller_core, memory_order_relaxed);
  if (core < 0 || core != sl_core_now() || sl_leave_core(&self->kept, core))
    return true;
  leave_alone(team, sl_now(), same_core_seconds, INFINITY);
  return false;
}

/* Returns with work or with an order to stop. */
static void wait_for_work(sl_team_worker *self) {
  sl_team *team = self->team;
  double gap;
  while (!has_work(self)) {
    if (may_poll() && !sl_team_is_crowded(team, sl_now()) && leave_the_caller(self)) {
      if (poll_until(has_work, self, sl_team_poll_seconds, &gap))
        return;
      if (gap > gap_seconds)
        note_gap(team, sl_now(), gap);
    }
    atomic_fetch_add(&team->sleepers, 1);
    const bool slept = sl_sleep(&self->sleeper, has_work, self);
    atomic_fetch_sub(&team->sleepers, 1);
    if (slept && !atomic_load(&team->stop)) {
      note_wake_up(team);
      (void)leave_the_caller(self);
    }
  }
}

static void *work_loop(void *argument) {
  sl_team_worker *self = argument;
  sl_team *team = self->team;
  for (;;) {
    wait_for_work(self);
    if (atomic_load(&team->stop))
      return NULL;
    if (!begin_part(team, self->index))
      continue;
    sl_team_note(team, self->index, team->body(team->context, self->index, team->threads));
    if (atomic_fetch_add(&team->finished, 1) + 1 == atomic_load(&team->awaited))
      (void)sl_wake(&team->caller);
  }
}

/* ---- creation */

static void release(sl_team *team) {
  atomic_fetch_sub(&threads_of_all_teams, team->threads);
  sl_free(team->workers);
  sl_free(team->shares);
  sl_free(team->gates);
  sl_free(team);
}

static sley_status start_workers(sl_team *team) {
  for (int i = 0; i + 1 < team->threads; i++) {
    sl_team_worker *worker = &team->workers[i];
    worker->team = team;
    worker->index = i + 1;
    sl_sleeper_open(&worker->sleeper);
    if (pthread_create(&worker->thread, NULL, work_loop, worker) != 0) {
      sl_sleeper_close(&worker->sleeper);
      return sl_fail(SLEY_ERR_MEMORY, "cannot start thread %d of %d: lower the number of threads or ranks",
                     i + 1, team->threads);
    }
    team->started++;
  }
  return SLEY_OK;
}

sley_status sl_team_create(int threads, sl_team **out) {
  *out = NULL;
  if (threads < 0)
    return sl_fail(SLEY_ERR_ARG, "a team needs at least one thread, not %d", threads);
  if (threads == 0)
    threads = sl_cores();
  sl_team *team;
  SL_TRY(SL_NEW_ZERO(team, 1, "a thread team"));
  team->threads = threads;
  team->helpful = threads < sl_cores() ? threads : sl_cores();
  team->wake_call = first_wake_call;
  team->latency = first_latency;
  team->caller_core = -1;
  atomic_fetch_add(&threads_of_all_teams, threads);
  team->failed_thread = -1;
  team->workers = sl_alloc_zero(threads - 1, sizeof *team->workers, "a thread team");
  team->shares = sl_alloc_zero(threads, sizeof *team->shares, "a thread team");
  team->gates = sl_alloc_zero(gates_of(threads), sizeof *team->gates, "a thread team");
  if (!team->workers || !team->shares || !team->gates) {
    release(team);
    return SLEY_ERR_MEMORY;
  }
  pthread_mutex_init(&team->lock, NULL);
  sl_sleeper_open(&team->caller);
  const sley_status status = start_workers(team);
  if (status != SLEY_OK) {
    sl_team_destroy(team);
    return status;
  }
  *out = team;
  return SLEY_OK;
}

void sl_team_destroy(sl_team *team) {
  if (!team)
    return;
  atomic_exchange(&team->stop, true);
  for (int i = 0; i < team->started; i++)
    (void)sl_wake(&team->workers[i].sleeper);
  for (int i = 0; i < team->started; i++) {
    pthread_join(team->workers[i].thread, NULL);
    sl_sleeper_close(&team->workers[i].sleeper);
  }
  sl_sleeper_close(&team->caller);
  pthread_mutex_destroy(&team->lock);
  release(team);
}

sley_status sl_team_run(sl_team *team, sl_team_body body, void *context) {
  if (sl_team_size(team) == 1)
    return body(context, 0, 1);
  team->failed_thread = -1;
  sl_team_open(team, body, context);
  if (atomic_load(&team->sleepers) > 0)
    sl_team_wake(team, team->threads - 1);
  sl_team_note(team, 0, body(context, 0, team->threads));
  for (int thread = 1; thread < team->threads; thread++)
    if (take_part(team, thread))
      sl_team_note(team, thread, body(context, thread, team->threads));
  (void)sl_team_close(team, INFINITY);
  return team->failed_thread >= 0 ? sl_error_restore(&team->failure) : SLEY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A team: threads that run one function together. */
#include "base/team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/cores.h"
#include "base/memory.h"
#include "base/watch.h"

/* The indices of a loop that one thread processes first. */
typedef struct share {
  _Alignas(64) _Atomic int64_t next;
  int64_t end;
} share;

typedef struct worker {
  struct sl_team *team;
  int index;
  pthread_t thread;
} worker;

/* Waking a sleeping thread costs tens of microseconds, so a waiting thread first polls for this time. */
static const double poll_seconds = 200e-6;

/* Threads of all teams. Polling is useful only while each thread has a core; otherwise it would take time
 * from other threads. */
static _Atomic int threads_of_all_teams;

struct sl_team {
  int threads;
  worker *workers; /* threads - 1 entries: the caller is thread 0 */
  share *shares;   /* one share per thread */
  int started;
  pthread_mutex_t lock; /* lock of the two conditions and the failure */
  pthread_cond_t work, done;
  sl_error failure;  /* error of the lowest failing thread */
  const char *doing; /* name of the work that loops do; NULL: it has none */
  int loops_of_work, loops_done;
  /* The fields that threads exchange in a run without a failure, in one cache line. */
  _Alignas(64) sl_team_body body;
  void *context;
  _Atomic uint64_t round; /* number of the current run; its new value publishes body, context and running */
  _Atomic int running;    /* number of workers that are still inside it */
  _Atomic int sleepers;   /* workers waiting on work */
  int failed_thread;      /* lowest failing thread, or -1 */
  _Atomic bool caller_sleeps, stop;
};

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
static void note_result(sl_team *team, int thread, sley_status status) {
  if (status == SLEY_OK)
    return;
  pthread_mutex_lock(&team->lock);
  if (team->failed_thread < 0 || thread < team->failed_thread) {
    team->failed_thread = thread;
    sl_error_take(status, &team->failure);
  }
  pthread_mutex_unlock(&team->lock);
}

static bool work_waits(sl_team *team, uint64_t seen) {
  return atomic_load(&team->round) != seen || atomic_load(&team->stop);
}

static bool all_done(sl_team *team, uint64_t unused) {
  (void)unused;
  return atomic_load(&team->running) == 0;
}

/* Sets a flag before the caller reads a variable of the flag's readers. They set that variable before they
 * read the flag, so at least one side sees the other's value. This is an exchange instead of a store, because
 * in QEMU on x86 a load of aarch64 can be executed before an earlier store, and both sides would sleep. */
static void raise_before_reading(_Atomic bool *flag) {
  atomic_exchange(flag, true);
}

/* Polls until the condition holds. Returns false if it did not within the polling time. */
static bool poll_until(sl_team *team, bool (*holds)(sl_team *, uint64_t), uint64_t seen) {
  if (atomic_load_explicit(&threads_of_all_teams, memory_order_relaxed) > sl_cores())
    return holds(team, seen);
  double end = sl_now() + poll_seconds;
  do {
    for (int i = 0; i < 32; i++) {
      if (holds(team, seen))
        return true;
      relax();
    }
  } while (sl_now() < end);
  return false;
}

/* Here sleepers is raised before round is read; sl_team_run raises round before it reads sleepers. So at
 * least one side sees the other's value, and no wake-up is lost. */
static void wait_for_work(sl_team *team, uint64_t seen) {
  if (poll_until(team, work_waits, seen))
    return;
  pthread_mutex_lock(&team->lock);
  atomic_fetch_add(&team->sleepers, 1);
  while (!work_waits(team, seen))
    pthread_cond_wait(&team->work, &team->lock);
  atomic_fetch_sub(&team->sleepers, 1);
  pthread_mutex_unlock(&team->lock);
}

static void wake_workers(sl_team *team) {
  if (atomic_load(&team->sleepers) == 0)
    return;
  pthread_mutex_lock(&team->lock);
  pthread_cond_broadcast(&team->work);
  pthread_mutex_unlock(&team->lock);
}

static void wait_for_workers(sl_team *team) {
  if (poll_until(team, all_done, 0))
    return;
  pthread_mutex_lock(&team->lock);
  raise_before_reading(&team->caller_sleeps);
  while (!all_done(team, 0))
    pthread_cond_wait(&team->done, &team->lock);
  atomic_store(&team->caller_sleeps, false);
  pthread_mutex_unlock(&team->lock);
}

static void *work_loop(void *argument) {
  worker *self = argument;
  sl_team *team = self->team;
  for (uint64_t seen = 0;; seen++) {
    wait_for_work(team, seen);
    if (atomic_load(&team->stop))
      return NULL;
    note_result(team, self->index, team->body(team->context, self->index, team->threads));
    if (atomic_fetch_sub(&team->running, 1) > 1 || !atomic_load(&team->caller_sleeps))
      continue;
    pthread_mutex_lock(&team->lock);
    pthread_cond_signal(&team->done);
    pthread_mutex_unlock(&team->lock);
  }
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
  atomic_fetch_add(&threads_of_all_teams, threads);
  team->failed_thread = -1;
  team->workers = sl_alloc_zero(threads - 1, sizeof *team->workers, "a thread team");
  team->shares = sl_alloc_zero(threads, sizeof *team->shares, "a thread team");
  if (!team->workers || !team->shares) {
    atomic_fetch_sub(&threads_of_all_teams, threads);
    sl_free(team->workers);
    sl_free(team->shares);
    sl_free(team);
    return SLEY_ERR_MEMORY;
  }
  pthread_mutex_init(&team->lock, NULL);
  pthread_cond_init(&team->work, NULL);
  pthread_cond_init(&team->done, NULL);
  for (int i = 0; i + 1 < threads; i++) {
    team->workers[i] = (worker){.team = team, .index = i + 1};
    if (pthread_create(&team->workers[i].thread, NULL, work_loop, &team->workers[i]) != 0) {
      sl_team_destroy(team);
      return sl_fail(SLEY_ERR_MEMORY, "cannot start thread %d of %d: lower the number of threads or ranks",
                     i + 1, threads);
    }
    team->started++;
  }
  *out = team;
  return SLEY_OK;
}

void sl_team_destroy(sl_team *team) {
  if (!team)
    return;
  raise_before_reading(&team->stop);
  wake_workers(team);
  for (int i = 0; i < team->started; i++)
    pthread_join(team->workers[i].thread, NULL);
  pthread_cond_destroy(&team->done);
  atomic_fetch_sub(&threads_of_all_teams, team->threads);
  pthread_cond_destroy(&team->work);
  pthread_mutex_destroy(&team->lock);
  sl_free(team->workers);
  sl_free(team->shares);
  sl_free(team);
}

sley_status sl_team_run(sl_team *team, sl_team_body body, void *context) {
  if (sl_team_size(team) == 1)
    return body(context, 0, 1);
  team->body = body;
  team->context = context;
  team->failed_thread = -1;
  atomic_store_explicit(&team->running, team->threads - 1, memory_order_relaxed);
  atomic_fetch_add(&team->round, 1);
  wake_workers(team);
  note_result(team, 0, body(context, 0, team->threads));
  wait_for_workers(team);
  return team->failed_thread >= 0 ? sl_error_restore(&team->failure) : SLEY_OK;
}

typedef struct range_loop {
  sl_team *team; /* NULL: the loop's progress is not reported */
  _Atomic int64_t done;
  int64_t count;
  share *shares;
  int64_t grain;
  bool shared; /* threads that have finished their share take from the others' */
  sl_range_body body;
  void *context;
} range_loop;

void sl_team_begin_work(sl_team *team, const char *work, int loops) {
  if (work)
    sl_watch_tell(work, 0);
  if (!team)
    return;
  team->doing = work;
  team->loops_of_work = loops;
  team->loops_done = 0;
}

static bool reports(const sl_team *team) {
  return team && team->doing && sl_watched();
}

/* Reports that more indices of a loop have been processed. */
static void report(range_loop *loop, int64_t more) {
  const sl_team *team = loop->team;
  const int64_t done = atomic_fetch_add_explicit(&loop->done, more, memory_order_relaxed) + more;
  const double part = (team->loops_done + (double)done / (double)loop->count) / team->loops_of_work;
  sl_watch_tell(team->doing, part < 1 ? part : 1);
}

/* Runs the thread's own share first, which is the same in every loop of the same size, so its data may be in
 * the thread's caches; then what is left of the other shares. */
static sley_status claim_ranges(void *context, int thread, int threads) {
  range_loop *loop = context;
  for (int i = 0; i < (loop->shared ? threads : 1); i++) {
    share *s = &loop->shares[(thread + i) % threads];
    for (;;) {
      int64_t begin = atomic_fetch_add_explicit(&s->next, loop->grain, memory_order_relaxed);
      if (begin >= s->end)
        break;
      int64_t end = begin + loop->grain < s->end ? begin + loop->grain : s->end;
      SL_TRY(loop->body(loop->context, begin, end, thread));
      if (loop->team)
        report(loop, end - begin);
    }
  }
  return SLEY_OK;
}

static sley_status run_loop(sl_team *team, int64_t count, int64_t grain, bool shared, sl_range_body body,
                            void *context) {
  if (count <= 0)
    return SLEY_OK;
  if (grain < 1)
    grain = 1;
  const bool told = reports(team);
  if (count <= grain || (sl_team_size(team) == 1 && !told))
    return body(context, 0, count, 0);
  int64_t grains = (count + grain - 1) / grain;
  for (int t = 0; t < team->threads; t++) {
    int64_t end = grains * (t + 1) / team->threads * grain;
    atomic_store_explicit(&team->shares[t].next, grains * t / team->threads * grain, memory_order_relaxed);
    team->shares[t].end = end < count ? end : count;
  }
  range_loop loop = {.team = told ? team : NULL,
                     .count = count,
                     .shares = team->shares,
                     .grain = grain,
                     .shared = shared,
                     .body = body,
                     .context = context};
  const sley_status status = sl_team_run(team, claim_ranges, &loop);
  team->loops_done += told;
  return status;
}

sley_status sl_team_for(sl_team *team, int64_t count, int64_t grain, sl_range_body body, void *context) {
  return run_loop(team, count, grain, true, body, context);
}

sley_status sl_team_for_short(sl_team *team, int64_t count, sl_range_body body, void *context) {
  return run_loop(team, count, 1, false, body, context);
}

typedef struct copying {
  char *dst;
  const char *src;
} copying;

static sley_status copy_range(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const copying *c = context;
  memcpy(c->dst + begin, c->src + begin, (size_t)(end - begin));
  return SLEY_OK;
}

void sl_team_copy(sl_team *team, void *dst, const void *src, int64_t bytes) {
  enum {
    GRAIN = 1 << 17,
    LONG = 1 << 20
  }; /* other threads would not wake before a shorter block is copied */
  (void)sl_team_for(bytes < LONG ? NULL : team, bytes, GRAIN, copy_range,
                    &(copying){dst, src}); /* the body cannot fail */
}

enum { MOST_PIECES = 256 };

/* An array in pieces of `length` elements. */
typedef struct summing {
  int64_t *sum, count, length;
  int64_t before[MOST_PIECES]; /* sum of all pieces before each piece */
} summing;

static sley_status add_pieces(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  summing *s = context;
  for (int64_t piece = begin; piece < end; piece++) {
    int64_t last = (piece + 1) * s->length < s->count ? (piece + 1) * s->length : s->count, all = 0;
    for (int64_t i = piece * s->length; i < last; i++)
      all += s->sum[i];
    s->before[piece] = all;
  }
  return SLEY_OK;
}

static sley_status sum_pieces(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  summing *s = context;
  for (int64_t piece = begin; piece < end; piece++) {
    int64_t last = (piece + 1) * s->length < s->count ? (piece + 1) * s->length : s->count;
    int64_t all = s->before[piece];
    for (int64_t i = piece * s->length; i < last; i++)
      s->sum[i] = all += s->sum[i];
  }
  return SLEY_OK;
}

void sl_team_sum_up(sl_team *team, int64_t *sum, int64_t count) {
  enum { LONG = 1 << 18, PIECE = 1 << 15 };
  summing s = {.sum = sum, .count = count, .length = count / MOST_PIECES + 1};
  if (count < LONG ||
      sl_team_size(team) < 3) { /* two passes take as long on two threads as one pass on one */
    s.length = count;
    if (count > 0)
      (void)sum_pieces(&s, 0, 1, 0);
    return;
  }
  if (s.length < PIECE)
    s.length = PIECE;
  const int64_t pieces = (count + s.length - 1) / s.length;
  (void)sl_team_for(team, pieces, 1, add_pieces, &s); /* the bodies cannot fail */
  for (int64_t piece = 0, all = 0; piece < pieces; piece++) {
    int64_t own = s.before[piece];
    s.before[piece] = all;
    all += own;
  }
  (void)sl_team_for(team, pieces, 1, sum_pieces, &s);
}

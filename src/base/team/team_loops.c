/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of a team. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/team/team_inside.h"
#include "base/watch.h"

/* A worker that has not come for so many times the time of a wake-up has found its core in use. */
static const double absence_wake_ups = 4;

/* A loop has many pieces if each thread has at least as many. */
enum { SOON_PIECES = 8 };

typedef struct range_loop {
  sl_team *team;
  bool told; /* the loop's progress is reported */
  _Atomic int64_t done;
  int64_t count;
  int64_t grain;
  sl_range_body body;
  void *context;
  /* Only the caller uses these. */
  bool woken;            /* workers have been woken at the beginning */
  bool opened;           /* workers may take pieces */
  int64_t pieces, check; /* pieces that the caller has finished, and after how many it looks at the time */
  int64_t indices;       /* indices in them */
  double start;          /* when it began */
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

static double wake_up_seconds(const sl_team *team) {
  return team->wake_call + atomic_load_explicit(&team->latency, memory_order_relaxed);
}

/* Number of workers that are worth waking for work that takes one thread so many seconds. A worker that is
 * woken makes the loop shorter if the work takes longer than the wake-up: what the caller spends on it, and
 * the time until the worker begins. */
static int worth_waking(sl_team *team, double seconds) {
  const int asleep = atomic_load(&team->sleepers), awake = team->threads - asleep;
  const double others = asleep > 0 && awake < team->helpful ? seconds / awake / wake_up_seconds(team) : 0;
  return others < team->helpful - awake ? (int)others : team->helpful - awake;
}

/* Indices that nobody has claimed. */
static int64_t unclaimed(const sl_team *team) {
  int64_t left = 0;
  for (int t = 0; t < team->threads; t++) {
    const int64_t more =
        team->shares[t].end - atomic_load_explicit(&team->shares[t].next, memory_order_relaxed);
    left += more > 0 ? more : 0;
  }
  return left;
}

static sley_status claim_ranges(void *context, int thread, int threads);

/* The caller has finished a piece. From time to time it estimates what is left, and opens the gates and wakes
 * workers if it takes long enough. */
static void look_at_time(range_loop *loop, int64_t indices) {
  sl_team *team = loop->team;
  loop->indices += indices;
  if (++loop->pieces < loop->check ||
      (loop->opened && atomic_load_explicit(&team->sleepers, memory_order_relaxed) == 0))
    return;
  loop->check *= 2;
  const double seconds = (sl_now() - loop->start) / (double)loop->indices * (double)unclaimed(team);
  if (!loop->opened && seconds > atomic_load_explicit(&team->too_short, memory_order_relaxed)) {
    loop->opened = true;
    sl_team_open(team, claim_ranges, loop);
  }
  const int more = loop->opened ? worth_waking(team, seconds) : 0;
  if (more > 0)
    sl_team_wake(team, more);
}

/* Runs the thread's own share first, which is the same in every loop of the same size, so its data may be in
 * the thread's caches; then what is left of the other shares. */
static sley_status claim_ranges(void *context, int thread, int threads) {
  range_loop *loop = context;
  for (int i = 0; i < threads; i++) {
    sl_team_share *s = &loop->team->shares[(thread + i) % threads];
    for (;;) {
      int64_t begin = atomic_fetch_add_explicit(&s->next, loop->grain, memory_order_relaxed);
      if (begin >= s->end)
        break;
      int64_t end = begin + loop->grain < s->end ? begin + loop->grain : s->end;
      SL_TRY(loop->body(loop->context, begin, end, thread));
      if (loop->told)
        report(loop, end - begin);
      if (thread == 0)
        look_at_time(loop, end - begin);
    }
  }
  return SLEY_OK;
}

/* Returns what the team remembers of loops like this one, which may be of another loop: then `loop` differs.
 */
static sl_team_memory *memory_of(const range_loop *loop, uint64_t *number) {
  const uint64_t mix = UINT64_C(0x9e3779b97f4a7c15);
  uint64_t n = (uint64_t)(uintptr_t)loop->body;
  n = (n ^ (n >> 29)) * mix + (uint64_t)loop->count;
  n = (n ^ (n >> 29)) * mix + (uint64_t)loop->grain;
  n = (n ^ (n >> 32)) * mix;
  *number = n | 1;
  return &loop->team->remembered[n >> 32 & (SL_TEAM_LOOPS - 1)];
}

/* Number of workers to wake at the beginning. If loops follow each other so fast that a worker polls from one
 * to the next, waking is worth while for all of them together. */
static int to_wake_first(sl_team *team, const range_loop *loop, double expected) {
  if (atomic_load_explicit(&team->sleepers, memory_order_relaxed) == 0 || !loop->opened)
    return 0;
  if (loop->start - team->last_end > sl_team_poll_seconds / 2 || sl_team_is_crowded(team, loop->start))
    team->missed = 0;
  const int more = worth_waking(team, expected + team->missed);
  if (more > 0)
    team->missed = 0;
  return more;
}

/* What the team learns from a loop. mine: seconds in which the caller has finished its pieces. */
static double learn(range_loop *loop, sl_team_memory *memory, uint64_t number) {
  sl_team *team = loop->team;
  const double end = sl_now(), mine = end - loop->start,
               each = mine / (double)(loop->indices > 0 ? loop->indices : 1);
  *memory = (sl_team_memory){.loop = number, .seconds = each * (double)loop->count};
  team->last_end = end;
  const bool alone = loop->indices == loop->count;
  team->missed = alone ? team->missed + mine : 0;
  if (alone && loop->woken && mine > absence_wake_ups * wake_up_seconds(team))
    sl_team_note_absence(team, end, mine);
  return each;
}

/* Runs a loop. Workers are woken at once if the last loop like this one took long enough, or if none is
 * remembered. The same body may work on much more data this time. So what is remembered counts only if the
 * caller learns soon that the loop is longer: after one of many pieces, or of pieces that are known to be
 * short. */
static sley_status share_loop(range_loop *loop, bool brief) {
  sl_team *team = loop->team;
  uint64_t number;
  sl_team_memory *memory = memory_of(loop, &number);
  const bool counts = brief || loop->count / loop->grain >= (int64_t)SOON_PIECES * team->threads;
  const double expected = counts && memory->loop == number ? memory->seconds : INFINITY;
  loop->start = sl_now();
  loop->opened = (loop->start > atomic_load_explicit(&team->alone_until, memory_order_relaxed) ||
                  expected > atomic_load_explicit(&team->too_short, memory_order_relaxed));
  team->failed_thread = -1;
  if (loop->opened)
    sl_team_open(team, claim_ranges, loop);
  const int more = to_wake_first(team, loop, expected);
  loop->woken = more > 0;
  if (loop->woken)
    sl_team_wake(team, more);
  sl_team_note(team, 0, claim_ranges(loop, 0, team->threads));
  const double each = learn(loop, memory, number);
  if (loop->opened)
    (void)sl_team_close(team, 4 * each * (double)loop->grain);
  return team->failed_thread >= 0 ? sl_error_restore(&team->failure) : SLEY_OK;
}

static sley_status run_loop(sl_team *team, int64_t count, int64_t grain, bool brief, sl_range_body body,
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
  range_loop loop = {.team = team,
                     .told = told,
                     .count = count,
                     .grain = grain,
                     .body = body,
                     .context = context,
                     .check = 1};
  const sley_status status = share_loop(&loop, brief);
  team->loops_done += told;
  return status;
}

sley_status sl_team_for(sl_team *team, int64_t count, int64_t grain, sl_range_body body, void *context) {
  return run_loop(team, count, grain, false, body, context);
}

sley_status sl_team_for_brief(sl_team *team, int64_t count, sl_range_body body, void *context) {
  return run_loop(team, count, 1, true, body, context);
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

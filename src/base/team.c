/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/memory.h"

typedef struct worker {
  struct sl_team *team;
  int index;
  pthread_t thread;
} worker;

struct sl_team {
  int threads;
  worker *workers; /* threads - 1 of them: the caller is thread 0 */
  int started;
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  uint64_t round; /* number of the current run */
  int running;    /* workers still inside it */
  bool stop;
  sl_team_body body;
  void *context;
  int failed_thread; /* lowest failing thread, or -1 */
  sley_status failed_status;
  char failed_message[1024];
};

int sl_cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return 1;
  int cores = CPU_COUNT(&set);
  return cores > 0 ? cores : 1;
}

int sl_team_size(const sl_team *team) {
  return team ? team->threads : 1;
}

/* Keeps the failure of the lowest thread, so that the reported error does not depend on timing. */
static void note_result(sl_team *team, int thread, sley_status status) {
  if (status == SLEY_OK)
    return;
  if (team->failed_thread >= 0 && team->failed_thread < thread)
    return;
  team->failed_thread = thread;
  team->failed_status = status;
  snprintf(team->failed_message, sizeof team->failed_message, "%s", sley_last_error());
}

static void *work_loop(void *argument) {
  worker *self = argument;
  sl_team *team = self->team;
  uint64_t seen = 0;
  pthread_mutex_lock(&team->lock);
  for (;;) {
    while (!team->stop && team->round == seen)
      pthread_cond_wait(&team->work, &team->lock);
    if (team->stop)
      break;
    seen = team->round;
    pthread_mutex_unlock(&team->lock);
    sley_status status = team->body(team->context, self->index, team->threads);
    pthread_mutex_lock(&team->lock);
    note_result(team, self->index, status);
    if (--team->running == 0)
      pthread_cond_signal(&team->done);
  }
  pthread_mutex_unlock(&team->lock);
  return NULL;
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
  team->failed_thread = -1;
  team->workers = sl_alloc_zero(threads - 1, sizeof *team->workers, "a thread team");
  if (!team->workers) {
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
      return sl_fail(SLEY_ERR_MEMORY, "cannot start thread %d of %d: lower the number of threads or ranks", i + 1,
                     threads);
    }
    team->started++;
  }
  *out = team;
  return SLEY_OK;
}

void sl_team_destroy(sl_team *team) {
  if (!team)
    return;
  pthread_mutex_lock(&team->lock);
  team->stop = true;
  pthread_cond_broadcast(&team->work);
  pthread_mutex_unlock(&team->lock);
  for (int i = 0; i < team->started; i++)
    pthread_join(team->workers[i].thread, NULL);
  pthread_cond_destroy(&team->done);
  pthread_cond_destroy(&team->work);
  pthread_mutex_destroy(&team->lock);
  sl_free(team->workers);
  sl_free(team);
}

sley_status sl_team_run(sl_team *team, sl_team_body body, void *context) {
  if (sl_team_size(team) == 1)
    return body(context, 0, 1);
  pthread_mutex_lock(&team->lock);
  team->body = body;
  team->context = context;
  team->failed_thread = -1;
  team->running = team->threads - 1;
  team->round++;
  pthread_cond_broadcast(&team->work);
  pthread_mutex_unlock(&team->lock);

  sley_status status = body(context, 0, team->threads);

  pthread_mutex_lock(&team->lock);
  note_result(team, 0, status);
  while (team->running > 0)
    pthread_cond_wait(&team->done, &team->lock);
  status = team->failed_thread >= 0 ? sl_fail(team->failed_status, "%s", team->failed_message) : SLEY_OK;
  pthread_mutex_unlock(&team->lock);
  return status;
}

typedef struct range_loop {
  _Atomic int64_t next;
  int64_t count, grain;
  sl_range_body body;
  void *context;
} range_loop;

static sley_status claim_ranges(void *context, int thread, int threads) {
  (void)threads;
  range_loop *loop = context;
  for (;;) {
    int64_t begin = atomic_fetch_add_explicit(&loop->next, loop->grain, memory_order_relaxed);
    if (begin >= loop->count)
      return SLEY_OK;
    int64_t end = begin + loop->grain < loop->count ? begin + loop->grain : loop->count;
    SL_TRY(loop->body(loop->context, begin, end, thread));
  }
}

sley_status sl_team_for(sl_team *team, int64_t count, int64_t grain, sl_range_body body, void *context) {
  if (count <= 0)
    return SLEY_OK;
  if (grain < 1)
    grain = 1;
  if (count <= grain)
    return body(context, 0, count, 0);
  range_loop loop = {.count = count, .grain = grain, .body = body, .context = context};
  return sl_team_run(team, claim_ranges, &loop);
}

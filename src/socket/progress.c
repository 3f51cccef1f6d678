/* SPDX-License-Identifier: Apache-2.0 */
/* A millisecond is short for a link (125 kB at 1 Gbit/s, less than a socket holds) and long for a processor.
 * While a rank alternates between messages and computation, the thread wakes only by the clock; after IDLE
 * wake-ups without permission it sleeps until the next call of allow. */
#include "socket/progress.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"

enum {
  INTERVAL_NANOSECONDS = 1000 * 1000,
  SHORT_NANOSECONDS = 100 * 1000,
  SECOND = 1000 * 1000 * 1000,
  IDLE = 20
};

struct sl_progress {
  pthread_t thread;
  pthread_mutex_t lock; /* lock of the fields below; held during a turn */
  pthread_cond_t change;
  bool (*turn)(void *arg);
  void *arg;
  bool allowed, asleep, ends;
};

/* Sleeps until a field changes, but at most that long. */
static void doze(sl_progress *p, long nanoseconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += nanoseconds;
  until.tv_sec += until.tv_nsec / SECOND;
  until.tv_nsec %= SECOND;
  (void)pthread_cond_timedwait(&p->change, &p->lock, &until);
}

static void *run(void *arg) {
  sl_progress *p = arg;
  int idle = 0;
  pthread_mutex_lock(&p->lock);
  while (!p->ends) {
    bool soon = false;
    if (p->allowed) {
      soon = p->turn(p->arg);
      idle = 0;
    } else if (++idle > IDLE) {
      p->asleep = true;
      while (!p->allowed && !p->ends)
        pthread_cond_wait(&p->change, &p->lock);
      p->asleep = false;
      idle = 0;
    }
    if (!p->ends)
      doze(p, soon ? SHORT_NANOSECONDS : INTERVAL_NANOSECONDS);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

static int start_thread(sl_progress *p) {
  sigset_t all, before; /* signal masks; only the caller's threads receive signals */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int code = pthread_create(&p->thread, NULL, run, p);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return code;
}

sley_status sl_progress_start(bool (*turn)(void *arg), void *arg, sl_progress **out) {
  sl_progress *p;
  pthread_condattr_t monotonic;
  *out = NULL;
  SL_TRY(SL_NEW_ZERO(p, 1, "a thread for messages"));
  p->turn = turn;
  p->arg = arg;
  pthread_mutex_init(&p->lock, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&p->change, &monotonic);
  pthread_condattr_destroy(&monotonic);
  int code = start_thread(p);
  if (code != 0) {
    pthread_cond_destroy(&p->change);
    pthread_mutex_destroy(&p->lock);
    sl_free(p);
    return sl_fail(SLEY_ERR_IO, "cannot start a thread: %s", strerror(code));
  }
  *out = p;
  return SLEY_OK;
}

void sl_progress_allow(sl_progress *p) {
  pthread_mutex_lock(&p->lock);
  p->allowed = true;
  if (p->asleep)
    pthread_cond_signal(&p->change);
  pthread_mutex_unlock(&p->lock);
}

void sl_progress_forbid(sl_progress *p) {
  pthread_mutex_lock(&p->lock);
  p->allowed = false;
  pthread_mutex_unlock(&p->lock);
}

void sl_progress_stop(sl_progress *p) {
  if (!p)
    return;
  pthread_mutex_lock(&p->lock);
  p->ends = true;
  pthread_cond_signal(&p->change);
  pthread_mutex_unlock(&p->lock);
  pthread_join(p->thread, NULL);
  pthread_cond_destroy(&p->change);
  pthread_mutex_destroy(&p->lock);
  sl_free(p);
}

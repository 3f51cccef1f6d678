/* SPDX-License-Identifier: Apache-2.0 */
/* The lock of what a process keeps for products, and the teams that run them. */
#include <pthread.h>

#include "ops/multiply.h"

typedef struct seat {
  sl_queue *queue; /* NULL: free place */
  int threads;
  bool taken;
} seat;

static seat seats[SLEY_MULTIPLY_TEAMS];
static sl_device *plain; /* has one thread, the caller's */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_once_t begun = PTHREAD_ONCE_INIT;

void sl_kept_unlock(void) {
  pthread_mutex_unlock(&lock);
}

void sl_kept_wait(void) {
  pthread_cond_wait(&changed, &lock);
}

void sl_kept_notify(void) {
  pthread_cond_broadcast(&changed);
}

/* In a forked child only the thread that forked exists. The teams are left as they are: to end them would be
 * to wait for threads that do not exist. */
static void after_fork(void) {
  for (int i = 0; i < SLEY_MULTIPLY_TEAMS; i++)
    seats[i] = (seat){0};
  changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  sl_kept_forked();
  sl_kept_unlock();
}

static void begin(void) {
  pthread_atfork(sl_kept_lock, sl_kept_unlock, after_fork);
}

void sl_kept_lock(void) {
  pthread_once(&begun, begin);
  pthread_mutex_lock(&lock);
}

static sley_status open_queue(int threads, sl_queue **out) {
  const sl_device_ops *ops;
  sl_device *device;
  SL_TRY(sl_device_backend("cpu", &ops));
  SL_TRY(ops->open(0, threads, &device));
  const sley_status status = ops->queue_create(device, NULL, out);
  if (status != SLEY_OK)
    ops->close(device);
  return status;
}

static void close_seat(seat *s) {
  sl_device *device = s->queue->device;
  device->ops->queue_destroy(s->queue);
  device->ops->close(device);
  *s = (seat){0};
}

/* Finds the place for a queue with that many threads: one that has it, an empty place, or one with another
 * number of threads; NULL if all are taken. */
static seat *find_seat(int threads) {
  seat *empty = NULL, *other = NULL;
  for (int i = 0; i < SLEY_MULTIPLY_TEAMS; i++) {
    seat *s = &seats[i];
    if (s->taken)
      continue;
    if (s->queue && s->threads == threads)
      return s;
    if (s->queue)
      other = other ? other : s;
    else
      empty = empty ? empty : s;
  }
  return empty ? empty : other;
}

sley_status sl_team_queue_take(int threads, sl_queue **out) {
  seat *s;
  threads = threads > 0 ? threads : sl_cores();
  while (!(s = find_seat(threads)))
    sl_kept_wait();
  if (s->queue && s->threads != threads)
    close_seat(s);
  if (!s->queue)
    SL_TRY(open_queue(threads, &s->queue));
  s->threads = threads;
  s->taken = true;
  *out = s->queue;
  return SLEY_OK;
}

void sl_team_queue_return(sl_queue *queue) {
  for (int i = 0; i < SLEY_MULTIPLY_TEAMS; i++)
    if (seats[i].queue == queue)
      seats[i].taken = false;
  sl_kept_notify();
}

sl_device *sl_kept_device(void) {
  const sl_device_ops *ops;
  if (!plain && sl_device_backend("cpu", &ops) == SLEY_OK && ops->open(0, 1, &plain) != SLEY_OK)
    plain = NULL;
  return plain;
}

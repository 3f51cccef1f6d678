/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of MPI that wait for other ranks and can be neither polled nor interrupted: MPI_Init_thread,
 * MPI_Finalize, and the calls of windows. A thread of its own makes them. The caller polls that thread until
 * a time limit, and then continues without it. One thread makes both MPI_Init_thread and MPI_Finalize,
 * because MPI requires it. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "transport/mpi/mpi_comm.h"

struct sl_mpi_worker {
  pthread_t thread;
  pthread_mutex_t lock; /* lock of the fields below */
  pthread_cond_t change;
  void (*call)(void *arg);
  void *arg;
  bool ends;
  atomic_bool busy; /* a call is running or about to run; read without the lock */
};

static atomic_int running; /* calls that workers of all comms have begun, and that have not returned */

static void *serve(void *arg) {
  sl_mpi_worker *w = arg;
  pthread_mutex_lock(&w->lock);
  for (;;) {
    while (!w->ends && !w->busy)
      pthread_cond_wait(&w->change, &w->lock);
    if (w->ends)
      break;
    pthread_mutex_unlock(&w->lock);
    w->call(w->arg);
    running--;
    pthread_mutex_lock(&w->lock);
    w->busy = false;
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

static void destroy(sl_mpi_worker *w) {
  pthread_cond_destroy(&w->change);
  pthread_mutex_destroy(&w->lock);
}

static sley_status start(sl_mpi_worker *w) {
  sigset_t all, before; /* signal masks; only the caller's threads receive signals */
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->change, NULL);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&w->thread, NULL, serve, w);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed) {
    destroy(w);
    return sl_fail(SLEY_ERR_MEMORY, "cannot start a thread: %s", strerror(failed));
  }
  return SLEY_OK;
}

sley_status sl_mpi_worker_start(sl_mpi_worker **out) {
  sl_mpi_worker *w;
  *out = NULL;
  SL_TRY(SL_NEW_ZERO(w, 1, "a thread for MPI"));
  sley_status status = start(w);
  if (status == SLEY_OK)
    *out = w;
  else
    sl_free(w);
  return status;
}

sley_status sl_mpi_worker_call(sl_mpi_worker *w, void (*call)(void *arg), void *arg, sl_mpi_wait wait) {
  if (w->busy)
    return sl_fail(SLEY_ERR_PEER, "an earlier call of MPI has not returned within its time limit");
  pthread_mutex_lock(&w->lock);
  w->call = call;
  w->arg = arg;
  w->busy = true;
  running++;
  pthread_cond_signal(&w->change);
  pthread_mutex_unlock(&w->lock);
  while (w->busy)
    SL_TRY(sl_mpi_backoff(&wait));
  return SLEY_OK;
}

bool sl_mpi_worker_stop(sl_mpi_worker *w) {
  if (!w)
    return true;
  if (w->busy) {
    pthread_detach(w->thread);
    return false;
  }
  pthread_mutex_lock(&w->lock);
  w->ends = true;
  pthread_cond_signal(&w->change);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
  destroy(w);
  sl_free(w);
  return true;
}

/* ---- start and end of MPI */

static sl_mpi_worker starter; /* thread that has called MPI_Init_thread; it lives until the process exits */
static bool started;
static int code, level = MPI_THREAD_SINGLE;

static void initialise(void *arg) {
  (void)arg;
  code = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
}

static void finalise(void *arg) {
  (void)arg;
  code = MPI_Finalize();
}

sley_status sl_mpi_initialise(double timeout, int *out) {
  if (started)
    return sl_fail(
        SLEY_ERR_PEER,
        "MPI cannot be initialised: an earlier MPI_Init_thread has not returned within its time limit");
  SL_TRY(start(&starter));
  started = true;
  SL_TRY(sl_mpi_worker_call(&starter, initialise, NULL,
                            (sl_mpi_wait){.timeout = timeout, .what = "MPI_Init_thread of all ranks"}));
  SL_TRY(sl_mpi_check(code, "MPI_Init_thread"));
  *out = level;
  return SLEY_OK;
}

void sl_mpi_finalise(double timeout) {
  sl_mpi_wait wait = {.timeout = timeout, .what = "MPI_Finalize of all ranks"};
  while (running > 0) /* no other call may run beside MPI_Finalize */
    if (sl_mpi_backoff(&wait) != SLEY_OK)
      return;
  if (started)
    (void)sl_mpi_worker_call(&starter, finalise, NULL, wait);
}

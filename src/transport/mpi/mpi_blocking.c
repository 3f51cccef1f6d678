/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Init and MPI_Finalize wait for all ranks and cannot be interrupted. A separate thread calls both,
 * because MPI requires the same thread for both. The caller waits for that thread until a time limit, and
 * then continues without it. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "transport/mpi/mpi_comm.h"

enum { SLICE_NANOSECONDS = 20 * 1000 * 1000 };

/* Stages of the thread, in this order. */
enum { IDLE, INITIALISE, INITIALISED, FINALISE, FINALISED };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int piece = IDLE, code, level = MPI_THREAD_SINGLE;

static void set_piece(int next) {
  pthread_mutex_lock(&lock);
  piece = next;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static void *serve(void *arg) {
  (void)arg;
  code = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
  set_piece(INITIALISED);
  pthread_mutex_lock(&lock);
  while (piece != FINALISE)
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  code = MPI_Finalize();
  set_piece(FINALISED);
  return NULL;
}

/* Waits until the stage is reached. Returns SLEY_OK, or the error that ended the wait. */
static sley_status wait_for(int wanted, sl_mpi_wait wait) {
  sley_status status = SLEY_OK;
  pthread_mutex_lock(&lock);
  while (piece != wanted && status == SLEY_OK) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += SLICE_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&changed, &lock, &until);
    pthread_mutex_unlock(&lock);
    status = sl_mpi_check_wait(&wait);
    pthread_mutex_lock(&lock);
  }
  pthread_mutex_unlock(&lock);
  return status;
}

sley_status sl_mpi_initialise(double timeout, int *out) {
  pthread_t thread;
  sigset_t all, before; /* signal masks; only the caller's threads receive signals */
  if (piece != IDLE)
    return sl_fail(
        SLEY_ERR_PEER,
        "MPI cannot be initialised: an earlier MPI_Init_thread has not returned within its time limit");
  piece = INITIALISE;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&thread, NULL, serve, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed) {
    piece = IDLE;
    return sl_fail(SLEY_ERR_MEMORY, "cannot start a thread: %s", strerror(failed));
  }
  pthread_detach(thread);
  SL_TRY(wait_for(INITIALISED, (sl_mpi_wait){.timeout = timeout, .what = "MPI_Init_thread of all ranks"}));
  SL_TRY(sl_mpi_check(code, "MPI_Init_thread"));
  *out = level;
  return SLEY_OK;
}

void sl_mpi_finalise(double timeout) {
  if (piece != INITIALISED)
    return;
  set_piece(FINALISE);
  (void)wait_for(FINALISED, (sl_mpi_wait){.timeout = timeout, .what = "MPI_Finalize of all ranks"});
}

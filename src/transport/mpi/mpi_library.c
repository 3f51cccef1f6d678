/* SPDX-License-Identifier: Apache-2.0 */
/* MPI as a library: how it is initialised and finalised, which threads may call it, and waits with a time
   limit. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "transport/mpi/mpi_comm.h"

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER, gate = PTHREAD_MUTEX_INITIALIZER;
static MPI_Comm world = MPI_COMM_NULL;
static int level = MPI_THREAD_SINGLE;
static bool skips_finalise;
static pid_t initialiser;                          /* the process that has initialised MPI */
static const double FOREVER = 1e300, FAREWELL = 5; /* seconds; FAREWELL: time for MPI_Finalize once all ranks
                                                      have called it */

/* Called when the process exits. All ranks meet first, however long it takes, because another rank may still
 * be working. A forked child is not a rank: it must not finalise MPI. */
static void finalise(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  sl_mpi_wait wait = {.timeout = FOREVER, .what = "a rank's end"};
  int over = 0;
  if (getpid() != initialiser || skips_finalise || MPI_Finalized(&over) != MPI_SUCCESS || over)
    return;
  if (sl_mpi_settle(MPI_Ibarrier(world, &request), &request, wait) == SLEY_OK)
    sl_mpi_finalise(FAREWELL);
}

sley_status sl_mpi_check(int code, const char *call) {
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  if (code == MPI_SUCCESS)
    return SLEY_OK;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
    length = 0;
  text[length] = '\0';
  return sl_fail(SLEY_ERR_PEER, "%s: %s", call, text);
}

/* Initialises MPI if necessary; sets *own to whether this call initialised it. */
static sley_status initialise(double timeout, bool *own) {
  int begun = 0, over = 0;
  SL_TRY(sl_mpi_check(MPI_Finalized(&over), "MPI_Finalized"));
  if (over)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "MPI has been finalised: run ranks before MPI_Finalize is called");
  SL_TRY(sl_mpi_check(MPI_Initialized(&begun), "MPI_Initialized"));
  *own = !begun;
  if (begun)
    return sl_mpi_check(MPI_Query_thread(&level), "MPI_Query_thread");
  SL_TRY(sl_mpi_initialise(timeout, &level));
  initialiser = getpid();
  return atexit(finalise) == 0
             ? SLEY_OK
             : sl_fail(SLEY_ERR_MEMORY, "out of memory for a function to call at exit, which ends MPI");
}

static sley_status make_world(double timeout) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  sl_mpi_wait wait = {.timeout = timeout, .what = "a rank's part in MPI_Comm_idup"};
  int code = MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
  sley_status status = sl_mpi_settle(code, &request, wait);
  if (status == SLEY_OK)
    status = sl_mpi_check(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  if (status == SLEY_OK)
    world = made;
  else
    sl_mpi_skip_finalise(true);
  return status;
}

/* Checks that this thread may call MPI, which the program has initialised. */
static sley_status look_at_given(int *first) {
  int begun = 0, over = 0;
  SL_TRY(sl_mpi_check(MPI_Initialized(&begun), "MPI_Initialized"));
  SL_TRY(sl_mpi_check(MPI_Finalized(&over), "MPI_Finalized"));
  if (!begun || over)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "a communicator was given, but MPI %s: open comms between MPI_Init "
                   "and MPI_Finalize",
                   over ? "has been finalised"
                        : "is not initialised, or is another MPI than the one of libsley_mpi.so");
  SL_TRY(sl_mpi_check(MPI_Query_thread(&level), "MPI_Query_thread"));
  return level >= MPI_THREAD_SERIALIZED ? SLEY_OK
                                        : sl_mpi_check(MPI_Is_thread_main(first), "MPI_Is_thread_main");
}

sley_status sl_mpi_ready(bool given, double timeout) {
  int first = 1;
  bool own = false;
  pthread_mutex_lock(&starting);
  sley_status status = SLEY_OK;
  if (given) {
    status = look_at_given(&first);
  } else if (world == MPI_COMM_NULL) {
    status = initialise(timeout, &own);
    if (status == SLEY_OK && level < MPI_THREAD_SERIALIZED)
      status =
          own ? sl_fail(SLEY_ERR_UNSUPPORTED, "this MPI allows only one thread to call it (level %d)", level)
              : sl_mpi_check(MPI_Is_thread_main(&first), "MPI_Is_thread_main");
    if (status == SLEY_OK && first)
      status = make_world(timeout);
  } else if (level < MPI_THREAD_SERIALIZED) {
    status = sl_mpi_check(MPI_Is_thread_main(&first), "MPI_Is_thread_main");
  }
  pthread_mutex_unlock(&starting);
  if (status == SLEY_OK && !first)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "MPI was initialised for its main thread only, and this is another thread: call "
                   "MPI_Init_thread with MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE");
  return status;
}

MPI_Comm sl_mpi_origin(const void *mpi_comm) {
  return mpi_comm ? *(const MPI_Comm *)mpi_comm : world;
}

void sl_mpi_skip_finalise(bool skip) {
  skips_finalise = skip;
}

void sl_mpi_enter(void) {
  pthread_mutex_lock(&gate);
}

void sl_mpi_leave(void) {
  pthread_mutex_unlock(&gate);
}

bool sl_mpi_lets_threads_in(void) {
  return level >= MPI_THREAD_SERIALIZED;
}

bool sl_mpi_lets_threads_meet(void) {
  return level >= MPI_THREAD_MULTIPLE;
}

void sl_mpi_hold(sl_mpi_comm *comm) {
  comm->holds++;
  if (comm->progress)
    sl_progress_allow(comm->progress);
}

void sl_mpi_release(sl_mpi_comm *comm) {
  if (--comm->holds == 0 && comm->progress)
    sl_progress_forbid(comm->progress);
}

void sl_mpi_turn(void) {
  int found;
  sl_mpi_enter();
  (void)MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world == MPI_COMM_NULL ? MPI_COMM_SELF : world, &found,
                   MPI_STATUS_IGNORE);
  sl_mpi_leave();
}

sley_status sl_mpi_test(MPI_Request *requests, int count, int *done, int64_t *received) {
  int flag = 1, code = MPI_SUCCESS;
  *done = 0;
  sl_mpi_enter();
  while (flag && *done < count && code == MPI_SUCCESS) {
    MPI_Status status;
    int bytes = 0;
    code = MPI_Test(&requests[*done], &flag, received ? &status : MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && flag && received)
      code = MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (received)
      *received += bytes > 0 ? bytes : 0; /* MPI_UNDEFINED if the message was cancelled */
    *done += code == MPI_SUCCESS && flag;
  }
  sl_mpi_leave();
  return sl_mpi_check(code, "MPI_Test");
}

enum { SPINS = 200, YIELDS = 2000, LOOKS = 16, PAUSE_NANOSECONDS = 50000 };

/* Checks the mesh, the time limit and the interrupt, without a pause. Errors: as sl_mpi_backoff. */
static sley_status check_wait(sl_mpi_wait *p) {
  if (p->polls++ == 0)
    p->begin = sl_now();
  SL_TRY(p->mesh ? sl_mesh_progress(p->mesh) : sl_interrupted());
  if (sl_now() - p->begin <= p->timeout)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_PEER,
                 "%s has not come within %g s: a rank is stopped or hangs, or its work takes so long; then "
                 "give a longer timeout",
                 p->what, p->timeout);
}

sley_status sl_mpi_backoff(sl_mpi_wait *p) {
  if (p->polls == 0)
    p->begin = sl_now();
  if (p->polls < SPINS && p->polls % LOOKS != LOOKS - 1) {
    p->polls++;
    return SLEY_OK;
  }
  SL_TRY(check_wait(p));
  if (p->polls > YIELDS)
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NANOSECONDS}, NULL);
  else
    sched_yield();
  return SLEY_OK;
}

sley_status sl_mpi_settle(int code, MPI_Request *request, sl_mpi_wait wait) {
  SL_TRY(sl_mpi_check(code, wait.what));
  for (;;) {
    int done;
    SL_TRY(sl_mpi_test(request, 1, &done, NULL));
    if (done == 1)
      return SLEY_OK;
    SL_TRY(sl_mpi_backoff(&wait));
  }
}

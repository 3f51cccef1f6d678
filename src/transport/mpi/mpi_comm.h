/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as processes that exchange rows by MPI. */
#ifndef SLEY_TRANSPORT_MPI_MPI_COMM_H
#define SLEY_TRANSPORT_MPI_MPI_COMM_H

#include <mpi.h>
#include <stdatomic.h>

#include "socket/progress.h"
#include "transport/process/far_memory.h"
#include "transport/process/process_exchange.h"

/* A thread for calls of MPI that cannot be polled. */
typedef struct sl_mpi_worker sl_mpi_worker;

typedef struct sl_mpi_comm {
  sl_process_comm base;
  MPI_Comm comm;                /* communicator for the exchanges of this run only; MPI_COMM_NULL: none */
  MPI_Comm collectives;         /* communicator for collectives that MPI runs itself; MPI_COMM_NULL: none */
  struct sl_mpi_dense *running; /* collective that has begun and is not complete, or NULL */
  int tags;                     /* number of tags; they are counted from 0 */
  struct sl_mpi_left *open;     /* messages of the existing exchanges */
  struct sl_mpi_left
      *left;   /* messages of exchanges that a failure ended; MPI may still access their memory */
  char *waste; /* buffer for a message that is discarded on arrival; or NULL */
  MPI_Request waste_request;
  double farewell;       /* time when waiting ends after a failure; 0: no failure */
  sl_progress *progress; /* thread that moves messages while this rank computes; NULL: MPI allows no other
                            thread */
  int holds;             /* number of exchanges begun and not reclaimed, and of windows; with 0 the progress
                            thread does not call MPI */
  sl_mpi_worker *worker; /* thread for the calls of windows; NULL until the first window */
  sl_far_window *windows;
  atomic_int open_windows; /* length of windows; the progress thread reads it */
  atomic_bool immediate; /* this rank's last get was complete when it had begun: owners need not take part */
  struct sl_far_access *accesses; /* operations on windows in flight */
  bool no_windows;                /* MPI cannot make windows here; the same on all ranks */
} sl_mpi_comm;

/* Initialises MPI unless it is initialised, and makes sure that this thread may call it. If this call
 * initialises MPI, MPI is finalised when the process exits. Every rank makes this call, and waits at most
 * timeout seconds for the others. given: the program has passed a communicator, so MPI must already be
 * initialised, and there is no wait. Errors: SLEY_ERR_UNSUPPORTED, SLEY_ERR_PEER, SLEY_ERR_INTERRUPTED. */
sley_status sl_mpi_ready(bool given, double timeout);

/* A polling wait. */
typedef struct sl_mpi_wait {
  sl_mesh *mesh; /* NULL: the ranks have not met yet */
  double timeout, begin;
  int64_t polls;
  const char *what; /* name of the awaited event, for error messages */
} sl_mpi_wait;

/* Starts a thread for sl_mpi_worker_call. Errors: SLEY_ERR_MEMORY. */
sley_status sl_mpi_worker_start(sl_mpi_worker **out);

/* Makes the worker call call(arg), and waits for it, see sl_mpi_wait. After an error the call may still run,
 * or run for ever: arg must stay, and further calls fail. Errors: those of sl_mpi_backoff. */
sley_status sl_mpi_worker_call(sl_mpi_worker *worker, void (*call)(void *arg), void *arg, sl_mpi_wait wait);

/* Ends the thread. Returns false if a call has not returned: the thread is then left behind. NULL: does
 * nothing. */
bool sl_mpi_worker_stop(sl_mpi_worker *worker);

/* Call MPI_Init_thread and MPI_Finalize, each once. *level: the thread level that MPI provides. Errors as
 * sl_mpi_ready. */
sley_status sl_mpi_initialise(double timeout, int *level);
void sl_mpi_finalise(double timeout);

/* Returns the communicator at mpi_comm. If that is NULL, returns the library's own communicator of all
 * processes of MPI_COMM_WORLD, which is kept until MPI is finalised, or MPI_COMM_NULL if only callers'
 * communicators are used. */
MPI_Comm sl_mpi_origin(const void *mpi_comm);

/* Sets whether MPI_Finalize is skipped when the process exits: if a rank may have died, it would wait for
 * that rank. */
void sl_mpi_skip_finalise(bool skip);

/* Take and release a lock around calls of MPI that do not wait: MPI may allow one thread at a time, and
 * threads read results that another thread's call has received. */
void sl_mpi_enter(void);
void sl_mpi_leave(void);

/* Returns whether threads other than the main one may call MPI. */
bool sl_mpi_lets_threads_in(void);

/* Returns whether several threads may call MPI at the same time. */
bool sl_mpi_lets_threads_meet(void);

/* Let the progress thread call MPI from hold to the matching release. */
void sl_mpi_hold(sl_mpi_comm *comm);
void sl_mpi_release(sl_mpi_comm *comm);

/* Lets MPI move messages in flight. */
void sl_mpi_turn(void);

/* Converts an MPI error code to SLEY_OK or SLEY_ERR_PEER with MPI's message. */
sley_status sl_mpi_check(int code, const char *call);

/* Counts in *done how many of the requests, starting with the first, are complete. Completed requests become
 * MPI_REQUEST_NULL or inactive. The bytes that they have received are added to *received, unless received is
 * NULL. */
sley_status sl_mpi_test(MPI_Request *requests, int count, int *done, int64_t *received);

/* Called between two polls: at first returns at once, later yields, then sleeps for longer each time. Checks
 * the mesh, the time limit and the interrupt now and then. Errors: SLEY_ERR_PEER (a rank has failed, or
 * timeout seconds have passed), SLEY_ERR_INTERRUPTED. */
sley_status sl_mpi_backoff(sl_mpi_wait *wait);

/* Waits for one request that an MPI call has made; code is the result of that call. */
sley_status sl_mpi_settle(int code, MPI_Request *request, sl_mpi_wait wait);

/* The slot place of sl_process_backend. */
sley_status sl_mpi_place(int ranks, const void *mpi_comm, double timeout, sl_place *out);

extern const sl_carrier sl_mpi_messages;

/* The slot far of sl_process_backend. */
extern const sl_far_memory sl_mpi_windows;

/* Ends all windows of the comm, and its worker; wait describes the wait for each. Errors: SLEY_ERR_PEER,
 * SLEY_ERR_INTERRUPTED: MPI may still use windows. Collective. */
sley_status sl_mpi_end_windows(sl_mpi_comm *comm, sl_mpi_wait wait);

/* After a failure: ends the operations on windows in flight that are complete. forget: ends all, although MPI
 * may still access their memory. Returns whether none is left. */
bool sl_mpi_end_accesses(sl_mpi_comm *comm, bool forget);

/* The slot dense_native of sl_process_backend. */
sley_status sl_mpi_dense_native(sl_comm *comm, const sl_dense_spec *spec, sl_dense_native **out);

/* After a failure, if a collective had begun: takes part in the rest of it, with arbitrary values, so that
 * MPI completes it on all ranks that live. Does not wait. Sets *over to whether no collective is left. */
sley_status sl_mpi_end_dense(sl_mpi_comm *comm, bool *over);

/* After a failure: cancels messages that have not been matched, and waits until MPI accesses no row of the
 * caller's, or until the time limit of the farewell. Waits for peers, which do the same. */
void sl_mpi_call_off(sl_mpi_comm *comm);

/* After a failure: receives and discards unexpected messages, so that their senders complete. */
void sl_mpi_discard(sl_mpi_comm *comm);

/* Spends a short time on sl_mpi_discard. Returns false when the time limit of the farewell is reached. */
bool sl_mpi_linger(sl_mpi_comm *comm);

/* Frees the messages in comm->left that have completed; returns whether all have. */
bool sl_mpi_sweep(sl_mpi_comm *comm);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as processes that exchange rows by MPI. */
#ifndef SLEY_TRANSPORT_MPI_MPI_COMM_H
#define SLEY_TRANSPORT_MPI_MPI_COMM_H

#include <mpi.h>

#include "socket/progress.h"
#include "transport/process/process_exchange.h"

typedef struct sl_mpi_comm {
  sl_process_comm base;
  MPI_Comm comm;                /* for exchanges, of this run alone; MPI_COMM_NULL: none */
  MPI_Comm collectives;         /* for what MPI runs itself; MPI_COMM_NULL: none */
  struct sl_mpi_dense *running; /* a collective that was begun and is not done; or NULL */
  int tags;                     /* that it has, from 0 on */
  struct sl_mpi_left *open;     /* messages of the exchanges there are */
  struct sl_mpi_left
      *left;   /* messages of exchanges that were ended by a failure, which MPI may still touch */
  char *waste; /* where a message that nobody receives any more is being received; or NULL */
  MPI_Request waste_request;
  double farewell;       /* when no more is waited for after a failure; 0: there is none */
  sl_progress *progress; /* moves messages while this rank computes; NULL: MPI lets no other thread in */
  int unreclaimed;       /* exchanges begun and not reclaimed: without any, MPI is the caller's own */
} sl_mpi_comm;

/* Initialises MPI unless somebody has, and sees that this thread may call it. What is initialised here is
 * finalised when the process exits. Every rank calls it, and waits for the others timeout seconds. given: the
 * program has communicators of its own, so MPI must have been initialised, and nobody is waited for. Errors:
 * SLEY_ERR_UNSUPPORTED, SLEY_ERR_PEER, SLEY_ERR_INTERRUPTED. */
sley_status sl_mpi_ready(bool given, double timeout);

/* MPI_Init_thread and MPI_Finalize, each once. *level: the threads that MPI lets in. Errors as sl_mpi_ready.
 */
sley_status sl_mpi_initialise(double timeout, int *level);
void sl_mpi_finalise(double timeout);

/* All processes of MPI_COMM_WORLD, for the library's own use; it stays until MPI is finalised. MPI_COMM_NULL:
 * communicators have been given only. */
MPI_Comm sl_mpi_world(void);

/* The communicator at that address, or, NULL, sl_mpi_world. */
MPI_Comm sl_mpi_origin(const void *mpi_comm);

/* Whether MPI_Finalize is left out when the process exits: where a rank may have died, it would wait for it.
 */
void sl_mpi_skip_finalise(bool skip);

/* Around calls of MPI, which do not wait: it may let one thread in at a time, and what one thread lets it
 * bring another reads. */
void sl_mpi_enter(void);
void sl_mpi_leave(void);

/* Whether threads other than the main one may call it. */
bool sl_mpi_lets_threads_in(void);

/* Lets MPI move what is on its way. */
void sl_mpi_turn(void);

/* SLEY_OK, or what MPI says. Errors: SLEY_ERR_PEER. */
sley_status sl_mpi_check(int code, const char *call);

/* How many of the requests, from the first on, are done; done ones become MPI_REQUEST_NULL or inactive.
 * received: the bytes that they have received are added to it; NULL: not wanted. */
sley_status sl_mpi_test(MPI_Request *requests, int count, int *done, int64_t *received);

/* A wait that polls. */
typedef struct sl_mpi_wait {
  sl_mesh *mesh; /* NULL: the ranks have not met */
  double timeout, begin;
  int64_t polls;
  const char *what; /* is waited for */
} sl_mpi_wait;

/* Between two polls: returns at once for the first ones, then yields, then sleeps for longer each time. Looks
 * at the mesh, the time limit and the interrupt now and then. Errors: SLEY_ERR_PEER (a rank has failed, or
 * timeout seconds have passed), SLEY_ERR_INTERRUPTED. */
sley_status sl_mpi_backoff(sl_mpi_wait *wait);
/* That look alone. */
sley_status sl_mpi_check_wait(sl_mpi_wait *wait);

/* Waits for one request, which this call has made: code is its. */
sley_status sl_mpi_settle(int code, MPI_Request *request, sl_mpi_wait wait);

/* The slot place of sl_process_backend. */
sley_status sl_mpi_place(int ranks, const void *mpi_comm, double timeout, sl_place *out);

extern const sl_carrier sl_mpi_messages;

/* The slot dense_native of sl_process_backend. */
sley_status sl_mpi_dense_native(sl_comm *comm, const sl_dense_spec *spec, sl_dense_native **out);

/* After a failure, where a collective was begun: takes part in the rest of it, with any values, so that MPI
 * is done with it on all ranks that live. Does not wait: *over tells whether nothing is left. */
sley_status sl_mpi_end_dense(sl_mpi_comm *comm, bool *over);

/* After a failure: takes back what has not been matched, and waits until MPI touches no row of the caller's,
 * or the farewell. Waits for peers, which do the same. */
void sl_mpi_call_off(sl_mpi_comm *comm);

/* After a failure: takes messages that nobody receives any more, so that their senders are done with them. */
void sl_mpi_discard(sl_mpi_comm *comm);

/* A little while of that; false: it is time to part. */
bool sl_mpi_linger(sl_mpi_comm *comm);

/* Frees what of comm->left has come to its end; whether all has. */
bool sl_mpi_sweep(sl_mpi_comm *comm);

#endif

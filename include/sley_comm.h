/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks: how they start, meet and end, and their memory. */
#ifndef SLEY_COMM_H
#define SLEY_COMM_H

#include "sley_matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sley_rank_options {
  size_t struct_size;
  int ranks;     /* number of ranks; default 1 */
  int workgroup; /* number of ranks joined by direct links; 0: all ranks. Between workgroups only messages
                    travel */
  int threads;   /* threads of each rank; 0: cores / ranks, at least 1 */
  /* NULL or "threads": ranks are threads of this process. "tcp", "nccl" or another module: ranks are
   * processes, forked from this one, or, if a launcher such as torchrun has set RANK and WORLD_SIZE, the
   * processes that it started. */
  const char *transport;
  const char *trace; /* NULL, or the file to which a timeline for Perfetto is written */
  const char *
      device; /* NULL or "cpu"; "cuda": rank r on GPU r modulo their number; "auto": cuda if there is a GPU */
  double timeout; /* for ranks that are processes: seconds until all ranks must have met, and until a rank
                   * that has stopped or cannot be reached counts as failed; 0: SLEY_TIMEOUT, else 60 */
} sley_rank_options;
#define SLEY_RANK_OPTIONS_INIT                                                                               \
  { sizeof(sley_rank_options), 1, 0, 0, NULL, NULL, NULL, 0 }

/* The function that each rank runs. A status other than SLEY_OK ends the other ranks with SLEY_ERR_PEER. */
typedef sley_status (*sley_rank_fn)(sley_comm *comm, void *arg);

/* Runs fn once on each rank, and waits for all. Ranks that are threads share arg. Forked ranks see arg, and
 * all memory, as it was at this call; what they write is lost when they end, unless it is shared memory; this
 * process must not have used a device before. Under a launcher fn runs once, in this process; ranks must then
 * be 1 or WORLD_SIZE, and every process calls this function with agreeing options. Returns the first failing
 * rank's status; its message, which begins with that rank (see sley_last_error), becomes this thread's (under
 * a launcher: the message of this process's own rank). If a transport between processes cannot start on all
 * ranks, they change to another together; sley_comm_device_note reports it. Errors also: SLEY_ERR_PEER (a
 * rank did not arrive in time, or was killed: the message names it). */
sley_status sley_run_ranks(const sley_rank_options *options, sley_rank_fn fn, void *arg);

typedef struct sley_comm_options {
  size_t struct_size;
  /* "tcp", "mpi", "nccl", "nvshmem", another module's name, or, for one rank, "threads". "self": this process
   * alone is the comm, whatever launcher started it, and the call is not collective. NULL: "mpi" with
   * mpi_comm; else under a launcher "nccl" for the device "cuda", "mpi" if MPI's own launcher started the
   * ranks and the module is installed, or "tcp"; without a launcher "threads". */
  const char *transport;
  int workgroup;      /* as in sley_rank_options, like all fields here without a comment */
  int threads;        /* threads of this rank; 0: cores / ranks of this host, as far as a launcher states
                       * them, at least 1 */
  const char *device; /* as in sley_rank_options; also "cuda:N": the GPU number N of the GPUs that the process
                       * sees, whatever the rank */
  const char *trace;  /* file of the timeline, written by sley_comm_close; if ranks are processes, by rank
                       * 0 */
  double timeout;
  /* NULL, or the address of an MPI_Comm: its ranks are the comm's ranks, with the same numbers, whatever
   * launcher started them, and every one of them opens the comm. It may be a part of MPI_COMM_WORLD, over any
   * transport between processes. MPI must be initialised, with MPI_THREAD_SERIALIZED or more if threads other
   * than MPI's main thread are to use the comm; Sley does not finalise it. The communicator is used while the
   * comm is opened, and may be freed afterwards. Needs libsley_mpi.so, built with the program's MPI. */
  const void *mpi_comm;
} sley_comm_options;
#define SLEY_COMM_OPTIONS_INIT                                                                               \
  { sizeof(sley_comm_options), NULL, 0, 0, NULL, NULL, 0, NULL }

/* Makes this process a rank, in a program whose processes are the ranks themselves: processes that a launcher
 * started (mpirun, srun, torchrun; any that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT), or the
 * processes of an MPI communicator; without either, one rank. options may be NULL. Collective over all of
 * them.
 *
 * The comm, and the plans made with it, may be used by any one thread at a time: not only by the thread that
 * opened it, and with any synchronisation that orders the threads' calls. Errors and sley_last_error belong
 * to the thread that made the call. If MPI was initialised for its main thread alone, only that thread may
 * use a comm over mpi.
 *
 * Several comms can be opened one after another, and at the same time, of a launcher's ranks or of different
 * communicators: all ranks open, use and close them in the same order. Over nvshmem only one can be open at a
 * time (a second one changes to nccl). Errors: SLEY_ERR_ARG (an option; a launcher's variable; "threads" for
 * several ranks), SLEY_ERR_UNSUPPORTED (no such module, or a transport or device that is not available),
 * SLEY_ERR_PEER (a rank did not arrive in time, or has failed), SLEY_ERR_IO, SLEY_ERR_MEMORY,
 * SLEY_ERR_INTERRUPTED. */
sley_status sley_comm_open(const sley_comm_options *options, sley_comm **out);

/* Ends this rank's part, after its plans have been destroyed and its memory freed; waits until all ranks have
 * closed the comm. A rank that still waits for this one in another call gets SLEY_ERR_PEER. After a failure
 * of any rank, or sley_interrupt, it waits a few seconds at most. NULL: does nothing. Collective. Errors:
 * SLEY_ERR_ARG (a comm that sley_comm_open did not make), errors of writing the timeline; the comm is freed
 * all the same. */
sley_status sley_comm_close(sley_comm *comm);

/* Finds out which launcher started this process as one rank of several, from the environment variables: *name
 * receives "variables" (RANK and WORLD_SIZE, which torchrun sets), "mpi" (mpirun, or srun with PMI), "srun",
 * or NULL: none. *rank and *ranks receive the rank and the number of ranks, 0 if there is no launcher. *name
 * is static. Not collective. Errors: SLEY_ERR_ARG (a variable is wrong, or the variables of two launchers
 * disagree: the message names them). */
sley_status sley_launcher(const char **name, int *rank, int *ranks);

/* Traffic over the sockets between ranks, counted where the system accepted it. */
typedef struct sley_socket_counts {
  int64_t messages;     /* messages with rows or values; each has its own header */
  int64_t row_bytes;    /* bytes of these rows and values */
  int64_t header_bytes; /* bytes of the headers of these messages */
  /* Calls of sendmsg for these messages: a long message takes several, a full socket takes nothing. */
  int64_t sends;
  /* Bytes of all other traffic: meeting, planning, requests, acknowledgements, heartbeats, farewells. */
  int64_t control_bytes;
  int64_t control_sends; /* calls of send and sendmsg for the other traffic */
} sley_socket_counts;

/* Fills *out with the traffic that this process, and the ranks that it has forked, have sent since it
 * began. Complete once sley_run_ranks or sley_comm_close has returned. Not collective. */
void sley_sockets_counted(sley_socket_counts *out);

/* Return the number of this rank, from 0, the number of ranks, and the number of ranks in a full
 * workgroup. */
int sley_comm_rank(const sley_comm *comm);
int sley_comm_size(const sley_comm *comm);
int sley_comm_workgroup(const sley_comm *comm);

/* The transport that runs: "threads", "tcp", "nccl", ... Static. */
const char *sley_comm_transport(const sley_comm *comm);

/* Returns whether the ranks are threads of one process, so that they can read each other's memory. */
bool sley_comm_one_process(const sley_comm *comm);

/* Returns when every rank has called it. Collective. */
sley_status sley_comm_barrier(sley_comm *comm);

typedef enum sley_reduce { SLEY_SUM = 0, SLEY_MIN = 1, SLEY_MAX = 2 } sley_reduce;

/* Replaces each of count numbers by the sum, minimum or maximum over all ranks of the number in its place.
 * Collective. Errors: SLEY_ERR_ARG (ranks disagree), SLEY_ERR_OVERFLOW, SLEY_ERR_PEER. */
sley_status sley_comm_allreduce(sley_comm *comm, sley_reduce op, int64_t *values, int count);

/* Collects bytes[r] bytes from every rank r on rank root, in the order of the ranks. There dst has room for
 * the sum of bytes; elsewhere dst is ignored. bytes: size entries, the same on every rank. Host memory.
 * Collective. Errors: SLEY_ERR_ARG (ranks disagree), SLEY_ERR_MEMORY, SLEY_ERR_PEER. */
sley_status sley_comm_gather(sley_comm *comm, int root, const void *src, const int64_t *bytes, void *dst);

/* The device that holds the rank's X and Y and runs its kernels: "cpu" or "cuda". Static. */
const char *sley_comm_device(const sley_comm *comm);

/* Why "auto" did not take a GPU that is present and whose module is installed, or why another transport runs
 * than was asked for; "" otherwise. Valid as long as the comm. */
const char *sley_comm_device_note(const sley_comm *comm);

/* A warning that the ranks have met over a network that is their only protection from strangers: neither the
 * launcher nor the user has given them a secret (SLEY_SECRET, SLEY_SECRET_FILE). "" otherwise. Static. */
const char *sley_comm_network_note(const sley_comm *comm);

/* Allocates memory of the rank's device, for X and Y; contents undefined. Freed by sley_comm_free before the
 * comm ends (on cuda that waits for the GPU). bytes >= 0. Errors: SLEY_ERR_ARG, SLEY_ERR_MEMORY. */
sley_status sley_comm_alloc(sley_comm *comm, int64_t bytes, void **out);
void sley_comm_free(sley_comm *comm, void *block); /* accepts NULL */

typedef enum sley_copy {
  SLEY_TO_DEVICE = 0, /* src is host memory */
  SLEY_TO_HOST = 1,   /* dst is host memory */
  SLEY_WITHIN = 2     /* src and dst are memory of the device */
} sley_copy;

/* Copies bytes, after the work that the rank's calls have enqueued so far. Waits until the copy is done if
 * the host side is ordinary memory; if it is pinned, the copy is done when sley_comm_wait returns. Errors:
 * SLEY_ERR_ARG. */
sley_status sley_comm_copy(sley_comm *comm, void *dst, const void *src, int64_t bytes, sley_copy kind);

/* Waits until all work that the rank's calls have enqueued is done. Errors: also errors of work enqueued
 * earlier. */
sley_status sley_comm_wait(sley_comm *comm);

/* Sends the rank's work from now on to the caller's stream (cudaStream_t), after all work enqueued so far;
 * NULL: to a stream of Sley's own; cudaStreamLegacy: to CUDA's default stream. Call it between calls; the
 * stream must outlive its use, and the stream it replaces must still exist. A stream that is being captured
 * does not wait for work enqueued before: the caller waits for that before the capture begins. Errors:
 * SLEY_ERR_UNSUPPORTED (a stream on the cpu). */
sley_status sley_comm_set_stream(sley_comm *comm, void *stream);

#ifdef __cplusplus
}
#endif
#endif

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
  int ranks;     /* default 1 */
  int workgroup; /* ranks joined by direct links; 0: all. Between workgroups only messages travel */
  int threads;   /* of each rank; 0: cores / ranks, at least 1 */
  /* NULL or "threads": ranks are threads of this process. "tcp", or "nccl" and other modules: ranks are
   * processes, forked from this one, or, where a launcher such as torchrun has set RANK and WORLD_SIZE, those
   * it has started. */
  const char *transport;
  const char *trace; /* NULL, or a file that receives a timeline for Perfetto */
  const char
      *device; /* NULL or "cpu"; "cuda": rank r on GPU r modulo their number; "auto": cuda if there is any */
  double timeout; /* of ranks that are processes: seconds to meet, and until one that is stopped or cut off
                   * counts as failed; 0: SLEY_TIMEOUT, else 60 */
} sley_rank_options;
#define SLEY_RANK_OPTIONS_INIT                                                                               \
  { sizeof(sley_rank_options), 1, 0, 0, NULL, NULL, NULL, 0 }

/* What one rank does. A status other than SLEY_OK ends the other ranks with SLEY_ERR_PEER. */
typedef sley_status (*sley_rank_fn)(sley_comm *comm, void *arg);

/* Runs fn once a rank, and waits for all. Ranks that are threads share arg. Ranks that are forked see it, and
 * all memory, as it is now, and what they write is lost when they end, unless it is shared memory; no device
 * may have been touched in this process before. Under a launcher fn runs once, in this process; ranks must
 * then be 1 or WORLD_SIZE, and every process calls this with agreeing options. Returns the first failing
 * rank's status; its message, led by that rank (see sley_last_error), becomes this thread's (under a
 * launcher: this process's own rank's). Where a transport between processes cannot start on all ranks, they
 * turn to another together; sley_comm_device_note says so. Errors also: SLEY_ERR_PEER (a rank did not come in
 * time, or was killed: it is named). */
sley_status sley_run_ranks(const sley_rank_options *options, sley_rank_fn fn, void *arg);

typedef struct sley_comm_options {
  size_t struct_size;
  /* "tcp", "mpi", "nccl", "nvshmem", another module's name, or, for one rank, "threads"; "self": this process
   * alone is the comm, whatever launcher has started it, and not collective. NULL: "mpi" with
   * mpi_comm; else under a launcher "nccl" for the device "cuda", "mpi" where MPI's own launcher has started
   * the ranks and the module is there, or "tcp"; else "threads". */
  const char *transport;
  int workgroup;      /* as in sley_rank_options, like the rest */
  int threads;        /* 0: cores / ranks of this host, as far as a launcher tells, at least 1 */
  const char *device; /* also "cuda:N": GPU N of those that the process sees, whatever the rank */
  const char *trace;  /* written by sley_comm_close, of ranks that are processes by rank 0 */
  double timeout;
  /* NULL, or the address of an MPI_Comm: its ranks are the comm's, by the same numbers, whatever launcher has
   * started them, and every one of them opens the comm. It may be a part of MPI_COMM_WORLD, over any
   * transport between processes. MPI has been initialised, with MPI_THREAD_SERIALIZED or more if threads
   * other than MPI's main one are to use the comm; Sley does not finalise it. The communicator is used while
   * the comm is opened, and may be freed afterwards. Needs libsley_mpi.so, built with the program's MPI. */
  const void *mpi_comm;
} sley_comm_options;
#define SLEY_COMM_OPTIONS_INIT                                                                               \
  { sizeof(sley_comm_options), NULL, 0, 0, NULL, NULL, 0, NULL }

/* Makes this process a rank, in a program whose processes are the ranks themselves: those that a launcher
 * (mpirun, srun, torchrun; any that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT) has started, or those
 * of an MPI communicator; without either, one rank. options may be NULL. Collective over all of them.
 *
 * The comm, and the plans made with it, may be used by any one thread at a time: not only the one that has
 * opened it, and with whatever synchronisation orders the threads' calls. Errors and sley_last_error belong
 * to the thread that made the call. Where MPI was initialised for its main thread alone, only that one may
 * use a comm over mpi.
 *
 * Several comms can be opened one after another, and at the same time, of a launcher's ranks or of different
 * communicators: all ranks open, use and close them in the same order. Over nvshmem there is one at a time
 * (another turns to nccl). Errors: SLEY_ERR_ARG (an option; a launcher's
 * variable; "threads" for several ranks), SLEY_ERR_UNSUPPORTED (no such module, a transport or device that is
 * not to be had), SLEY_ERR_PEER (a rank did not come in time, or has failed), SLEY_ERR_IO, SLEY_ERR_MEMORY,
 * SLEY_ERR_INTERRUPTED. */
sley_status sley_comm_open(const sley_comm_options *options, sley_comm **out);

/* Ends this rank's part, after its plans have been destroyed and its memory freed; waits until all ranks have
 * closed the comm. A rank that still waits for this one in another call gets SLEY_ERR_PEER. After a failure
 * of any rank, or sley_interrupt, nothing is waited for but a few seconds at most. NULL: nothing. Collective.
 * Errors: SLEY_ERR_ARG (a comm that sley_comm_open has not made), those of writing the timeline; the comm is
 * gone all the same. */
sley_status sley_comm_close(sley_comm *comm);

/* Who has started this process as one rank of several, as its variables tell: *name receives "variables"
 * (RANK and WORLD_SIZE, which torchrun sets), "mpi" (mpirun, or srun with PMI), "srun", or NULL: nobody.
 * *rank and *ranks receive the rank and the number of ranks, 0 where nobody has. Static; not collective.
 * Errors: SLEY_ERR_ARG (a variable is wrong, or two launchers' disagree: it names them). */
sley_status sley_launcher(const char **name, int *rank, int *ranks);

/* What has gone over the sockets between ranks, counted where the system took it. */
typedef struct sley_socket_counts {
  int64_t messages;     /* that carried rows or values, each with a header of its own */
  int64_t row_bytes;    /* those rows and values */
  int64_t header_bytes; /* of those messages */
  /* Calls of sendmsg for them: a long message takes several, a full socket takes nothing. */
  int64_t sends;
  /* All else: meeting, planning, requests, acknowledgements, signs of life, farewells. */
  int64_t control_bytes;
  int64_t control_sends; /* calls of send and sendmsg for that */
} sley_socket_counts;

/* Fills *out with what this process, and the ranks that it has forked, have sent since it began. Complete
 * once sley_run_ranks or sley_comm_close has returned. Local. */
void sley_sockets_counted(sley_socket_counts *out);

int sley_comm_rank(const sley_comm *comm);
int sley_comm_size(const sley_comm *comm);
int sley_comm_workgroup(const sley_comm *comm); /* ranks in a full workgroup */

/* The transport that runs: "threads", "tcp", "nccl", ... Static. */
const char *sley_comm_transport(const sley_comm *comm);

/* Whether the ranks are threads of one process, so that they can read each other's memory. */
bool sley_comm_one_process(const sley_comm *comm);

/* Returns when every rank has called it. Collective. */
sley_status sley_comm_barrier(sley_comm *comm);

typedef enum sley_reduce { SLEY_SUM = 0, SLEY_MIN = 1, SLEY_MAX = 2 } sley_reduce;

/* Each of count numbers becomes the sum, least or greatest of all ranks' there. Collective.
 * Errors: SLEY_ERR_ARG (ranks disagree), SLEY_ERR_OVERFLOW, SLEY_ERR_PEER. */
sley_status sley_comm_allreduce(sley_comm *comm, sley_reduce op, int64_t *values, int count);

/* bytes[r] bytes of every rank r come to rank root, one rank's after the other's: dst there holds their sum,
 * and is not looked at elsewhere. bytes: size entries, the same on every rank. Host memory. Collective.
 * Errors: SLEY_ERR_ARG (ranks disagree), SLEY_ERR_MEMORY, SLEY_ERR_PEER. */
sley_status sley_comm_gather(sley_comm *comm, int root, const void *src, const int64_t *bytes, void *dst);

/* Where the rank's X and Y lie and its kernels run: "cpu" or "cuda". Static. */
const char *sley_comm_device(const sley_comm *comm);

/* Why "auto" did not take a GPU that is there and whose module is installed, or another transport runs than
 * was asked for; "" otherwise. Valid as long as the comm. */
const char *sley_comm_device_note(const sley_comm *comm);

/* That the ranks have met over a network, and nothing but the network has kept strangers out: neither the
 * launcher nor the user has given them a secret (SLEY_SECRET, SLEY_SECRET_FILE). "" otherwise. Static. */
const char *sley_comm_network_note(const sley_comm *comm);

/* Memory of the rank's device, for X and Y; contents undefined. Freed by sley_comm_free before the comm ends
 * (on cuda that waits for the GPU). bytes >= 0. Errors: SLEY_ERR_ARG, SLEY_ERR_MEMORY. */
sley_status sley_comm_alloc(sley_comm *comm, int64_t bytes, void **out);
void sley_comm_free(sley_comm *comm, void *block); /* accepts NULL */

typedef enum sley_copy {
  SLEY_TO_DEVICE = 0, /* src is host memory */
  SLEY_TO_HOST = 1,   /* dst is host memory */
  SLEY_WITHIN = 2     /* both are the device's */
} sley_copy;

/* Copies bytes, after what the rank's calls have enqueued so far. Waits until the copy is done if a host side
 * is ordinary memory; if it is pinned, sley_comm_wait tells when. Errors: SLEY_ERR_ARG. */
sley_status sley_comm_copy(sley_comm *comm, void *dst, const void *src, int64_t bytes, sley_copy kind);

/* Returns when all that the rank's calls have enqueued is done. Errors: also those of work enqueued earlier.
 */
sley_status sley_comm_wait(sley_comm *comm);

/* From now on the rank's work goes to the caller's stream (cudaStream_t), after all enqueued so far; NULL: to
 * one of Sley's own; cudaStreamLegacy for CUDA's default stream. Between calls; the stream outlives its use,
 * and the one left still exists. A stream that is being captured does not wait for what was enqueued before:
 * the caller waits for that before the capture begins. Errors: SLEY_ERR_UNSUPPORTED (a stream on the cpu). */
sley_status sley_comm_set_stream(sley_comm *comm, void *stream);

#ifdef __cplusplus
}
#endif
#endif

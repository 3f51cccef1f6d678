/* SPDX-License-Identifier: Apache-2.0 */
/* The base of all transports between processes: how ranks start and meet, the collectives, abort, counters,
 * and symmetric memory of the host. A transport adds its exchanges, and symmetric memory of its devices. */
#ifndef SLEY_TRANSPORT_PROCESS_PROCESS_H
#define SLEY_TRANSPORT_PROCESS_PROCESS_H

#include "bootstrap/place.h"
#include "socket/mesh.h"
#include "transport/backend.h"
#include "transport/dense_collective.h"

/* A rank's comm; a transport extends the struct by making it its first member. */
typedef struct sl_process_comm {
  sl_comm base;
  const struct sl_process_backend *backend;
  bool in_place; /* messages can be sent from and received into any device memory, not only packed buffers */
  sl_mesh *mesh;
  sl_team *own_team;    /* team of a rank whose device has none */
  const void *mpi_comm; /* field of sl_launch, used while the transport starts */
  int ordinal;          /* number of the rank's device among its kind on this host */
  double timeout;       /* seconds */
  sl_counters counters;
  uint64_t next_id; /* next id of exchanges and symmetric memory, the same on all ranks */
  uint64_t rounds;  /* exchanges begun so far */
  struct sl_process_symm *symms;
  struct sl_mesh_rows *asks; /* requests for rows, by rank; NULL as long as all symmetric memory is mapped */
  struct sl_process_staging
      *staging;     /* staging memory for symmetric memory on devices; NULL if there is none */
  uint32_t words;   /* number of one-sided accesses to single words */
  bool *dirty;      /* by rank: whether this rank has made puts to it since the last flush */
  int *first_there; /* by rank, if devices are not the host: the first rank that has the same device */
  char note[SLEY_ERROR_BYTES]; /* text of sley_comm_device_note */
  /* The memory of devices that the host cannot address: see direct.h. */
  const struct sl_peer_memory *memory;
  bool direct;               /* the devices of a workgroup load each other's memory; the same on all ranks */
  sl_queue *urgent;          /* with direct: queue for receiving concurrently with the rank's queue; else
                                NULL */
  uint32_t *stop;            /* with direct: word that ends the waits of kernels */
  struct sl_direct *parting; /* exchanges that this rank has destroyed, but not yet all its peers */
} sl_process_comm;

/* A transport between processes. */
typedef struct sl_process_backend {
  const char *name;
  const struct sl_carrier *carrier; /* moves the messages of its exchanges: see process_exchange.h */
  const struct sl_carrier
      *sized;        /* moves the messages of sized exchanges, whose bytes all travel as messages */
  size_t comm_bytes; /* bytes of its comm struct, which is zeroed before start */
  /* Prepares a comm whose base, device and mesh are set; stop undoes it, and is not called if start failed.
   * Every rank calls start, and then the ranks agree on the result. start may use mesh's collectives, set
   * in_place, and lower base.workgroup. */
  sley_status (*start)(sl_process_comm *comm);
  void (*stop)(sl_process_comm *comm);
  /* Called when a rank has failed: ends this rank's part of all operations in flight. May be called again. */
  void (*abandon)(sl_process_comm *comm);
  /* Finds where this process's rank meets the others, `ranks` of them (0: any number), within timeout
   * seconds. mpi_comm: NULL, or the address of the MPI_Comm with the ranks. The slot may be NULL: a
   * launcher's variables are used, and without a launcher the ranks are forked. Collective. */
  sley_status (*place)(int ranks, const void *mpi_comm, double timeout, sl_place *out);
  /* The slot of the same name in the transport's operations: sl_dense_no_native, or the transport's own
     function. */
  sley_status (*dense_native)(sl_comm *comm, const sl_dense_spec *spec, sl_dense_native **out);
  const struct sl_far_memory *far; /* get and put between workgroups by the transport's library; NULL: by
                                      requests over the mesh */
  const char *next;                /* the transport used by all ranks if this one cannot start; NULL: none */
} sl_process_backend;

/* The slot run of a transport's sl_transport_backend: runs one rank in this process if there is a launcher,
 * else forks launch->ranks ranks. */
sley_status sl_process_run(const sl_process_backend *backend, const sl_launch *launch, sl_rank_main main,
                           void *arg);

/* Makes this process a rank: meets the others at place, opens its device, starts the transport.
 * Collective. */
sley_status sl_process_open(const sl_process_backend *backend, const sl_launch *launch, const sl_place *place,
                            sl_process_comm **out);

/* Ends this rank's part: together with the other ranks, or, if status is an error (this rank's, with the
 * thread's message) or a rank has failed, without waiting for others. The thread's error stays. Collective.
 */
void sl_process_end(sl_process_comm *comm, sley_status status);

/* Finds where the ranks of this process's job meet: by launch->mpi_comm, by the backend's own slot place, or
 * by a launcher's variables; *launched false: there is no launcher, and place describes a single rank.
 * Collective. */
sley_status sl_process_place(const sl_process_backend *backend, const sl_launch *launch, sl_place *out,
                             bool *launched);

/* Runs a rank: sl_process_open, main, sl_process_end. */
sley_status sl_process_join(const sl_process_backend *backend, const sl_launch *launch, const sl_place *place,
                            sl_rank_main main, void *arg);

/* For libraries that need a separate device for each rank: reports the first two ranks that share a device.
 * The same on all ranks. Errors: SLEY_ERR_UNSUPPORTED. */
sley_status sl_process_refuse_shared(const sl_process_comm *comm, const char *library);

/* The operations of all transports between processes. */
extern const sl_transport_ops sl_process_ops;

/* Slots of sl_process_ops, over comm->mesh. */
sley_status sl_process_barrier(sl_comm *comm);
sley_status sl_process_allgather(sl_comm *comm, const void *src, int64_t bytes, void *dst);
sley_status sl_process_alltoallv(sl_comm *comm, const void *send, const int64_t *send_at,
                                 const int64_t *send_bytes, void *recv, const int64_t *recv_at,
                                 const int64_t *recv_bytes);
sley_status sl_process_allreduce(sl_comm *comm, sl_reduce op, int64_t *values, int count);
/* Waits on the host until the queue's work is done, and serves the mesh meanwhile. Errors: SLEY_ERR_PEER (a
 * rank has failed, or the work takes longer than the time limit, as if it waited for one),
 * SLEY_ERR_INTERRUPTED: this rank has then aborted. */
sley_status sl_process_wait_for(sl_process_comm *comm, sl_queue *queue);
sley_status sl_process_wait(sl_comm *comm);
/* Ends all operations in flight, on devices also the waits of kernels. */
void sl_process_abort(sl_comm *comm, sley_status status);
/* Called last in every call that uses the mesh, with its status, which it returns. SLEY_OK: from here on the
 * progress thread serves other ranks. Else, if a rank has failed: ends all operations in flight, so that no
 * other rank accesses this rank's memory any more. */
sley_status sl_process_over(sl_comm *comm, sley_status status);
void sl_process_counters(const sl_comm *comm, sl_counters *out);
void sl_process_counters_reset(sl_comm *comm);
void sl_process_counters_add(sl_comm *comm, sl_link link, int64_t bytes, int64_t messages);
void sl_process_close(sl_comm *comm);

/* One-sided memory (symmetric.h): mapped inside a workgroup, accessed by the backend's slot far or by
 * requests over the mesh between workgroups. */
extern const sl_symm_ops sl_process_symm_ops;

/* Slots of sl_process_symm_ops that process_symmetric.c defines. */
sley_status sl_process_symm_alloc(sl_comm *comm, int64_t bytes, sl_symm **out);
void sl_process_symm_free(sl_symm *symm);

/* Frees the comm's remaining symmetric memory, once mesh is closed. */
void sl_process_symm_end(sl_process_comm *comm);

/* Frees the queue and memory that one-sided access to device memory uses. Called before the device is closed.
 */
void sl_process_staging_stop(sl_process_comm *comm);

/* Waits until all puts to that rank, or to all ranks if SL_ALL_RANKS, are complete there. */
sley_status sl_process_flush_puts(sl_process_comm *comm, int rank);

/* Checks this rank's lists and, with all ranks, that they match its peers' lists. mine: the rank's own status
 * so far. Either every rank gets an error or none. Collective. */
sley_status sl_process_match_lists(sl_process_comm *comm, const sl_exchange_spec *spec, sley_status mine);

/* Slots of sl_process_ops for predictions: the number of messages of an exchange's list, as the carrier sends
   them, and of the requests of get_rows. */
int64_t sl_process_list_messages(const sl_comm *comm, const sl_row_list *list, sl_grain grain);
int64_t sl_process_row_messages(const sl_comm *comm, int peer, int64_t count, int64_t bytes);

#endif

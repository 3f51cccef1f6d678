/* SPDX-License-Identifier: Apache-2.0 */
/* A transport's entry in the registry: how it starts ranks. */
#ifndef SLEY_TRANSPORT_BACKEND_H
#define SLEY_TRANSPORT_BACKEND_H

#include "transport/transport.h"

/* The main function of a rank. */
typedef sley_status (*sl_rank_main)(sl_comm *comm, void *arg);

typedef struct sl_launch {
  int ranks, workgroup, threads;
  bool alone;           /* for sl_comm_start: the comm has one rank, whatever launcher started the process */
  const char *trace;    /* file of the timeline; NULL: none */
  const char *device;   /* NULL or a name for sl_device_choose */
  double timeout;       /* seconds, for transports between processes; 0: see sl_timeout */
  const void *mpi_comm; /* NULL, or the address of an MPI_Comm with the ranks; for sl_comm_start only */
} sl_launch;

/* How a transport starts ranks. */
typedef struct sl_transport_backend {
  const char *name;
  sley_status (*run)(const sl_launch *launch, sl_rank_main main, void *arg);
  /* Describes the transport. Returns NULL if something that it needs at run time is not installed; the
   * thread's last error names it. */
  const char *(*describe)(void);
  const struct sl_process_backend *process; /* for transports between processes; else NULL */
} sl_transport_backend;

#endif

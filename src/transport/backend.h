/* SPDX-License-Identifier: Apache-2.0 */
/* A transport as it is entered in the registry: how it starts ranks. */
#ifndef SLEY_TRANSPORT_BACKEND_H
#define SLEY_TRANSPORT_BACKEND_H

#include "transport/transport.h"

/* One rank's main. */
typedef sley_status (*sl_rank_main)(sl_comm *comm, void *arg);

typedef struct sl_launch {
  int ranks, workgroup, threads;
  bool alone;         /* of sl_comm_start: one rank, whatever launcher has started the process */
  const char *trace;  /* NULL: none */
  const char *device; /* NULL or a name that sl_device_choose takes */
  double timeout;     /* seconds, of transports between processes; 0: see sl_timeout */
  const void
      *mpi_comm; /* NULL, or the address of an MPI_Comm whose ranks these are; of sl_comm_start alone */
} sl_launch;

/* How a transport starts ranks. */
typedef struct sl_transport_backend {
  const char *name;
  sley_status (*run)(const sl_launch *launch, sl_rank_main main, void *arg);
  /* NULL: what it needs at run time is not installed; the thread's last error says what. */
  const char *(*describe)(void);
  const struct sl_process_backend *process; /* of transports between processes; else NULL */
} sl_transport_backend;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Which transports there are, built in or as modules. */
#ifndef SLEY_TRANSPORT_REGISTRY_H
#define SLEY_TRANSPORT_REGISTRY_H

#include "transport/transport.h"

/* One rank's main. */
typedef sley_status (*sl_rank_main)(sl_comm *comm, void *arg);

typedef struct sl_launch {
  int ranks, workgroup, threads;
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

/* Built in, or the module libsley_NAME.so. Errors: SLEY_ERR_ARG (unknown), SLEY_ERR_UNSUPPORTED (why not). */
sley_status sl_transport_backend_find(const char *name, const sl_transport_backend **out);

/* The same; but where the module of a transport that has another to turn to is not to be had, *out is one in
 * its place that cannot start: so its ranks meet those of processes that have it, and all turn to the next
 * together.
 */
sley_status sl_transport_backend_choose(const char *name, const sl_transport_backend **out);

/* Makes this process, and no other thread of it, a rank: of a launcher's ranks, of launch->mpi_comm's, or the
 * only one. launch->ranks and what is 0 of workgroup and threads are found here. Ended by sl_comm_end.
 * Collective. Errors: SLEY_ERR_UNSUPPORTED (the transport joins no processes, and there are several). */
sley_status sl_comm_start(const sl_transport_backend *backend, const sl_launch *launch, sl_comm **out);

/* Ends this rank's part, in order or after a failure; the thread's error stays. NULL: nothing. Collective. */
void sl_comm_end(sl_comm *comm);

extern const char *const sl_transport_names[];

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The table of transports, built in or as modules. */
#ifndef SLEY_TRANSPORT_TRANSPORT_REGISTRY_H
#define SLEY_TRANSPORT_TRANSPORT_REGISTRY_H

#include "transport/backend.h"

/* Finds a transport that is built in, or in the module libsley_NAME.so. Errors: SLEY_ERR_ARG (unknown),
 * SLEY_ERR_UNSUPPORTED (the message says why). */
sley_status sl_transport_backend_find(const char *name, const sl_transport_backend **out);

/* As sl_transport_backend_find; but if a module is missing whose transport has an alternative, *out is a
 * substitute that cannot start. Its ranks still meet ranks that have the module, and all change to the next
 * transport together. */
sley_status sl_transport_backend_choose(const char *name, const sl_transport_backend **out);

/* Makes this process, and no other thread of it, a rank: one of a launcher's ranks, one of the ranks of
 * launch->mpi_comm, or the only rank. Sets launch->ranks, and workgroup and threads if they are 0. Ended by
 * sl_comm_end. Collective. Errors: SLEY_ERR_UNSUPPORTED (the transport does not join processes, and there are
 * several). */
sley_status sl_comm_start(const sl_transport_backend *backend, const sl_launch *launch, sl_comm **out);

/* Ends this rank's part in the comm, also after a failure. The thread's error is preserved. NULL: does
 * nothing. Collective. */
void sl_comm_end(sl_comm *comm);

extern const char *const sl_transport_names[];

#endif

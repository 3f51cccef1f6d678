/* SPDX-License-Identifier: Apache-2.0 */
/* Which transports there are, built in or as modules. */
#ifndef SLEY_TRANSPORT_TRANSPORT_REGISTRY_H
#define SLEY_TRANSPORT_TRANSPORT_REGISTRY_H

#include "transport/backend.h"

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

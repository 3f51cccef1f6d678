/* SPDX-License-Identifier: Apache-2.0 */
/* Which transports there are, built in or as modules. */
#ifndef SLEY_TRANSPORT_REGISTRY_H
#define SLEY_TRANSPORT_REGISTRY_H

#include "transport/backend.h"

/* Built in, or the module libsley_NAME.so. Errors: SLEY_ERR_ARG (unknown), SLEY_ERR_UNSUPPORTED (why not). */
sley_status sl_transport_backend_find(const char *name, const sl_transport_backend **out);

/* The same; but where the module of a transport that has another to turn to is not to be had, *out is one in
 * its place that cannot start: so its ranks meet those of processes that have it, and all turn to the next
 * together.
 */
sley_status sl_transport_backend_choose(const char *name, const sl_transport_backend **out);

extern const char *const sl_transport_names[];

#endif

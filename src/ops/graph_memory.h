/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of graphs and of their operations in the memory of the rank's device. */
#ifndef SLEY_OPS_GRAPH_MEMORY_H
#define SLEY_OPS_GRAPH_MEMORY_H

#include "transport/transport.h"

/* A copy of count items; host is used until the rank's queue has come to its end. Errors: SLEY_ERR_MEMORY. */
sley_status sl_graph_upload(sl_comm *comm, const void *host, int64_t count, size_t bytes_each,
                            const void **out);

/* Frees such a copy, or other memory of the device. Accepts NULL. */
void sl_graph_give(sl_comm *comm, const void *block);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of graphs and of their operations in the memory of the rank's device. */
#ifndef SLEY_GRAPH_GRAPH_MEMORY_H
#define SLEY_GRAPH_GRAPH_MEMORY_H

#include "device/pattern.h"
#include "transport/transport.h"

/* A copy of count items; host is used until the rank's queue has come to its end. Errors: SLEY_ERR_MEMORY. */
sley_status sl_graph_upload(sl_comm *comm, const void *host, int64_t count, size_t bytes_each,
                            const void **out);

/* How many of the first `rows` rows are long, and the pattern's list of those of all its rows, or of those
 * that it lists. rowptr is on the host, and so is what the pattern lists; the second waits. Errors:
 * SLEY_ERR_MEMORY. */
int64_t sl_graph_count_long(const int64_t *rowptr, int64_t rows);
sley_status sl_graph_list_long(sl_comm *comm, const int64_t *rowptr, sl_pattern *pattern);

/* Frees such a copy, or other memory of the device. Accepts NULL. */
void sl_graph_give(sl_comm *comm, const void *block);

#endif

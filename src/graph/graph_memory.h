/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of graphs and of their operations in the memory of the rank's device. */
#ifndef SLEY_GRAPH_GRAPH_MEMORY_H
#define SLEY_GRAPH_GRAPH_MEMORY_H

#include "device/pattern.h"
#include "transport/transport.h"

/* Copies count items to device memory; host must stay valid until the rank's queue is finished. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_graph_upload(sl_comm *comm, const void *host, int64_t count, size_t bytes_each,
                            const void **out);

/* sl_graph_count_long returns how many of the first `rows` rows are long. The next function makes the
 * pattern's list of the long rows among all its rows, or among those that it lists. rowptr, and the rows that
 * the pattern lists, are in host memory; the second function waits. Errors: SLEY_ERR_MEMORY. */
int64_t sl_graph_count_long(const int64_t *rowptr, int64_t rows);
sley_status sl_graph_list_long(sl_comm *comm, const int64_t *rowptr, sl_pattern *pattern);

/* Frees such a copy, or other device memory. Accepts NULL. */
void sl_graph_give(sl_comm *comm, const void *block);

#endif

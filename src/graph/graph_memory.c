/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates arrays of graphs in device memory with their contents, and frees them. */
#include "graph/graph_memory.h"

#include "base/memory.h"

sley_status sl_graph_upload(sl_comm *comm, const void *host, int64_t count, size_t bytes_each,
                            const void **out) {
  void *there = NULL;
  sley_status status =
      sl_device_upload_private(comm->queue, host, count * (int64_t)bytes_each, "a graph", &there);
  *out = there;
  return status;
}

int64_t sl_graph_count_long(const int64_t *rowptr, int64_t rows) {
  int64_t count = 0;
  for (int64_t i = 0; i < rows; i++)
    count += rowptr[i + 1] - rowptr[i] > SL_LONG_ROW;
  return count;
}

sley_status sl_graph_list_long(sl_comm *comm, const int64_t *rowptr, sl_pattern *p) {
  int32_t *list = NULL;
  const int64_t count = sl_graph_count_long(rowptr, p->rows), rows = sl_pattern_work_rows(p);
  if (count == 0)
    return SLEY_OK;
  SL_TRY(SL_NEW(list, count, "a graph's long rows"));
  for (int64_t n = 0; n < rows; n++) {
    const int64_t i = sl_pattern_work_row(p, n);
    if (rowptr[i + 1] - rowptr[i] > SL_LONG_ROW)
      list[p->long_rows++] = (int32_t)i;
  }
  if (p->long_rows == 0) {
    sl_free(list);
    return SLEY_OK;
  }
  sley_status status = sl_graph_upload(comm, list, p->long_rows, sizeof *list, (const void **)&p->long_row);
  if (status == SLEY_OK)
    status = comm->queue->ops->queue_wait(comm->queue);
  sl_free(list);
  return status;
}

void sl_graph_give(sl_comm *comm, const void *block) {
  if (block)
    comm->device->ops->free(comm->device, (void *)block);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of graphs in the device's memory: taken with their contents, and given back. */
#include "ops/graph_memory.h"

sley_status sl_graph_upload(sl_comm *comm, const void *host, int64_t count, size_t bytes_each,
                            const void **out) {
  void *there = NULL;
  sley_status status = sl_device_upload(comm->queue, host, count * (int64_t)bytes_each, "a graph", &there);
  *out = there;
  return status;
}

void sl_graph_give(sl_comm *comm, const void *block) {
  if (block)
    comm->device->ops->free(comm->device, (void *)block);
}

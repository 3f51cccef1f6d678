/* SPDX-License-Identifier: Apache-2.0 */
/* Part of bench/gpu: the exchange of a plan by itself. */
#include "gather.h"

#include "base/memory.h"
#include "ops/spmm.h"

struct bench_gather {
  sl_comm *comm;
  sl_exchange *exchange;
  int64_t row_bytes;
  void *halo;
};

sley_status bench_gather_create(sley_comm *comm, sley_plan *handle, bench_gather **out, int64_t *bytes) {
  const sl_plan *plan = &handle->plan;
  *out = NULL;
  *bytes = 0;
  if (plan->exchanges.count == 0)
    return SLEY_OK;
  const sl_plan_exchange *from = SL_EXCHANGE(plan, 0);
  const sl_buffer *buffer = SL_BUFFER(plan, from->dst);
  bench_gather *gather;
  SL_TRY(SL_NEW_ZERO(gather, 1, "a gather"));
  gather->comm = comm;
  gather->row_bytes = buffer->row_bytes;
  sley_status status =
      comm->device->ops->alloc(comm->device, buffer->rows * buffer->row_bytes, "halo", &gather->halo);
  if (status == SLEY_OK)
    status = comm->ops->exchange_create(comm, &from->spec, &gather->exchange);
  if (status != SLEY_OK) {
    bench_gather_destroy(gather);
    return status;
  }
  for (int i = 0; i < from->spec.recvs; i++)
    if (from->spec.recv[i].peer != comm->rank)
      *bytes += from->spec.recv[i].count * from->spec.recv[i].bytes;
  *out = gather;
  return SLEY_OK;
}

sley_status bench_gather_run(bench_gather *gather, const void *x) {
  const sl_transport_ops *ops = gather->comm->ops;
  SL_TRY(ops->exchange_begin(gather->exchange, x, gather->row_bytes, gather->halo, gather->row_bytes,
                             gather->comm->queue));
  SL_TRY(ops->exchange_end(gather->exchange, gather->comm->queue));
  return sl_exchange_reclaim(gather->exchange, gather->comm->queue);
}

void bench_gather_destroy(bench_gather *gather) {
  if (!gather)
    return;
  if (gather->exchange)
    gather->comm->ops->exchange_destroy(gather->exchange);
  if (gather->halo)
    gather->comm->device->ops->free(gather->comm->device, gather->halo);
  sl_free(gather);
}

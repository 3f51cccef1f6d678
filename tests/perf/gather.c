/* SPDX-License-Identifier: Apache-2.0 */
/* Part of bench/gpu: the exchange of a plan by itself. */
#include "gather.h"

#include "base/memory.h"
#include "ops/spmm.h"

struct bench_gather {
  sl_comm *comm;
  int count;
  sl_exchange **exchange;     /* the plan's */
  int64_t x_bytes, row_bytes; /* bytes between rows of X, and of the halo */
  void *halo, *aligned;       /* aligned: rows in place of X, if the plan aligns X; else NULL */
};

static sley_status prepare(bench_gather *gather, const sl_plan *plan, int64_t *bytes) {
  sl_comm *comm = gather->comm;
  const sl_buffer *buffer = SL_BUFFER(plan, SL_EXCHANGE(plan, 0)->dst);
  gather->x_bytes = SL_BUFFER(plan, SL_BUFFER_X)->row_bytes;
  gather->row_bytes = buffer->row_bytes;
  if (plan->x_unit > 1) {
    gather->x_bytes = sl_up_to(gather->x_bytes, plan->x_unit);
    SL_TRY(comm->device->ops->alloc(comm->device, plan->x_rows * gather->x_bytes, "aligned X",
                                    &gather->aligned));
  }
  SL_TRY(SL_NEW_ZERO(gather->exchange, plan->exchanges.count, "a gather"));
  SL_TRY(comm->device->ops->alloc(comm->device, buffer->rows * buffer->row_bytes, "halo", &gather->halo));
  for (; gather->count < plan->exchanges.count; gather->count++) {
    const sl_exchange_spec *spec = &SL_EXCHANGE(plan, gather->count)->spec;
    SL_TRY(comm->ops->exchange_create(comm, spec, &gather->exchange[gather->count]));
    for (int i = 0; i < spec->recvs; i++)
      if (spec->recv[i].peer != comm->rank)
        *bytes += spec->recv[i].count * spec->recv[i].bytes;
  }
  return SLEY_OK;
}

sley_status bench_gather_create(sley_comm *comm, sley_plan *handle, bench_gather **out, int64_t *bytes) {
  const sl_plan *plan = &handle->plan;
  *out = NULL;
  *bytes = 0;
  if (plan->exchanges.count == 0)
    return SLEY_OK;
  bench_gather *gather;
  SL_TRY(SL_NEW_ZERO(gather, 1, "a gather"));
  gather->comm = comm;
  sley_status status = prepare(gather, plan, bytes);
  if (status != SLEY_OK) {
    bench_gather_destroy(gather);
    return status;
  }
  *out = gather;
  return SLEY_OK;
}

sley_status bench_gather_take(bench_gather *gather, const void *x) {
  sl_comm *comm = gather->comm;
  for (int i = 0; i < gather->count; i++)
    SL_TRY(comm->ops->exchange_begin(gather->exchange[i], gather->aligned ? gather->aligned : x,
                                     gather->x_bytes, gather->halo, gather->row_bytes, comm->queue));
  for (int i = 0; i < gather->count; i++)
    SL_TRY(comm->ops->exchange_end(gather->exchange[i], comm->queue));
  return SLEY_OK;
}

sley_status bench_gather_return(bench_gather *gather) {
  for (int i = 0; i < gather->count; i++)
    SL_TRY(sl_exchange_reclaim(gather->exchange[i], gather->comm->queue));
  return SLEY_OK;
}

void bench_gather_destroy(bench_gather *gather) {
  if (!gather)
    return;
  for (int i = gather->count - 1; i >= 0; i--)
    gather->comm->ops->exchange_destroy(gather->exchange[i]);
  sl_free(gather->exchange);
  if (gather->halo)
    gather->comm->device->ops->free(gather->comm->device, gather->halo);
  if (gather->aligned)
    gather->comm->device->ops->free(gather->comm->device, gather->aligned);
  sl_free(gather);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Rows, and values of entries, that the owners of columns fetch. */
#include "graph/graph_pull.h"

#include "base/interrupt.h"
#include "base/memory.h"
#include "graph/graph_memory.h"
#include "graph/graph_rows.h"
#include "transport/stopwatch.h"

static sley_status take(sley_graph *graph, int64_t count, int64_t bytes, void **out) {
  sl_device *device = graph->comm->device;
  int64_t all;
  if (__builtin_mul_overflow(count + 1, bytes, &all))
    return sl_fail(SLEY_ERR_OVERFLOW, "what travels for gradients has more than 2^63 bytes");
  return device->ops->alloc(device, all, "gradients", out);
}

sley_status sl_row_pull_open(sley_graph *graph, int64_t features, sley_dtype dtype, sl_row_pull *out) {
  *out = (sl_row_pull){.graph = graph, .features = features, .dtype = dtype};
  const int64_t rows = graph->rows + graph->row_halo->count,
                bytes = features * (int64_t)sley_dtype_bytes(dtype);
  sley_status status = sl_agree(graph->comm, take(graph, rows, bytes, &out->all));
  if (status == SLEY_OK)
    status = sl_halo_rows_of(graph->row_halo, features, dtype, &out->halo);
  if (status != SLEY_OK)
    sl_row_pull_close(out);
  return status;
}

/* Copies this rank's rows without gaps. */
static sley_status copy_own(const sl_row_pull *pull, const void *rows, int64_t ld) {
  const int64_t value = (int64_t)sley_dtype_bytes(pull->dtype);
  const sl_kernel_args args = {.op = SL_OP_ROWS,
                               .rows = {.count = pull->graph->rows,
                                        .bytes = pull->features * value,
                                        .src = rows,
                                        .src_stride = ld * value,
                                        .dst = pull->all,
                                        .dst_stride = pull->features * value,
                                        .dtype = pull->dtype}};
  return sl_graph_kernel(pull->graph, &args);
}

sley_status sl_row_pull_run(const sl_row_pull *pull, const void *rows, int64_t ld) {
  const int64_t bytes = pull->graph->rows * pull->features * (int64_t)sley_dtype_bytes(pull->dtype);
  SL_TRY(copy_own(pull, rows, ld));
  return sl_halo_rows_run(pull->halo, SL_HALO_GATHER, rows, ld, (char *)pull->all + bytes, pull->features);
}

void sl_row_pull_close(sl_row_pull *pull) {
  sl_halo_rows_destroy(pull->halo);
  if (pull->graph)
    sl_graph_give(pull->graph->comm, pull->all);
  *pull = (sl_row_pull){0};
}

/* Makes lists of entries, one for each peer with which entries are exchanged. */
static int list_entries(const int64_t *entries, const int64_t *begin, int ranks, int64_t bytes,
                        sl_row_list *out) {
  int count = 0;
  for (int p = 0; p < ranks; p++)
    if (begin[p] < begin[p + 1])
      out[count++] = (sl_row_list){
          .peer = p, .count = begin[p + 1] - begin[p], .rows = entries + begin[p], .bytes = bytes};
  return count;
}

static sley_status prepare(sley_graph *graph, const sl_owned *owned, sl_entry_pull *out) {
  SL_TRY(SL_NEW(out->lists, 2 * (int64_t)graph->comm->size, "entries by owner"));
  return take(graph, owned->entries, out->bytes, &out->all);
}

sley_status sl_entry_pull_open(sley_graph *graph, const sl_owned *owned, int64_t heads, sley_dtype dtype,
                               sl_entry_pull *out) {
  sl_comm *comm = graph->comm;
  *out = (sl_entry_pull){.graph = graph, .bytes = heads * (int64_t)sley_dtype_bytes(dtype)};
  sley_status status = sl_agree(comm, prepare(graph, owned, out));
  if (status == SLEY_OK) {
    sl_exchange_spec spec = {.name = "values of entries", .dtype = dtype};
    spec.send = out->lists;
    spec.recv = out->lists + comm->size;
    spec.sends = list_entries(owned->send, owned->send_begin, comm->size, out->bytes, out->lists);
    spec.recvs =
        list_entries(owned->recv, owned->recv_begin, comm->size, out->bytes, out->lists + comm->size);
    status = comm->ops->exchange_create(comm, &spec, &out->exchange);
  }
  if (status != SLEY_OK)
    sl_entry_pull_close(out);
  return status;
}

static sley_status move(const sl_entry_pull *pull, const void *values) {
  sl_comm *comm = pull->graph->comm;
  SL_TRY(sl_interrupted());
  SL_TRY(comm->ops->exchange_begin(pull->exchange, values, pull->bytes, pull->all, pull->bytes, comm->queue));
  SL_TRY(comm->ops->exchange_end(pull->exchange, comm->queue));
  return sl_exchange_reclaim(pull->exchange, comm->queue);
}

sley_status sl_entry_pull_run(const sl_entry_pull *pull, const void *values) {
  sl_comm *comm = pull->graph->comm;
  const sl_work before = sl_work_begin(comm, SL_WORK_EXCHANGE);
  return sl_abort_on_error(comm, sl_work_end(comm, before, move(pull, values)));
}

void sl_entry_pull_close(sl_entry_pull *pull) {
  if (pull->exchange)
    pull->graph->comm->ops->exchange_destroy(pull->exchange);
  if (pull->graph)
    sl_graph_give(pull->graph->comm, pull->all);
  sl_free(pull->lists);
  *pull = (sl_entry_pull){0};
}

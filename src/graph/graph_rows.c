/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches rows along the halo of a graph, and sends gradients back. */
#include "graph/graph_rows.h"

#include "base/interrupt.h"
#include "graph/graph_memory.h"
#include "transport/stopwatch.h"

static sley_status take_buffer(sl_graph_rows *rows) {
  sl_device *device = rows->graph->comm->device;
  int64_t bytes;
  if (__builtin_mul_overflow(rows->ld * (int64_t)sley_dtype_bytes(rows->dtype), rows->graph->halo->count + 1,
                             &bytes))
    return sl_fail(SLEY_ERR_OVERFLOW, "the halo's rows have more than 2^63 bytes");
  return device->ops->alloc(device, bytes, "rows of other ranks", &rows->buffer);
}

sley_status sl_graph_rows_open(sley_graph *graph, int64_t features, int64_t ld, sley_dtype dtype,
                               sl_graph_rows *out) {
  *out = (sl_graph_rows){.graph = graph, .features = features, .ld = ld, .dtype = dtype};
  sley_status status = sl_agree(graph->comm, take_buffer(out));
  if (status == SLEY_OK)
    status = sl_halo_rows_of(graph->halo, features, dtype, &out->halo);
  if (status != SLEY_OK)
    sl_graph_rows_close(out);
  return status;
}

void sl_graph_rows_close(sl_graph_rows *rows) {
  sl_halo_rows_destroy(rows->halo);
  if (rows->graph)
    sl_graph_give(rows->graph->comm, rows->buffer);
  *rows = (sl_graph_rows){0};
}

/* near is never NULL, because to kernels that means an operand of ones: a rank that owns no rows may pass
 * NULL. */
static sl_split_rows split(const sl_graph_rows *rows, const void *near, int64_t near_ld, void *far) {
  return (sl_split_rows){.near = near ? (void *)near : rows->buffer,
                         .far = far,
                         .near_rows = rows->graph->cols,
                         .near_ld = near_ld,
                         .far_ld = rows->ld};
}

static void *destination(const sl_graph_rows *rows, const sl_graph_fetch *fetch) {
  return fetch->fetched ? fetch->fetched : rows->buffer;
}

sl_split_rows sl_graph_rows_operand(const sl_graph_rows *rows, const sl_graph_fetch *fetch) {
  return split(rows, fetch->x, fetch->ldx, destination(rows, fetch));
}

static sl_pattern *pattern_of(sl_kernel_args *args) {
  return args->op == SL_OP_AGGREGATE ? &args->aggregate.pattern
         : args->op == SL_OP_SDDMM   ? &args->sddmm.pattern
                                     : &args->attention.pattern;
}

static sley_status run_part(const sley_graph *graph, const sl_relation *relation, const sl_row_part *part,
                            sl_kernel_args *args) {
  *pattern_of(args) = sl_relation_rows(relation, part);
  return sl_graph_kernel(graph, args);
}

sley_status sl_graph_rows_fetch_and_run(const sl_graph_rows *rows, const sl_graph_fetch *fetch,
                                        const sl_relation *relation, sl_kernel_args *args) {
  const sley_graph *graph = rows->graph;
  const sl_row_part *own = &relation->own_rows, *other = &relation->other_rows, all = {0};
  if (fetch->there || graph->comm->size == 1) {
    SL_TRY(sl_interrupted());
    return run_part(graph, relation, &all, args);
  }
  SL_TRY(sl_halo_rows_begin(rows->halo, SL_HALO_GATHER, fetch->x, fetch->ldx, destination(rows, fetch),
                            rows->ld));
  if (own->listed || other->rows == 0)
    SL_TRY(run_part(graph, relation, own, args));
  if (other->rows > 0) {
    SL_TRY(sl_halo_rows_arrive(rows->halo));
    SL_TRY(run_part(graph, relation, other, args));
  }
  return sl_halo_rows_end(rows->halo, SL_HALO_GATHER);
}

sley_status sl_graph_rows_return(const sl_graph_rows *rows, void *x, int64_t ldx) {
  if (rows->graph->comm->size == 1)
    return SLEY_OK;
  return sl_halo_rows_begin(rows->halo, SL_HALO_SCATTER_ADD, rows->buffer, rows->ld, x, ldx);
}

sley_status sl_graph_rows_returned(const sl_graph_rows *rows) {
  if (rows->graph->comm->size == 1)
    return SLEY_OK;
  return sl_halo_rows_end(rows->halo, SL_HALO_SCATTER_ADD);
}

static sl_work work_of(sl_op op) {
  return op == SL_OP_ROWS ? SL_WORK_EXCHANGE : op == SL_OP_AGGREGATE ? SL_WORK_SPMM : SL_WORK_ATTENTION;
}

sley_status sl_graph_kernel(const sley_graph *graph, const sl_kernel_args *args) {
  sl_comm *comm = graph->comm;
  const sl_work before = sl_work_begin(comm, work_of(args->op));
  return sl_abort_on_error(comm, sl_work_end(comm, before, sl_kernel_run(comm->queue, args)));
}

sley_status sl_graph_serves(const sley_graph *graph, const sl_kernel_args *args) {
  const sl_kernel *kernel;
  return sl_kernel_find(graph->comm->device, args, &kernel);
}

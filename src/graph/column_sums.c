/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by columns, in the two ways that column_sums.h describes. */
#include "graph/column_sums.h"

#include "base/memory.h"
#include "graph/graph_memory.h"

/* Allocates memory for chosen_bits. Agreed, because owners of columns that fetch the choice do not have the
 * entries of all rows. */
static sley_status take_chosen_memory(sl_column_sums *sums) {
  const sley_graph *graph = sums->rows->graph;
  sl_device *device = graph->comm->device;
  if (device->ops->host_addresses || sl_graph_pulls(graph))
    return SLEY_OK;
  sley_status status = SL_NEW_ZERO(sums->chosen_memory, 1, "an aggregation");
  if (status == SLEY_OK)
    status = device->ops->alloc(device, sl_chosen_bits_bytes(sums->relation->entries, sums->rows->features),
                                "an aggregation", &sums->chosen_memory->bits);
  return sl_agree(graph->comm, status);
}

sley_status sl_column_sums_open(const sl_graph_rows *rows, const sl_relation *relation, const sl_heads *shape,
                                bool chooses, bool factors, sl_column_sums *out) {
  sley_graph *graph = rows->graph;
  *out = (sl_column_sums){.rows = rows, .relation = relation};
  sley_status status = chooses ? take_chosen_memory(out) : SLEY_OK;
  if (status != SLEY_OK || !sl_graph_pulls(graph))
    return status;
  status = sl_row_pull_open(graph, rows->features, rows->dtype, &out->x);
  if (status == SLEY_OK && chooses)
    status = sl_row_pull_open(graph, rows->features, SLEY_F32, &out->chosen);
  if (status == SLEY_OK)
    status = sl_entry_pull_open(graph, &relation->owned, shape->heads, rows->dtype, &out->val);
  if (status == SLEY_OK && factors)
    status = sl_entry_pull_open(graph, &relation->owned, shape->heads, rows->dtype, &out->factor);
  if (status != SLEY_OK)
    sl_column_sums_close(out);
  return status;
}

/* Sums the halo's rows first, so that they are sent while the rank's own rows are summed. */
static sley_status sum_and_send(const sl_column_sums *sums, const sl_aggregate_args *args, void *x,
                                int64_t ldx) {
  const sl_graph_rows *rows = sums->rows;
  const sley_graph *graph = rows->graph;
  sl_chosen_memory *chosen = sums->chosen_memory;
  sl_kernel_args halo = {.op = SL_OP_AGGREGATE, .aggregate = *args}, own;
  if (args->chosen && chosen) {
    halo.aggregate.chosen_bits = chosen->bits;
    halo.aggregate.chosen_entries = sums->relation->entries;
    halo.aggregate.positions_kept = chosen->positions_kept;
  }
  own = halo;
  halo.aggregate.pattern = sl_relation_columns(sums->relation, true);
  halo.aggregate.y =
      (sl_split_rows){.near = rows->buffer, .near_rows = graph->halo->count, .near_ld = rows->ld};
  own.aggregate.pattern = sl_relation_columns(sums->relation, false);
  own.aggregate.marked = halo.aggregate.pattern.rows > 0;
  own.aggregate.positions_kept = own.aggregate.marked || halo.aggregate.positions_kept;
  own.aggregate.y = (sl_split_rows){.near = x, .near_rows = graph->cols, .near_ld = ldx};
  SL_TRY(sl_graph_kernel(graph, &halo));
  SL_TRY(sl_graph_rows_return(rows, x, ldx));
  SL_TRY(sl_graph_kernel(graph, &own));
  if (chosen)
    chosen->positions_kept = own.aggregate.positions_kept || own.aggregate.pattern.rows > 0;
  return sl_graph_rows_returned(rows);
}

static sley_status fetch_and_sum(const sl_column_sums *sums, const sl_aggregate_args *args, void *x,
                                 int64_t ldx) {
  const sl_owned *owned = &sums->relation->owned;
  const sley_graph *graph = sums->rows->graph;
  sl_kernel_args all = {.op = SL_OP_AGGREGATE, .aggregate = *args};
  sl_aggregate_args *a = &all.aggregate;
  a->pattern = owned->pattern;
  a->in_order = true;
  if (a->x.near) { /* if x is NULL, sums of ones */
    SL_TRY(sl_row_pull_run(&sums->x, a->x.near, a->x.near_ld));
    a->x =
        (sl_split_rows){.near = sums->x.all, .near_rows = owned->pattern.cols, .near_ld = sums->x.features};
  }
  if (a->val) {
    SL_TRY(sl_entry_pull_run(&sums->val, a->val));
    a->val = sums->val.all;
  }
  if (a->factor) {
    SL_TRY(sl_entry_pull_run(&sums->factor, a->factor));
    a->factor = sums->factor.all;
  }
  if (a->scale)
    a->scale = owned->per_row[a->dtype == SLEY_F64];
  if (a->chosen) {
    SL_TRY(sl_row_pull_run(&sums->chosen, a->chosen, sums->chosen.features));
    a->chosen = sums->chosen.all;
  }
  a->y = (sl_split_rows){.near = x, .near_rows = graph->cols, .near_ld = ldx};
  return sl_graph_kernel(graph, &all);
}

sley_status sl_column_sums_run(const sl_column_sums *sums, const sl_aggregate_args *args, void *x,
                               int64_t ldx) {
  return sl_graph_pulls(sums->rows->graph) ? fetch_and_sum(sums, args, x, ldx)
                                           : sum_and_send(sums, args, x, ldx);
}

void sl_column_sums_close(sl_column_sums *sums) {
  if (sums->chosen_memory)
    sl_graph_give(sums->rows->graph->comm, sums->chosen_memory->bits);
  sl_free(sums->chosen_memory);
  sl_entry_pull_close(&sums->factor);
  sl_entry_pull_close(&sums->val);
  sl_row_pull_close(&sums->chosen);
  sl_row_pull_close(&sums->x);
}

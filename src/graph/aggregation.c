/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregations: rows of X are fetched, and a kernel computes the rows of Y. Gradients are sent in the
   opposite direction. */
#include "graph/aggregation.h"

#include "base/memory.h"

static bool chooses(const sley_aggregation *g) {
  return g->kind == SL_AGGREGATE_MIN || g->kind == SL_AGGREGATE_MAX;
}

static sl_aggregate_args forward_args(const sley_aggregation *g) {
  return (sl_aggregate_args){.pattern = g->relation->by_rows,
                             .shape = g->shape,
                             .dtype = g->dtype,
                             .kind = g->kind,
                             .in_order = g->graph->reproducible};
}

/* Returns the arguments for dX: sums over the transpose; only chosen terms, or terms divided by the lengths
   of rows. */
static sl_aggregate_args gradient_args(const sley_aggregation *g) {
  return (sl_aggregate_args){
      .shape = g->shape, .dtype = g->dtype, .kind = SL_AGGREGATE_SUM, .in_order = g->graph->reproducible};
}

static sl_sddmm_args value_gradient_args(const sley_aggregation *g) {
  return (sl_sddmm_args){
      .pattern = g->relation->by_rows, .shape = g->shape, .dtype = g->dtype, .form = SL_SDDMM_DOT};
}

/* Checks when the aggregation is created that the device has all of its kernels. */
static sley_status check_kernels(const sley_aggregation *g) {
  SL_TRY(sl_graph_serves(g->graph, &(sl_kernel_args){.op = SL_OP_AGGREGATE, .aggregate = forward_args(g)}));
  SL_TRY(sl_graph_serves(g->graph, &(sl_kernel_args){.op = SL_OP_AGGREGATE, .aggregate = gradient_args(g)}));
  return sl_graph_serves(g->graph, &(sl_kernel_args){.op = SL_OP_SDDMM, .sddmm = value_gradient_args(g)});
}

static sley_status take(sley_graph *graph, const sley_aggregation_options *o, sley_aggregation **out) {
  SL_TRY(SL_NEW_ZERO(*out, 1, "an aggregation"));
  **out = (sley_aggregation){.graph = graph,
                             .relation = &graph->relation[o->relation],
                             .kind = (sl_aggregate)o->kind,
                             .shape = {o->heads, o->width},
                             .dtype = o->dtype};
  return check_kernels(*out);
}

sley_status sl_aggregation_create(sley_graph *graph, const sley_aggregation_options *options,
                                  sley_aggregation **out) {
  const int64_t features = options->heads * options->width;
  sley_aggregation *made = NULL;
  *out = NULL;
  sley_status status = sl_agree(graph->comm, take(graph, options, &made));
  if (status == SLEY_OK)
    status = sl_graph_rows_open(graph, features, features, options->dtype, &made->x);
  if (status == SLEY_OK && !graph->forward)
    status = sl_column_sums_open(&made->x, made->relation, &made->shape, chooses(made), false, &made->dx);
  if (status != SLEY_OK) {
    sl_aggregation_destroy(made);
    return status;
  }
  *out = made;
  return SLEY_OK;
}

static sl_graph_fetch fetch_of(const sley_aggregation_operands *o) {
  return (sl_graph_fetch){.x = o->x, .ldx = o->ldx, .fetched = o->fetched.rows, .there = o->fetched.there};
}

sley_status sl_aggregation_forward(const sley_aggregation *g, const sley_aggregation_operands *o) {
  sl_kernel_args args = {.op = SL_OP_AGGREGATE, .aggregate = forward_args(g)};
  const sl_graph_fetch fetch = fetch_of(o);
  sl_aggregate_args *a = &args.aggregate;
  a->x = sl_graph_rows_operand(&g->x, &fetch);
  a->val = o->val;
  a->arg = o->arg;
  a->add = o->add;
  a->y = (sl_split_rows){.near = o->y, .near_rows = g->graph->rows, .near_ld = o->ldy};
  return sl_graph_rows_fetch_and_run(&g->x, &fetch, g->relation, &args);
}

static const void *scale(const sley_aggregation *g) {
  return g->kind == SL_AGGREGATE_MEAN ? sl_relation_per_row(g->relation, g->dtype) : NULL;
}

static sley_status gradient_of_x(const sley_aggregation *g, const sley_aggregation_operands *o,
                                 const sley_aggregation_gradients *to) {
  sl_aggregate_args a = gradient_args(g);
  a.val = o->val;
  a.scale = scale(g);
  a.chosen = chooses(g) ? o->arg : NULL;
  a.x = (sl_split_rows){.near = (void *)to->dy, .near_rows = g->graph->rows, .near_ld = to->lddy};
  return sl_column_sums_run(&g->dx, &a, to->dx, to->lddx);
}

static sley_status gradient_of_values(const sley_aggregation *g, const sley_aggregation_operands *o,
                                      const sley_aggregation_gradients *to) {
  sl_kernel_args args = {.op = SL_OP_SDDMM, .sddmm = value_gradient_args(g)};
  const sl_graph_fetch fetch = fetch_of(o);
  sl_sddmm_args *s = &args.sddmm;
  s->v = sl_graph_rows_operand(&g->x, &fetch);
  s->scale = scale(g);
  s->chosen = chooses(g) ? o->arg : NULL;
  s->u = to->dy;
  s->ldu = to->lddy;
  s->s = to->dval;
  return sl_graph_rows_fetch_and_run(&g->x, &fetch, g->relation, &args);
}

sley_status sl_aggregation_backward(const sley_aggregation *g, const sley_aggregation_operands *o,
                                    const sley_aggregation_gradients *to) {
  if (to->dval)
    SL_TRY(gradient_of_values(g, o, to));
  return to->dx ? gradient_of_x(g, o, to) : SLEY_OK;
}

void sl_aggregation_destroy(sley_aggregation *aggregation) {
  if (!aggregation)
    return;
  sl_column_sums_close(&aggregation->dx);
  sl_graph_rows_close(&aggregation->x);
  sl_free(aggregation);
}

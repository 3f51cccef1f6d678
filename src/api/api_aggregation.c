/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregations on graphs: argument checks. */
#include "api/graph_operands.h"
#include "base/structs.h"
#include "graph/aggregation.h"

static sley_status take_options(const sley_graph *graph, const sley_aggregation_options *given,
                                sley_aggregation_options *out) {
  SL_TRY(sl_struct_take("sley_aggregation_options", given, sizeof *out, out));
  if ((unsigned)out->kind > SLEY_AGGREGATE_MAX)
    return sl_fail(SLEY_ERR_ARG, "sley_aggregation_create: there is no aggregation %d", (int)out->kind);
  return sl_check_shape("sley_aggregation_create", graph, out->heads, out->width, out->dtype, out->relation);
}

sley_status sley_aggregation_create(sley_graph *graph, const sley_aggregation_options *options,
                                    sley_aggregation **out) {
  static const char call[] = "sley_aggregation_create";
  static const char *const names[] = {"kind", "heads", "width", "dtype", "relation"};
  sley_aggregation_options o = SLEY_AGGREGATION_OPTIONS_INIT;
  if (!graph)
    return sl_fail(SLEY_ERR_ARG, "%s: graph is NULL", call);
  sley_status status = take_options(graph, options, &o);
  if (status == SLEY_OK && !out)
    status = sl_fail(SLEY_ERR_ARG, "%s: out is NULL", call);
  SL_TRY(sl_agree(graph->comm, status));
  SL_TRY(sl_agree_same(graph->comm, call, names,
                       (const int64_t[]){o.kind, o.heads, o.width, o.dtype, o.relation}, 5));
  return sl_aggregation_create(graph, &o, out);
}

static sl_dense_operand own_x(const sley_aggregation *g, const char *name, const void *data, int64_t ld) {
  return (sl_dense_operand){name, data, g->graph->cols, sl_features(&g->shape), ld};
}

static sl_dense_operand own_y(const sley_aggregation *g, const char *name, const void *data, int64_t ld) {
  return (sl_dense_operand){name, data, g->graph->rows, sl_features(&g->shape), ld};
}

static sley_status check_forward(const sley_aggregation *g, const sley_aggregation_operands *given,
                                 sley_aggregation_operands *o) {
  static const char call[] = "sley_aggregate_forward";
  SL_TRY(sl_struct_take("sley_aggregation_operands", given, sizeof *o, o));
  if (o->add && g->kind != SL_AGGREGATE_SUM)
    return sl_fail(SLEY_ERR_ARG, "%s: only sums can be added to Y: leave add out", call);
  SL_TRY(sl_check_fetched(call, g->graph, &o->fetched));
  return sl_check_operands(
      call, (const sl_dense_operand[]){own_x(g, "x", o->x, o->ldx), own_y(g, "y", o->y, o->ldy)}, 2);
}

sley_status sley_aggregate_forward(sley_aggregation *aggregation, const sley_aggregation_operands *operands) {
  sley_aggregation_operands o = SLEY_AGGREGATION_OPERANDS_INIT;
  if (!aggregation)
    return sl_fail(SLEY_ERR_ARG, "sley_aggregate_forward: aggregation is NULL");
  SL_TRY(sl_abort_on_error(aggregation->graph->comm, check_forward(aggregation, operands, &o)));
  return sl_aggregation_forward(aggregation, &o);
}

static sley_status check_backward(const sley_aggregation *g, const sley_aggregation_operands *operands,
                                  const sley_aggregation_gradients *gradients, sley_aggregation_operands *o,
                                  sley_aggregation_gradients *to) {
  static const char call[] = "sley_aggregate_backward";
  SL_TRY(sl_check_gradients(call, g->graph));
  SL_TRY(sl_struct_take("sley_aggregation_operands", operands, sizeof *o, o));
  SL_TRY(sl_struct_take("sley_aggregation_gradients", gradients, sizeof *to, to));
  const sl_dense_operand dy = own_y(g, "dy", to->dy, to->lddy), x = own_x(g, "x", o->x, o->ldx),
                         dx = own_x(g, "dx", to->dx, to->lddx);
  SL_TRY(sl_check_operands(call, &dy, 1));
  if (to->dval) {
    SL_TRY(sl_check_fetched(call, g->graph, &o->fetched));
    SL_TRY(sl_check_operands(call, &x, 1));
  }
  if (to->dx)
    SL_TRY(sl_check_operands(call, &dx, 1));
  if (g->kind == SL_AGGREGATE_MIN || g->kind == SL_AGGREGATE_MAX)
    return sl_check_values(call, "arg", o->arg, g->graph->rows, sl_features(&g->shape));
  return SLEY_OK;
}

sley_status sley_aggregate_backward(sley_aggregation *aggregation, const sley_aggregation_operands *operands,
                                    const sley_aggregation_gradients *gradients) {
  sley_aggregation_operands o = SLEY_AGGREGATION_OPERANDS_INIT;
  sley_aggregation_gradients to = SLEY_AGGREGATION_GRADIENTS_INIT;
  if (!aggregation)
    return sl_fail(SLEY_ERR_ARG, "sley_aggregate_backward: aggregation is NULL");
  SL_TRY(
      sl_abort_on_error(aggregation->graph->comm, check_backward(aggregation, operands, gradients, &o, &to)));
  return sl_aggregation_backward(aggregation, &o, &to);
}

void sley_aggregation_destroy(sley_aggregation *aggregation) {
  sl_aggregation_destroy(aggregation);
}

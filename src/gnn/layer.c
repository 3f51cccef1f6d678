/* SPDX-License-Identifier: Apache-2.0 */
/* What kinds of layers share: parameters, memory, aggregations. */
#include "gnn/layer.h"

#include <math.h>

extern const sl_layer_kind sl_layer_gcn, sl_layer_gin, sl_layer_sage, sl_layer_sage_max, sl_layer_gat;

const sl_layer_kind *const sl_layer_kinds[] = {&sl_layer_gcn, &sl_layer_gin, &sl_layer_sage,
                                               &sl_layer_sage_max, &sl_layer_gat};

sley_status sl_layer_declare(sl_layer *layer, sl_parameters *parameters, int slot, const char *what,
                             int64_t rows, int64_t cols, double limit) {
  layer->parameter[slot] = sl_parameters_add(parameters, layer->number, what, rows, cols, limit);
  return layer->parameter[slot] >= 0
             ? SLEY_OK
             : sl_fail(SLEY_ERR_UNSUPPORTED, "a network has at most %d parameters", SL_MOST_PARAMETERS);
}

double sl_layer_glorot(int64_t rows, int64_t cols) {
  return rows + cols > 0 ? sqrt(6 / ((double)rows + (double)cols)) : 0;
}

sl_rows sl_layer_value(const sl_layer *layer, int slot) {
  return sl_parameter_value(layer->parameters, layer->parameter[slot]);
}

sl_rows sl_layer_grad(const sl_layer *layer, int slot) {
  return sl_parameter_grad(layer->parameters, layer->parameter[slot]);
}

sley_status sl_layer_take_rows(sl_layer *layer, int slot, int64_t cols) {
  return sl_rows_take(layer->work.comm, layer->work.dtype, layer->graph->rows, cols, &layer->rows[slot]);
}

static sley_status take_update(sl_layer *l, bool maximum) {
  sl_device *device = l->work.comm->device;
  const int64_t rows = l->graph->rows, width = l->update_first ? l->out : l->in;
  SL_TRY(sl_rows_take(l->work.comm, l->work.dtype, rows, width, &l->between));
  SL_TRY(sl_rows_take(l->work.comm, l->work.dtype, rows, width, &l->gradient_between));
  if (!maximum)
    return SLEY_OK;
  return device->ops->alloc(device, rows * width * (int64_t)sizeof *l->arg, "arguments of maxima",
                            (void **)&l->arg);
}

sley_status sl_layer_open_update(sl_layer *layer, sley_aggregate kind) {
  const bool maximum = kind == SLEY_AGGREGATE_MAX || kind == SLEY_AGGREGATE_MIN;
  sley_aggregation_options o = SLEY_AGGREGATION_OPTIONS_INIT;
  layer->update_first = layer->in > layer->out && !maximum;
  SL_TRY(sl_agree(layer->work.comm, take_update(layer, maximum)));
  o.kind = kind;
  o.width = layer->between.cols;
  o.dtype = layer->work.dtype;
  return sl_aggregation_create(layer->graph, &o, &layer->aggregation);
}

static sley_status aggregate(const sl_layer *layer, sl_rows x, bool add, sl_rows y) {
  sley_aggregation_operands o = SLEY_AGGREGATION_OPERANDS_INIT;
  o.val = layer->norm;
  o.x = x.data;
  o.ldx = x.ld;
  o.y = y.data;
  o.ldy = y.ld;
  o.add = add;
  o.arg = layer->arg;
  return sl_aggregation_forward(layer->aggregation, &o);
}

static sley_status aggregate_back(const sl_layer *layer, sl_rows x, sl_rows dy, sl_rows dx) {
  sley_aggregation_operands o = SLEY_AGGREGATION_OPERANDS_INIT;
  sley_aggregation_gradients to = SLEY_AGGREGATION_GRADIENTS_INIT;
  o.val = layer->norm;
  o.x = x.data;
  o.ldx = x.ld;
  o.arg = layer->arg;
  to.dy = dy.data;
  to.lddy = dy.ld;
  to.dx = dx.data;
  to.lddx = dx.ld;
  return sl_aggregation_backward(layer->aggregation, &o, &to);
}

sley_status sl_layer_update(sl_layer *layer, int weight, const sl_pass *p, bool add, const void *bias) {
  const sl_rows t = layer->between;
  sl_product product = {.a = p->x, .b = sl_layer_value(layer, weight)};
  if (layer->update_first) {
    SL_TRY(sl_dense_multiply(&layer->work, &product, t));
    SL_TRY(aggregate(layer, t, add, p->y));
    return sl_dense_activate(&layer->work, bias, p->act, p->slope, p->y);
  }
  SL_TRY(aggregate(layer, p->x, false, t));
  product.a = t;
  product.beta = add;
  product.bias = bias;
  product.act = p->act;
  product.slope = p->slope;
  return sl_dense_multiply(&layer->work, &product, p->y);
}

sley_status sl_layer_update_back(sl_layer *layer, int weight, sl_rows x, sl_rows dy, sl_rows dx) {
  const bool first = layer->update_first;
  const sl_rows t = layer->between, dt = layer->gradient_between;
  const sl_product dw = {.a = first ? x : t, .transpose_a = true, .b = first ? dt : dy},
                   back = {.a = first ? dt : dy, .b = sl_layer_value(layer, weight), .transpose_b = true};
  if (first)
    SL_TRY(aggregate_back(layer, t, dy, dt));
  SL_TRY(sl_dense_multiply(&layer->work, &dw, sl_layer_grad(layer, weight)));
  if (!dx.data)
    return SLEY_OK;
  if (first)
    return sl_dense_multiply(&layer->work, &back, dx);
  SL_TRY(sl_dense_multiply(&layer->work, &back, dt));
  return aggregate_back(layer, x, dt, dx);
}

void sl_layer_close(sl_layer *layer) {
  if (!layer->graph)
    return;
  sl_device *device = layer->work.comm->device;
  sl_attention_destroy(layer->attention);
  sl_aggregation_destroy(layer->aggregation);
  if (layer->saved)
    device->ops->free(device, layer->saved);
  if (layer->arg)
    device->ops->free(device, layer->arg);
  sl_rows_give(layer->work.comm, &layer->gradient_between);
  sl_rows_give(layer->work.comm, &layer->between);
  for (int slot = SL_LAYER_ROWS - 1; slot >= 0; slot--)
    sl_rows_give(layer->work.comm, &layer->rows[slot]);
}

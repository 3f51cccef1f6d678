/* SPDX-License-Identifier: Apache-2.0 */
/* What kinds of layers share: parameters, memory, aggregations. */
#include "gnn/layer.h"

#include <math.h>

extern const sl_layer_kind sl_layer_gcn, sl_layer_gin, sl_layer_sage, sl_layer_sage_max, sl_layer_gat;

const sl_layer_kind *const sl_layer_kinds[] = {&sl_layer_gcn,      &sl_layer_gin, &sl_layer_sage,
                                               &sl_layer_sage_max, &sl_layer_gat, NULL};

enum { ROW_ALIGNMENT = 16 };

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
  sl_device *device = layer->work.comm->device;
  const int64_t value = (int64_t)sley_dtype_bytes(layer->work.dtype), step = ROW_ALIGNMENT / value,
                ld = (cols + step - 1) / step * step;
  int64_t bytes;
  if (__builtin_mul_overflow(layer->graph->rows, ld * value, &bytes))
    return sl_fail(SLEY_ERR_OVERFLOW, "a layer's rows have more than 2^63 bytes");
  layer->rows[slot] = (sl_rows){.rows = layer->graph->rows, .cols = cols, .ld = ld};
  return device->ops->alloc(device, bytes, "rows of a layer", &layer->rows[slot].data);
}

sley_status sl_layer_aggregate(sl_layer *layer, sley_aggregate kind, int64_t width) {
  sley_aggregation_options o = SLEY_AGGREGATION_OPTIONS_INIT;
  o.kind = kind;
  o.width = width;
  o.dtype = layer->work.dtype;
  return sl_aggregation_create(layer->graph, &o, &layer->aggregation);
}

sley_status sl_layer_sum(sl_layer *layer, sl_rows x, bool add, sl_rows y) {
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

sley_status sl_layer_sum_back(sl_layer *layer, sl_rows x, sl_rows dy, sl_rows dx) {
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
  for (int slot = SL_LAYER_ROWS - 1; slot >= 0; slot--)
    if (layer->rows[slot].data)
      device->ops->free(device, layer->rows[slot].data);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all kinds of layers: parameters, memory, aggregations. */
#include "gnn/layer.h"

#include <math.h>

#include "base/names.h"
#include "graph/row_pitch.h"

extern const sl_layer_kind sl_layer_gcn, sl_layer_gin, sl_layer_sage, sl_layer_sage_max, sl_layer_gat;

static const sl_layer_kind *const kinds[] = {[SLEY_GNN_GCN] = &sl_layer_gcn,
                                             [SLEY_GNN_GIN] = &sl_layer_gin,
                                             [SLEY_GNN_SAGE] = &sl_layer_sage,
                                             [SLEY_GNN_SAGE_MAX] = &sl_layer_sage_max,
                                             [SLEY_GNN_GAT] = &sl_layer_gat};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char *name_of(int kind) {
  return kinds[kind]->name;
}

const char *const *sl_layer_names(void) {
  static const char *names[KINDS + 1];
  return sl_names_fill(names, KINDS, name_of);
}

const sl_layer_kind *sl_layer_kind_of(int64_t model) {
  return model >= 0 && model < KINDS ? kinds[model] : NULL;
}

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

double sl_layer_fan_in(int64_t rows) {
  return rows > 0 ? 1 / sqrt((double)rows) : 0;
}

sl_rows sl_layer_value(const sl_layer *layer, int slot) {
  return sl_parameter_value(layer->parameters, layer->parameter[slot]);
}

sl_rows sl_layer_grad(const sl_layer *layer, int slot, int64_t block) {
  const sl_parameters *p = layer->parameters;
  if (!layer->blocks->fixed)
    return sl_parameter_grad(p, layer->parameter[slot]);
  return sl_parameter_in(p, sl_row_blocks_sums(layer->blocks, block), layer->parameter[slot]);
}

sley_status sl_layer_weight_back(const sl_layer *layer, int slot, sl_rows a, sl_rows b) {
  sl_row_blocks *blocks = layer->blocks;
  SL_TRY(sl_row_blocks_bring(blocks, &a, &b, layer->work.dtype));
  for (int64_t n = 0; n < blocks->count; n++) {
    const sl_product product = {.a = sl_row_blocks_of(blocks, SL_LEFT, n),
                                .transpose_a = true,
                                .b = sl_row_blocks_of(blocks, SL_RIGHT, n)};
    SL_TRY(sl_dense_multiply(&layer->work, &product, sl_layer_grad(layer, slot, n)));
  }
  return SLEY_OK;
}

sley_status sl_layer_bias_back(const sl_layer *layer, int slot, const sl_activated *after, sl_rows dy) {
  sl_row_blocks *blocks = layer->blocks;
  if (!blocks->fixed)
    return sl_dense_activate_grad(&layer->work, after, dy, sl_layer_grad(layer, slot, 0).data);
  SL_TRY(sl_dense_activate_grad(&layer->work, after, dy, NULL));
  SL_TRY(sl_row_blocks_bring(blocks, NULL, &dy, layer->work.dtype));
  for (int64_t n = 0; n < blocks->count; n++)
    SL_TRY(sl_dense_sum_columns(&layer->work, sl_row_blocks_of(blocks, SL_RIGHT, n),
                                sl_layer_grad(layer, slot, n).data));
  return SLEY_OK;
}

sley_status sl_layer_affine_back(const sl_layer *layer, int weight, int bias, sl_rows a,
                                 const sl_activated *after, sl_rows dy) {
  if (!layer->blocks->fixed) {
    const sl_rows to = sl_layer_grad(layer, weight, 0);
    const sl_product both = {
        .a = a, .transpose_a = true, .b = dy, .sums = sl_layer_grad(layer, bias, 0).data};
    if (sl_dense_sums_beside(&layer->work, &both, to)) {
      SL_TRY(sl_dense_activate_grad(&layer->work, after, dy, NULL));
      return sl_dense_multiply(&layer->work, &both, to);
    }
  }
  SL_TRY(sl_layer_bias_back(layer, bias, after, dy));
  return sl_layer_weight_back(layer, weight, a, dy);
}

sley_status sl_layer_keep_rows(sl_layer *layer, int slot, sl_kept_kind kind, int64_t cols) {
  return sl_activations_add(layer->activations, layer->number, kind, cols, &layer->rows[slot]);
}

/* ---- updates */

static bool updates_first(const sl_layer *layer) {
  return layer->kind->sums && (layer->in > layer->out || layer->sparse);
}

static bool keeps_sums(const sl_layer *layer) {
  return !updates_first(layer) && (layer->number == 0 || layer->in < layer->out || !layer->kind->sums);
}

/* Values in a row of D. */
static int64_t width_back(const sl_layer *layer) {
  return keeps_sums(layer) ? layer->in : layer->out;
}

static bool fits(const sl_layer *layer, int64_t width) {
  return width <= sl_row_pitch(layer->out, layer->work.dtype);
}

int64_t sl_layer_update_scratch(const sl_layer *layer) {
  return layer->number == 0 || fits(layer, width_back(layer)) ? 0 : width_back(layer);
}

static sley_status open_maximum(sl_layer *l) {
  sley_aggregation_options o = SLEY_AGGREGATION_OPTIONS_INIT;
  sl_activations_add_bytes(l->activations, l->number, l->local_rows * l->in * (int64_t)sizeof(int32_t),
                           &l->arg);
  o.kind = SLEY_AGGREGATE_MAX;
  o.width = l->in;
  o.dtype = l->work.dtype;
  return sl_aggregation_create(l->graph, &o, &l->aggregation);
}

/* The caller's features are not padded, so they may be narrower. */
int64_t sl_layer_product_width(const sl_layer *layer) {
  if (!layer->kind->sums)
    return 0;
  if (layer->number == 0 && !updates_first(layer))
    return layer->in;
  return sl_row_pitch(updates_first(layer) ? layer->out : layer->in, layer->work.dtype);
}

sley_status sl_layer_open_update(sl_layer *layer) {
  sley_status status = SLEY_OK;
  if (keeps_sums(layer))
    status = sl_activations_add(layer->activations, layer->number,
                                layer->same_x ? SL_KEPT_ALWAYS : SL_KEPT_VALUES, layer->in, &layer->between);
  SL_TRY(sl_agree(layer->work.comm, status));
  return layer->kind->sums ? sl_products_take(layer->products, sl_layer_product_width(layer), &layer->product)
                           : open_maximum(layer);
}

static sley_status maximum(const sl_layer *layer, sl_rows x, sl_rows y) {
  sley_aggregation_operands o = SLEY_AGGREGATION_OPERANDS_INIT;
  o.x = x.data;
  o.ldx = x.ld;
  o.y = y.data;
  o.ldy = y.ld;
  o.arg = layer->arg;
  return sl_aggregation_forward(layer->aggregation, &o);
}

static sley_status maximum_back(const sl_layer *layer, sl_rows x, sl_rows dy, sl_rows dx) {
  sley_aggregation_operands o = SLEY_AGGREGATION_OPERANDS_INIT;
  sley_aggregation_gradients to = SLEY_AGGREGATION_GRADIENTS_INIT;
  o.x = x.data;
  o.ldx = x.ld;
  o.arg = layer->arg;
  to.dy = dy.data;
  to.lddy = dy.ld;
  to.dx = dx.data;
  to.lddx = dx.ld;
  return sl_aggregation_backward(layer->aggregation, &o, &to);
}

static sley_status aggregate(const sl_layer *l, sl_rows x, bool add, sl_rows y) {
  return l->kind->sums ? sl_products_run(l->products, l->product, false, x, add, y) : maximum(l, x, y);
}

static sley_status aggregate_back(const sl_layer *l, sl_rows x, sl_rows dy, sl_rows dx) {
  return l->kind->sums ? sl_products_run(l->products, l->product, true, dy, 0, dx)
                       : maximum_back(l, x, dy, dx);
}

/* Returns whether a product and the dense update after it run in one pass, with the activation `act`. The
 * product must have the columns of the layer's rows, without padding. */
static bool fuses(const sl_layer *l, bool back, int64_t width, sley_activation act) {
  return l->kind->sums && (act == SLEY_NO_ACTIVATION || act == SLEY_RELU) &&
         sl_layer_product_width(l) == width && sl_products_fuse(l->products, l->product, back);
}

/* Y = act((Y +) (N X) W + b) in one pass; t: NULL, or receives N X. */
static sley_status update_at_once(const sl_layer *l, const sl_product *product, const sl_pass *p,
                                  const sl_rows *t) {
  const sl_update update = {
      .w = product->b.data,
      .n = p->y.cols,
      .ldw = product->b.ld,
      .beta = product->beta,
      .z = p->y.data,
      .ldz = p->y.ld,
      .more = {.act = p->act, .bias = product->bias, .kept = t ? t->data : NULL, .ldkept = t ? t->ld : 0}};
  return sl_products_update(l->products, l->product, false, p->x, &update);
}

sley_status sl_layer_update(sl_layer *layer, int weight, const sl_pass *p, bool add, const void *bias) {
  const bool first = updates_first(layer), kept = keeps_sums(layer);
  const sl_rows t =
      kept ? layer->between : sl_rows_columns(p->spare, 0, first ? layer->out : layer->in, layer->work.dtype);
  sl_product product = {.a = p->x, .b = sl_layer_value(layer, weight)};
  if (first) {
    SL_TRY(sl_dense_multiply(&layer->work, &product, t));
    SL_TRY(aggregate(layer, t, add, p->y));
    return sl_dense_activate(&layer->work, bias, p->act, p->slope, p->y);
  }
  product.beta = add;
  product.bias = bias;
  /* With kept sums the update is computed apart, and every call has to return the bits of the others. */
  if (!(kept && layer->x_stays) && fuses(layer, false, layer->in, p->act))
    return update_at_once(layer, &product, p, kept ? &t : NULL);
  if (!kept || !p->same_x)
    SL_TRY(aggregate(layer, p->x, false, t));
  product.a = t;
  product.act = p->act;
  product.slope = p->slope;
  return sl_dense_multiply(&layer->work, &product, p->y);
}

/* Computes the gradients of W and b; D is dY W^T, or N^T dY. */
static sley_status kept_sums_back(sl_layer *l, int weight, int bias, const sl_pass_back *p, sl_rows d) {
  const sl_product back = {.a = p->dy, .b = sl_layer_value(l, weight), .transpose_b = true};
  if (bias == SL_NO_BIAS)
    SL_TRY(sl_layer_weight_back(l, weight, l->between, p->dy));
  else
    SL_TRY(sl_layer_affine_back(l, weight, bias, l->between, &p->after, p->dy));
  if (!p->dx.data)
    return SLEY_OK;
  SL_TRY(sl_dense_multiply(&l->work, &back, d));
  return aggregate_back(l, p->x, d, p->dx);
}

/* D = N^T dY and dX = D W^T in one pass, with the gradient of the activation before. */
static sley_status back_at_once(sl_layer *l, int weight, const sl_pass_back *p, sl_rows d) {
  const sl_rows w = sl_layer_value(l, weight);
  sl_activated *before = p->before && p->before->act == SLEY_RELU ? p->before : NULL;
  const sl_update update = {.w = w.data,
                            .n = p->dx.cols,
                            .ldw = w.ld,
                            .z = p->dx.data,
                            .ldz = p->dx.ld,
                            .more = {.transpose_w = true,
                                     .act = before ? SLEY_RELU : SLEY_NO_ACTIVATION,
                                     .gate = before ? before->y.data : NULL,
                                     .ldgate = before ? before->y.ld : 0,
                                     .kept = d.data,
                                     .ldkept = d.ld}};
  SL_TRY(sl_products_update(l->products, l->product, true, p->dy, &update));
  if (before)
    before->act = SLEY_NO_ACTIVATION;
  return SLEY_OK;
}

static sley_status sums_back(sl_layer *l, int weight, int bias, const sl_pass_back *p, sl_rows d) {
  const sl_product back = {.a = d, .b = sl_layer_value(l, weight), .transpose_b = true};
  if (bias != SL_NO_BIAS)
    SL_TRY(sl_layer_bias_back(l, bias, &p->after, p->dy));
  if (p->dx.data && p->dx.data != p->dy.data && fuses(l, true, l->out, SLEY_NO_ACTIVATION)) {
    SL_TRY(back_at_once(l, weight, p, d));
    return sl_layer_weight_back(l, weight, p->x, d);
  }
  SL_TRY(aggregate_back(l, p->x, p->dy, d));
  SL_TRY(sl_layer_weight_back(l, weight, p->x, d));
  return p->dx.data ? sl_dense_multiply_back(&l->work, &back, p->before, p->dx) : SLEY_OK;
}

sley_status sl_layer_update_back(sl_layer *layer, int weight, int bias, const sl_pass_back *p) {
  const int64_t width = width_back(layer);
  const sl_rows d =
      sl_rows_columns(fits(layer, width) ? p->after.y : layer->scratch, 0, width, layer->work.dtype);
  return keeps_sums(layer) ? kept_sums_back(layer, weight, bias, p, d) : sums_back(layer, weight, bias, p, d);
}

bool sl_layer_dx_apart(const sl_layer *l) {
  return l->kind->dx_apart ||
         (l->number > 0 && l->kind->reads_dy && !keeps_sums(l) && fuses(l, true, l->out, SLEY_NO_ACTIVATION));
}

void sl_layer_close(sl_layer *layer) {
  if (!layer->graph && !layer->products)
    return;
  sl_attention_destroy(layer->attention);
  sl_aggregation_destroy(layer->aggregation);
  for (int slot = SL_LAYER_MATRICES - 1; slot >= 0; slot--)
    sl_rows_give(layer->work.comm, &layer->matrix[slot]);
}

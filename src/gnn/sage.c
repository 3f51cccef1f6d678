/* SPDX-License-Identifier: Apache-2.0 */
/* GraphSAGE: Y = act(M(X) Wn + X Wr + b), where M is the mean, or the maximum, of the rows of X that the
 * entries of a row of A name.
 *
 *   mean, wide to narrow   T = X Wn;  Y = act(X Wr + M T + b)         dT = M^T dY;  dWn = X^T dT;  dX = dT
 * Wn^T else                   T = M(X);  Y = act(X Wr + T Wn + b)        dWn = T^T dY;  dT = dY Wn^T;  dX =
 * M'(dT)
 *
 *   and                    dWr = X^T dY;  dX += dY Wr^T;  db = sum of the rows of dY
 *
 * M' of a maximum gives each gradient to the entry that was chosen. Source: Hamilton, Ying and Leskovec, NIPS
 * 2017, algorithm 1. */
#include "gnn/layer.h"

enum { NEIGHBOURS, ROOT, BIAS };
enum { BETWEEN, GRADIENT_BETWEEN };

static sley_status declare(sl_layer *l, sl_parameters *p) {
  const double limit = sl_layer_glorot(l->in, l->out);
  SL_TRY(sl_layer_declare(l, p, NEIGHBOURS, "neighbours", l->in, l->out, limit));
  SL_TRY(sl_layer_declare(l, p, ROOT, "root", l->in, l->out, limit));
  return sl_layer_declare(l, p, BIAS, "bias", 1, l->out, 0);
}

static sley_status take(sl_layer *l, bool maximum) {
  sl_device *device = l->work.comm->device;
  const int64_t between = l->update_first ? l->out : l->in;
  SL_TRY(sl_layer_take_rows(l, BETWEEN, between));
  SL_TRY(sl_layer_take_rows(l, GRADIENT_BETWEEN, between));
  if (!maximum)
    return SLEY_OK;
  return device->ops->alloc(device, l->graph->rows * l->in * (int64_t)sizeof *l->arg, "arguments of maxima",
                            (void **)&l->arg);
}

static sley_status open_mean(sl_layer *l) {
  l->update_first = l->in > l->out;
  SL_TRY(sl_agree(l->work.comm, take(l, false)));
  return sl_layer_aggregate(l, SLEY_AGGREGATE_SUM, l->rows[BETWEEN].cols);
}

static sley_status open_max(sl_layer *l) {
  SL_TRY(sl_agree(l->work.comm, take(l, true)));
  return sl_layer_aggregate(l, SLEY_AGGREGATE_MAX, l->in);
}

static sley_status forward(sl_layer *l, const sl_pass *p) {
  const sl_rows t = l->rows[BETWEEN];
  const void *bias = sl_layer_value(l, BIAS).data;
  const sl_product root = {.a = p->x, .b = sl_layer_value(l, ROOT)};
  sl_product neighbours = {.a = p->x, .b = sl_layer_value(l, NEIGHBOURS)};
  SL_TRY(sl_dense_multiply(&l->work, &root, p->y));
  if (l->update_first) {
    SL_TRY(sl_dense_multiply(&l->work, &neighbours, t));
    SL_TRY(sl_layer_sum(l, t, true, p->y));
    return sl_dense_activate(&l->work, bias, p->act, p->slope, p->y);
  }
  SL_TRY(sl_layer_sum(l, p->x, false, t));
  neighbours.a = t;
  neighbours.beta = 1;
  neighbours.bias = bias;
  neighbours.act = p->act;
  neighbours.slope = p->slope;
  return sl_dense_multiply(&l->work, &neighbours, p->y);
}

/* dx, but for what goes through the root's weights. */
static sley_status neighbours_back(sl_layer *l, const sl_pass_back *p) {
  const sl_rows dt = l->rows[GRADIENT_BETWEEN], t = l->rows[BETWEEN];
  const sl_product dw = {.a = l->update_first ? p->x : t,
                         .transpose_a = true,
                         .b = l->update_first ? dt : p->dy},
                   back = {.a = l->update_first ? dt : p->dy,
                           .b = sl_layer_value(l, NEIGHBOURS),
                           .transpose_b = true};
  if (l->update_first)
    SL_TRY(sl_layer_sum_back(l, t, p->dy, dt));
  SL_TRY(sl_dense_multiply(&l->work, &dw, sl_layer_grad(l, NEIGHBOURS)));
  if (!p->dx.data)
    return SLEY_OK;
  if (l->update_first)
    return sl_dense_multiply(&l->work, &back, p->dx);
  SL_TRY(sl_dense_multiply(&l->work, &back, dt));
  return sl_layer_sum_back(l, p->x, dt, p->dx);
}

static sley_status backward(sl_layer *l, const sl_pass_back *p) {
  const sl_product dw = {.a = p->x, .transpose_a = true, .b = p->dy},
                   back = {.a = p->dy, .b = sl_layer_value(l, ROOT), .transpose_b = true, .beta = 1};
  SL_TRY(sl_dense_column_sums(&l->work, p->dy, sl_layer_grad(l, BIAS).data));
  SL_TRY(sl_dense_multiply(&l->work, &dw, sl_layer_grad(l, ROOT)));
  SL_TRY(neighbours_back(l, p));
  return p->dx.data ? sl_dense_multiply(&l->work, &back, p->dx) : SLEY_OK;
}

const sl_layer_kind sl_layer_sage = {.name = "sage",
                                     .loops = SL_LOOPS_AS_GIVEN,
                                     .norm = SL_NORM_MEAN,
                                     .act = SLEY_RELU,
                                     .declare = declare,
                                     .open = open_mean,
                                     .forward = forward,
                                     .backward = backward,
                                     .close = sl_layer_close};

const sl_layer_kind sl_layer_sage_max = {.name = "sage-max",
                                         .loops = SL_LOOPS_AS_GIVEN,
                                         .norm = SL_NORM_NONE,
                                         .act = SLEY_RELU,
                                         .declare = declare,
                                         .open = open_max,
                                         .forward = forward,
                                         .backward = backward,
                                         .close = sl_layer_close};

/* SPDX-License-Identifier: Apache-2.0 */
/* GCN: Y = act(N X W + b), where N has an entry for each of A and one for each row itself, 1 / sqrt(d_i d_j),
 * d_i being the entries of row i.
 *
 *   wide to narrow   T = X W;  Y = act(N T + b)      dT = N^T dY;  dW = X^T dT;  dX = dT W^T
 *   else             T = N X;  Y = act(T W + b)      dW = T^T dY;  dT = dY W^T;  dX = N^T dT
 *                                                    db = sum of the rows of dY
 *
 * dY is here the gradient with respect to what act is given. The order is the one that aggregates fewer
 * values a row. Source: Kipf and Welling, ICLR 2017, equation 2. */
#include "gnn/layer.h"

enum { WEIGHT, BIAS };              /* parameters */
enum { BETWEEN, GRADIENT_BETWEEN }; /* rows: T, dT */

static sley_status declare(sl_layer *l, sl_parameters *p) {
  SL_TRY(sl_layer_declare(l, p, WEIGHT, "weight", l->in, l->out, sl_layer_glorot(l->in, l->out)));
  return sl_layer_declare(l, p, BIAS, "bias", 1, l->out, 0);
}

static sley_status take(sl_layer *l) {
  const int64_t between = l->update_first ? l->out : l->in;
  SL_TRY(sl_layer_take_rows(l, BETWEEN, between));
  return sl_layer_take_rows(l, GRADIENT_BETWEEN, between);
}

static sley_status open(sl_layer *l) {
  l->update_first = l->in > l->out;
  SL_TRY(sl_agree(l->work.comm, take(l)));
  return sl_layer_aggregate(l, SLEY_AGGREGATE_SUM, l->rows[BETWEEN].cols);
}

static sley_status forward(sl_layer *l, const sl_pass *p) {
  const sl_rows t = l->rows[BETWEEN];
  const void *bias = sl_layer_value(l, BIAS).data;
  sl_product product = {.a = p->x, .b = sl_layer_value(l, WEIGHT)};
  if (l->update_first) {
    SL_TRY(sl_dense_multiply(&l->work, &product, t));
    SL_TRY(sl_layer_sum(l, t, false, p->y));
    return sl_dense_activate(&l->work, bias, p->act, p->slope, p->y);
  }
  SL_TRY(sl_layer_sum(l, p->x, false, t));
  product.a = t;
  product.bias = bias;
  product.act = p->act;
  product.slope = p->slope;
  return sl_dense_multiply(&l->work, &product, p->y);
}

static sley_status backward(sl_layer *l, const sl_pass_back *p) {
  const sl_rows t = l->rows[BETWEEN], dt = l->rows[GRADIENT_BETWEEN];
  const sl_product dw = {.a = l->update_first ? p->x : t,
                         .transpose_a = true,
                         .b = l->update_first ? dt : p->dy},
                   back = {.a = l->update_first ? dt : p->dy,
                           .b = sl_layer_value(l, WEIGHT),
                           .transpose_b = true};
  SL_TRY(sl_dense_column_sums(&l->work, p->dy, sl_layer_grad(l, BIAS).data));
  if (l->update_first)
    SL_TRY(sl_layer_sum_back(l, t, p->dy, dt));
  SL_TRY(sl_dense_multiply(&l->work, &dw, sl_layer_grad(l, WEIGHT)));
  if (!p->dx.data)
    return SLEY_OK;
  if (l->update_first)
    return sl_dense_multiply(&l->work, &back, p->dx);
  SL_TRY(sl_dense_multiply(&l->work, &back, dt));
  return sl_layer_sum_back(l, p->x, dt, p->dx);
}

const sl_layer_kind sl_layer_gcn = {.name = "gcn",
                                    .loops = SL_LOOPS_ONE,
                                    .norm = SL_NORM_SYMMETRIC,
                                    .act = SLEY_RELU,
                                    .declare = declare,
                                    .open = open,
                                    .forward = forward,
                                    .backward = backward,
                                    .close = sl_layer_close};

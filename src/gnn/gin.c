/* SPDX-License-Identifier: Apache-2.0 */
/* GIN: Y = act(relu(S X W1 + b1) W2 + b2), where S has an entry for each of A and one for each row itself:
 * the sum of a row's neighbours and of the row (epsilon is 0), and a perceptron of one hidden layer as wide
 * as Y.
 *
 *   wide to narrow   T = X W1;  H = relu(S T + b1);  Y = act(H W2 + b2)
 *   else             T = S X;   H = relu(T W1 + b1)
 *
 *   backward         dW2 = H^T dY;  dH = dY W2^T relu'(H);  db2, db1 = sums of the rows of dY, dH
 *   wide to narrow   dT = S^T dH;   dW1 = X^T dT;  dX = dT W1^T
 *   else             dW1 = T^T dH;  dT = dH W1^T;  dX = S^T dT
 *
 * Source: Xu, Hu, Leskovec and Jegelka, How powerful are graph neural networks?, ICLR 2019, equation 4.1. */
#include "gnn/layer.h"

enum { WEIGHT_1, BIAS_1, WEIGHT_2, BIAS_2 };
enum { BETWEEN, GRADIENT_BETWEEN, HIDDEN, GRADIENT_HIDDEN };

static sley_status declare(sl_layer *l, sl_parameters *p) {
  SL_TRY(sl_layer_declare(l, p, WEIGHT_1, "weight1", l->in, l->out, sl_layer_glorot(l->in, l->out)));
  SL_TRY(sl_layer_declare(l, p, BIAS_1, "bias1", 1, l->out, 0));
  SL_TRY(sl_layer_declare(l, p, WEIGHT_2, "weight2", l->out, l->out, sl_layer_glorot(l->out, l->out)));
  return sl_layer_declare(l, p, BIAS_2, "bias2", 1, l->out, 0);
}

static sley_status take(sl_layer *l) {
  const int64_t between = l->update_first ? l->out : l->in;
  SL_TRY(sl_layer_take_rows(l, BETWEEN, between));
  SL_TRY(sl_layer_take_rows(l, GRADIENT_BETWEEN, between));
  SL_TRY(sl_layer_take_rows(l, HIDDEN, l->out));
  return sl_layer_take_rows(l, GRADIENT_HIDDEN, l->out);
}

static sley_status open(sl_layer *l) {
  l->update_first = l->in > l->out;
  SL_TRY(sl_agree(l->work.comm, take(l)));
  return sl_layer_aggregate(l, SLEY_AGGREGATE_SUM, l->rows[BETWEEN].cols);
}

static sley_status forward(sl_layer *l, const sl_pass *p) {
  const sl_rows t = l->rows[BETWEEN], h = l->rows[HIDDEN];
  const void *bias = sl_layer_value(l, BIAS_1).data;
  const sl_product last = {.a = h,
                           .b = sl_layer_value(l, WEIGHT_2),
                           .bias = sl_layer_value(l, BIAS_2).data,
                           .act = p->act,
                           .slope = p->slope};
  sl_product product = {.a = p->x, .b = sl_layer_value(l, WEIGHT_1)};
  if (l->update_first) {
    SL_TRY(sl_dense_multiply(&l->work, &product, t));
    SL_TRY(sl_layer_sum(l, t, false, h));
    SL_TRY(sl_dense_activate(&l->work, bias, SLEY_RELU, 0, h));
  } else {
    SL_TRY(sl_layer_sum(l, p->x, false, t));
    product.a = t;
    product.bias = bias;
    product.act = SLEY_RELU;
    SL_TRY(sl_dense_multiply(&l->work, &product, h));
  }
  return sl_dense_multiply(&l->work, &last, p->y);
}

static sley_status backward(sl_layer *l, const sl_pass_back *p) {
  const sl_rows t = l->rows[BETWEEN], dt = l->rows[GRADIENT_BETWEEN], h = l->rows[HIDDEN],
                dh = l->rows[GRADIENT_HIDDEN];
  const sl_product dw2 = {.a = h, .transpose_a = true, .b = p->dy},
                   to_hidden = {.a = p->dy, .b = sl_layer_value(l, WEIGHT_2), .transpose_b = true},
                   dw1 = {.a = l->update_first ? p->x : t,
                          .transpose_a = true,
                          .b = l->update_first ? dt : dh},
                   back = {
                       .a = l->update_first ? dt : dh, .b = sl_layer_value(l, WEIGHT_1), .transpose_b = true};
  SL_TRY(sl_dense_column_sums(&l->work, p->dy, sl_layer_grad(l, BIAS_2).data));
  SL_TRY(sl_dense_multiply(&l->work, &dw2, sl_layer_grad(l, WEIGHT_2)));
  SL_TRY(sl_dense_multiply(&l->work, &to_hidden, dh));
  SL_TRY(sl_dense_activate_grad(&l->work, SLEY_RELU, 0, h, dh));
  SL_TRY(sl_dense_column_sums(&l->work, dh, sl_layer_grad(l, BIAS_1).data));
  if (l->update_first)
    SL_TRY(sl_layer_sum_back(l, t, dh, dt));
  SL_TRY(sl_dense_multiply(&l->work, &dw1, sl_layer_grad(l, WEIGHT_1)));
  if (!p->dx.data)
    return SLEY_OK;
  if (l->update_first)
    return sl_dense_multiply(&l->work, &back, p->dx);
  SL_TRY(sl_dense_multiply(&l->work, &back, dt));
  return sl_layer_sum_back(l, p->x, dt, p->dx);
}

const sl_layer_kind sl_layer_gin = {.name = "gin",
                                    .loops = SL_LOOPS_ONE,
                                    .norm = SL_NORM_NONE,
                                    .act = SLEY_RELU,
                                    .declare = declare,
                                    .open = open,
                                    .forward = forward,
                                    .backward = backward,
                                    .close = sl_layer_close};

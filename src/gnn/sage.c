/* SPDX-License-Identifier: Apache-2.0 */
/* GraphSAGE: Y = act(X Wr + M(X) Wn + b), where M is the mean, or the maximum, of the rows of X that the
 * entries of a row of A name. A mean is a sum with values 1 / (number of entries).
 *
 *   backward   dWr = X^T dY;  db = the sum of the rows of dY;  dWn and dX: see sl_layer_update;
 *              dX += dY Wr^T
 *
 * Source: Hamilton, Ying and Leskovec, NIPS 2017, algorithm 1. */
#include "gnn/layer.h"

enum { NEIGHBOURS, ROOT, BIAS };

static sley_status declare(sl_layer *l, sl_parameters *p) {
  const double limit = sl_layer_fan_in(l->in);
  SL_TRY(sl_layer_declare(l, p, NEIGHBOURS, "neighbours", l->in, l->out, limit));
  SL_TRY(sl_layer_declare(l, p, ROOT, "root", l->in, l->out, limit));
  return sl_layer_declare(l, p, BIAS, "bias", 1, l->out, limit);
}

static sley_status open(sl_layer *l) {
  return sl_layer_open_update(l);
}

static sley_status forward(sl_layer *l, const sl_pass *p) {
  const void *bias = sl_layer_value(l, BIAS).data;
  const bool early = p->act == SLEY_NO_ACTIVATION; /* then b can be added in the first product */
  const sl_product root = {.a = p->x, .b = sl_layer_value(l, ROOT), .bias = early ? bias : NULL};
  SL_TRY(sl_dense_multiply(&l->work, &root, p->y));
  return sl_layer_update(l, NEIGHBOURS, p, true, early ? NULL : bias);
}

static sley_status backward(sl_layer *l, const sl_pass_back *p) {
  const sl_product back = {.a = p->dy, .b = sl_layer_value(l, ROOT), .transpose_b = true, .beta = 1};
  const sl_pass_back of_neighbours = {.x = p->x, .dy = p->dy, .dx = p->dx, .after.y = p->after.y};
  SL_TRY(sl_layer_affine_back(l, ROOT, BIAS, p->x, &p->after, p->dy));
  SL_TRY(sl_layer_update_back(l, NEIGHBOURS, SL_NO_BIAS, &of_neighbours));
  return p->dx.data ? sl_dense_multiply_back(&l->work, &back, p->before, p->dx) : SLEY_OK;
}

const sl_layer_kind sl_layer_sage = {.name = "sage",
                                     .summary = "(mean of x[j]) Wn + x[i] Wr + b",
                                     .hops = 1,
                                     .sums = true,
                                     .norm = SL_NORM_MEAN,
                                     .act = SLEY_RELU,
                                     .dx_apart = true,
                                     .scratch = sl_layer_update_scratch,
                                     .declare = declare,
                                     .open = open,
                                     .forward = forward,
                                     .backward = backward};

const sl_layer_kind sl_layer_sage_max = {.name = "sage-max",
                                         .summary = "(maximum of x[j]) Wn + x[i] Wr + b",
                                         .hops = 1,
                                         .dense_x = true,
                                         .norm = SL_NORM_NONE,
                                         .act = SLEY_RELU,
                                         .dx_apart = true,
                                         .scratch = sl_layer_update_scratch,
                                         .declare = declare,
                                         .open = open,
                                         .forward = forward,
                                         .backward = backward};

/* SPDX-License-Identifier: Apache-2.0 */
/* GIN: H = relu(S X W1 + b1);  Y = act(H W2 + b2), where S has an entry for each entry of A and one diagonal
 * entry per row: the sum of a row's neighbours and the row itself (epsilon is 0), then a perceptron with one
 * hidden layer as wide as Y.
 *
 *   backward   dW2 = H^T dY;  dH = dY W2^T relu'(H);  db2, db1 = the sums of the rows of dY, dH;
 *              the other gradients follow from dH (sl_layer_update)
 *
 * Source: Xu, Hu, Leskovec and Jegelka, How powerful are graph neural networks?, ICLR 2019, equation 4.1. */
#include "gnn/layer.h"

enum { WEIGHT_1, BIAS_1, WEIGHT_2, BIAS_2 };
enum { HIDDEN };

static sley_status declare(sl_layer *l, sl_parameters *p) {
  const double first = sl_layer_fan_in(l->in), second = sl_layer_fan_in(l->out);
  SL_TRY(sl_layer_declare(l, p, WEIGHT_1, "weight1", l->in, l->out, first));
  SL_TRY(sl_layer_declare(l, p, BIAS_1, "bias1", 1, l->out, first));
  SL_TRY(sl_layer_declare(l, p, WEIGHT_2, "weight2", l->out, l->out, second));
  return sl_layer_declare(l, p, BIAS_2, "bias2", 1, l->out, second);
}

static sley_status open(sl_layer *l) {
  sley_status status = sl_layer_keep_rows(l, HIDDEN, SL_KEPT_VALUES, l->out);
  if (status == SLEY_OK)
    status = sl_row_blocks_expect(l->blocks, SL_LEFT, l->out, l->work.dtype);
  SL_TRY(sl_agree(l->work.comm, status));
  return sl_layer_open_update(l);
}

static sley_status forward(sl_layer *l, const sl_pass *p) {
  const sl_pass inner = {
      .x = p->x, .y = l->rows[HIDDEN], .spare = p->spare, .act = SLEY_RELU, .same_x = p->same_x};
  const sl_product outer = {.a = l->rows[HIDDEN],
                            .b = sl_layer_value(l, WEIGHT_2),
                            .bias = sl_layer_value(l, BIAS_2).data,
                            .act = p->act,
                            .slope = p->slope};
  SL_TRY(sl_layer_update(l, WEIGHT_1, &inner, false, sl_layer_value(l, BIAS_1).data));
  return sl_dense_multiply(&l->work, &outer, p->y);
}

/* dH replaces Y; later the other gradients replace H. */
static sley_status backward(sl_layer *l, const sl_pass_back *p) {
  const sl_rows h = l->rows[HIDDEN], dh = p->after.y;
  sl_pass_back inner = {
      .x = p->x, .dy = dh, .dx = p->dx, .after = {.y = h, .act = SLEY_RELU}, .before = p->before};
  const sl_product back = {.a = p->dy, .b = sl_layer_value(l, WEIGHT_2), .transpose_b = true};
  SL_TRY(sl_layer_affine_back(l, WEIGHT_2, BIAS_2, h, &p->after, p->dy));
  SL_TRY(sl_dense_multiply_back(&l->work, &back, &inner.after, dh));
  return sl_layer_update_back(l, WEIGHT_1, BIAS_1, &inner);
}

const sl_layer_kind sl_layer_gin = {.name = "gin",
                                    .summary = "relu((x[i] + sum of x[j]) W1 + b1) W2 + b2",
                                    .hops = 1,
                                    .sums = true,
                                    .loops = true,
                                    .norm = SL_NORM_NONE,
                                    .act = SLEY_RELU,
                                    .scratch = sl_layer_update_scratch,
                                    .declare = declare,
                                    .open = open,
                                    .forward = forward,
                                    .backward = backward};

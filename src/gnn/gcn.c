/* SPDX-License-Identifier: Apache-2.0 */
/* GCN: Y = act(N X W + b), where N has an entry for each entry of A and one diagonal entry per row, with
 * values 1 / sqrt(d_i d_j); d_i is the number of entries of row i. Backward: see sl_layer_update; db = the
 * sum of the rows of dY. Source: Kipf and Welling, ICLR 2017, equation 2. */
#include "gnn/layer.h"

enum { WEIGHT, BIAS };

static sley_status declare(sl_layer *l, sl_parameters *p) {
  SL_TRY(sl_layer_declare(l, p, WEIGHT, "weight", l->in, l->out, sl_layer_glorot(l->in, l->out)));
  return sl_layer_declare(l, p, BIAS, "bias", 1, l->out, 0);
}

static sley_status open(sl_layer *l) {
  return sl_layer_open_update(l);
}

static sley_status forward(sl_layer *l, const sl_pass *p) {
  return sl_layer_update(l, WEIGHT, p, false, sl_layer_value(l, BIAS).data);
}

static sley_status backward(sl_layer *l, const sl_pass_back *p) {
  return sl_layer_update_back(l, WEIGHT, BIAS, p);
}

const sl_layer_kind sl_layer_gcn = {.name = "gcn",
                                    .summary = "(sum over N(i) and i of x[j] / sqrt(d(i) d(j))) W + b",
                                    .hops = 1,
                                    .sums = true,
                                    .loops = true,
                                    .norm = SL_NORM_SYMMETRIC,
                                    .act = SLEY_RELU,
                                    .reads_dy = true,
                                    .scratch = sl_layer_update_scratch,
                                    .declare = declare,
                                    .open = open,
                                    .forward = forward,
                                    .backward = backward};

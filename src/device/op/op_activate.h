/* SPDX-License-Identifier: Apache-2.0 */
/* Activations, and SL_OP_ACTIVATE_GRAD: their gradient. */
#ifndef SLEY_DEVICE_OP_OP_ACTIVATE_H
#define SLEY_DEVICE_OP_OP_ACTIVATE_H

#include "base/types.h"

/* y = act(v), and act' as a function of y, all in double:
 *
 *   SLEY_NO_ACTIVATION  v                                  1
 *   SLEY_RELU           v < 0 ? 0 : v                      y > 0 ? 1 : 0
 *   SLEY_LEAKY_RELU     v < 0 ? slope v : v                y > 0 ? 1 : slope
 *   SLEY_ELU            v > 0 ? v : slope (exp(v) - 1)     y > 0 ? 1 : y + slope
 *
 * exp is sl_exp (exp.h). A NaN stays NaN. A zero stays as it is, also -0.
 *
 * The operation, for i < rows and j < cols: dx[i][j] = (dy[i][j] act'(y[i][j])) scale, with products in
 * double, rounded to the dtype once. dx may be dy or y, with the same leading dimension; otherwise it
 * overlaps neither. sums, if not NULL, receives cols values: the sums of the columns of dx, as
 * SL_OP_COLUMN_SUMS computes them, which are the gradient of a bias. It overlaps nothing. */
typedef struct sl_activate_grad_args {
  sley_dtype dtype;
  sley_activation act;
  double slope;
  int64_t rows, cols;
  const void *y, *dy;
  int64_t ldy, lddy; /* leading dimensions in elements, like the others */
  void *dx;
  int64_t lddx;
  double scale;
  void *sums;
} sl_activate_grad_args;

static inline bool sl_activate_grad_ok(const sl_activate_grad_args *a) {
  return sley_dtype_bytes(a->dtype) != 0 && (unsigned)a->act <= SLEY_ELU;
}

#endif

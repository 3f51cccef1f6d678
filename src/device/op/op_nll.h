/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_NLL: log-softmax and the negative log-likelihood of labels, with its gradient. */
#ifndef SLEY_DEVICE_OP_OP_NLL_H
#define SLEY_DEVICE_OP_OP_NLL_H

#include "base/types.h"
#include "device/sum_blocks.h"

enum { SL_NLL_LANES = 32 };

/* The definition, for each row i, with z = logits[i] and y = label[i], computed in double:
 *
 *   m = max_j z_j, e_j = exp(z_j - m), s = sum_j e_j
 *   log_probs[i][j] = (z_j - m) - log s
 *   row_loss[i] = (m - z_y) + log s, or 0 if y = -1
 *   grad[i][j] = scale (e_j / s - (j = y)), or 0 if y = -1; scale = grad_scale, times *device_scale if that
 *   is not NULL
 *   sums[0] = sum_i row_loss[i], sums[1] = the number of rows with y other than -1
 *
 * exp is sl_exp (exp.h), log is the C library's. s is computed in 32 sums: e_j is added to sum j mod 32 in
 * ascending order from 0; then sum l + d is added to sum l for d = 16, 8, 4, 2, 1 and l < d. A row with a
 * NaN, or whose greatest value is infinite, becomes NaN where IEEE 754 requires it. A label that is neither
 * -1 nor less than the number of classes makes row_loss and grad of its row NaN. sums[0] is added by blocks
 * of sl_sum_rows(rows, 2) rows, in the order of sum_blocks.h. log_probs and grad are rounded to the dtype
 * once. Outputs that are NULL are left out. grad or log_probs may be logits, with the same leading dimension,
 * if the other is NULL; otherwise outputs overlap nothing. */
typedef struct sl_nll_args {
  sley_dtype dtype;
  int64_t rows, classes;
  const void *logits;
  int64_t ld; /* leading dimension in elements, like the others */
  const int32_t *label;
  double grad_scale;
  double *row_loss, *sums;
  void *grad;
  int64_t ld_grad;
  void *log_probs;
  int64_t ld_log_probs;
  const double *device_scale; /* NULL, or a factor in the device's memory */
} sl_nll_args;

static inline bool sl_nll_ok(const sl_nll_args *a) {
  return sley_dtype_bytes(a->dtype) != 0 && a->classes <= INT32_MAX;
}

#endif

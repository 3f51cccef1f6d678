/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_SCALE and SL_OP_ROUND: operations on Y before and after sums are computed. */
#ifndef SLEY_DEVICE_OP_OP_SCALE_H
#define SLEY_DEVICE_OP_OP_SCALE_H

#include "base/types.h"

/* SL_OP_SCALE. Y = beta Y for rows x k; beta = 0 writes zeros without reading. */
typedef struct sl_scale_args {
  int64_t rows, k;
  double beta;
  void *y;
  int64_t ldy; /* in elements */
  sley_dtype dtype;
} sl_scale_args;

/* SL_OP_ROUND. Y = beta Y + S for rows x k, S in f32, Y of dtype, which has 16 bits: beta Y is computed in
 * double and rounded to f32, added to S in f32, and the sum is rounded to the type of Y. beta = 0 does not
 * read Y. */
typedef struct sl_round_args {
  int64_t rows, k;
  const float *sums;
  int64_t ld_sums; /* in elements */
  double beta;
  void *y;
  int64_t ldy; /* in elements */
  sley_dtype dtype;
} sl_round_args;

#endif

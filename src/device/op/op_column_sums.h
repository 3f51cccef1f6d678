/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_COLUMN_SUMS: the sum of each column, such as a bias's gradient. */
#ifndef SLEY_DEVICE_OP_OP_COLUMN_SUMS_H
#define SLEY_DEVICE_OP_OP_COLUMN_SUMS_H

#include "base/types.h"
#include "device/sum_blocks.h"

/* The definition, for j < cols: out[j] = sum_i x[i][j], i < rows. The sum is computed in double, from 0, by
 * blocks of sl_sum_rows(rows, cols) rows in the order of sum_blocks.h, and rounded to the dtype once. out
 * does not overlap x. */
typedef struct sl_column_sums_args {
  sley_dtype dtype;
  int64_t rows, cols;
  const void *x;
  int64_t ldx; /* in elements */
  void *out;   /* cols values */
} sl_column_sums_args;

static inline bool sl_column_sums_ok(const sl_column_sums_args *a) {
  return sley_dtype_bytes(a->dtype) != 0;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_SDDMM: a value for each entry of a pattern, from the row of U and the row of V that it joins. It is
 * the gradient of an aggregation with respect to the values. */
#ifndef SLEY_DEVICE_OP_OP_SDDMM_H
#define SLEY_DEVICE_OP_OP_SDDMM_H

#include "device/pattern.h"

typedef enum sl_sddmm { SL_SDDMM_DOT, SL_SDDMM_ADD } sl_sddmm;

/* The definition, for each entry j of row i of a pattern by rows and each head h:
 *
 *   DOT  S[j heads + h] = val[j heads + h] scale[i] sum_c U[i][f] V[col[j]][f], c < width, f = h width + c
 *   ADD  S[j heads + h] = val[j heads + h] (U[i][h] + V[col[j]][h]); width is 1, scale NULL
 *
 * val NULL: 1; scale NULL: 1 (it has the type of sums). val may be S itself. chosen, if not NULL, with DOT:
 * only features f with chosen[i features + f] = j - rowptr[i] count.
 *
 * Order of summation on the CPU: the products with c mod 16 = p, p = 0 .. 15, are added in ascending order of
 * c by fma to sum p, which begins as 0; then sums p and p + 8 are added for p < 8, then p and p + 4 for p <
 * 4, then p and p + 2, then 0 and 1. Then the sum is multiplied by scale, and by val, each with one rounding,
 * and rounded to the dtype. Other devices may add in another fixed order. */
typedef struct sl_sddmm_args {
  sl_pattern pattern; /* by rows; it may list rows: S of other rows' entries is unchanged */
  sl_heads shape;
  sley_dtype dtype; /* type of val, U, V and S */
  sl_sddmm form;
  const void *val;
  const void *scale;
  const int32_t *chosen;
  const void *u;
  int64_t ldu;
  sl_split_rows v; /* as many rows as the pattern has columns */
  void *s;
} sl_sddmm_args;

#endif

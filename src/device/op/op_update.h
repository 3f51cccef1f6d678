/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_UPDATE: Z = T W + beta Z, a dense update of rows T, which are given or are those of a product
 * T = alpha A X that the operation computes itself, block of rows by block of rows, and never stores whole.
 * The second form is Aggregation followed by Update in one kernel, as in HC-SpMM. */
#ifndef SLEY_DEVICE_OP_OP_UPDATE_H
#define SLEY_DEVICE_OP_OP_UPDATE_H

#include "device/op/op_spmm.h"

/* The definition, for each row i of Z that the operation writes and each column j < n:
 *
 *   Z[i][j] = sum_l T[i][l] W[l][j] + beta * Z[i][j].
 *
 * T has the type of sums: the dtype for f32 and f64, f32 for f16 and bf16. W and Z have the dtype.
 *
 *   product.problem NULL: T is given, and rows 0 .. rows - 1 of Z are written.
 *   product.problem not NULL: T[i] is what SL_OP_SPMM makes of row i with product.alpha, beta = 0 and wide_y,
 *   which the problem says, in its order of summation. The rows of Z that the stored rows of A name are
 *   written. Of product, y, ldy and beta are not looked at; t, ldt and rows neither.
 *
 * Order of summation, for each element of Z, on the CPU with every instruction set and any number of threads:
 *
 *   1. acc = beta z, computed in double and rounded to the type of sums, or 0 if beta is 0; z is then not
 *      read.
 *   2. For l = 0 .. k - 1, ascending: acc = fma(T[i][l], W[l][j], acc), with one rounding; values of 16 bits
 *      are widened, which is exact.
 *   3. z = acc, rounded to the type of Z, to nearest, ties to even.
 *
 * So both forms give the same bits where the product gives the same T, and a sum over l may be continued by a
 * second call with beta = 1 where Z has the type of sums. Kernels of other devices keep to this order where
 * in_order is set; else they may sum fragments of the l apart, each from 0, and add these and beta z in an
 * order that is fixed before the run, and they may keep fewer bits of products than fma does. How much more
 * that errs is what the kernel's accuracy says (kernel.h), of n = entries of the row + k +
 * 5 terms. No two of T, W, X and Z may overlap, except X, T and W, which are only read. */
typedef struct sl_update_args {
  /* First, so that what runs products can run this. When a kernel is looked for and prepared only
   * product.problem and dtype are set. A kernel that serves k columns serves fewer. */
  sl_spmm_run product;
  sley_dtype dtype;
  bool in_order;
  int64_t rows, k, n;
  const void *t;
  int64_t ldt; /* elements, as ldw and ldz */
  const void *w;
  int64_t ldw;
  double beta;
  void *z;
  int64_t ldz;
} sl_update_args;

#endif

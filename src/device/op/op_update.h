/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_UPDATE: Z = T W + beta Z, a dense update of rows T. T is given, or it is a product T = alpha A X that
 * the operation computes itself, block of rows by block of rows, and never stores as a whole. The second form
 * is Aggregation followed by Update in one kernel, as in HC-SpMM. */
#ifndef SLEY_DEVICE_OP_OP_UPDATE_H
#define SLEY_DEVICE_OP_OP_UPDATE_H

#include "device/op/op_spmm.h"

/* Additional work of an update that computes T itself (product.problem not NULL), on CPUs, in f32 and f64
 * only; all zero: none. After step 3 of sl_update_args, for each value z of Z:
 *
 *   4. z = act(z + bias[j]), the sum rounded to the dtype; act is SLEY_NO_ACTIVATION or SLEY_RELU
 *      (op_activate.h). If bias is NULL, nothing is added.
 *   5. With a gate: z = z act'(gate[i][j]) instead of act(z).
 *
 * transpose_w: W is stored as n x k. kept: receives T, one row for each row of Z, in the dtype; it overlaps
 * no other array. */
typedef struct sl_update_more {
  bool transpose_w;
  sley_activation act;
  const void *bias; /* n values, or NULL */
  const void *gate; /* rows of n values, or NULL */
  int64_t ldgate;
  void *kept; /* rows of k values, or NULL */
  int64_t ldkept;
} sl_update_more;

/* Returns whether rows of Z or T need work beside the sums. */
static inline bool sl_update_finishes(const sl_update_more *m) {
  return m->kept || m->bias || m->gate || m->act != SLEY_NO_ACTIVATION;
}

/* The definition, for each row i of Z that the operation writes and each column j < n:
 *
 *   Z[i][j] = sum_l T[i][l] W[l][j] + beta * Z[i][j].
 *
 * T has the type of sums: the dtype for f32 and f64, f32 for f16 and bf16. W and Z have the dtype.
 *
 *   product.problem NULL: T is given, and rows 0 .. rows - 1 of Z are written.
 *   product.problem not NULL: T[i] is row i as SL_OP_SPMM computes it with product.alpha, beta = 0 and wide_y
 *   (which the problem must set), in its order of summation. The rows of Z that the stored rows of A name
 *   are written. product's y, ldy and beta are not read, nor are t, ldt and rows.
 *
 * Order of summation, for each element of Z, on the CPU with every instruction set and any number of threads:
 *
 *   1. acc = beta z, computed in double and rounded to the type of sums, or 0 if beta is 0; z is then not
 *      read.
 *   2. For l = 0 .. k - 1, ascending: acc = fma(T[i][l], W[l][j], acc), with one rounding; 16-bit values are
 *      widened, which is exact.
 *   3. z = acc, rounded to the type of Z, to nearest, ties to even.
 *
 * So both forms return the same bits if the product returns the same T, and a sum over l may be continued by
 * a second call with beta = 1 if Z has the type of sums. Kernels of other devices use this order if in_order
 * is set. Otherwise they may sum fragments of the l separately, each from 0, and add these and beta z in an
 * order that is fixed before the run, and they may keep fewer bits of products than fma does. The kernel's
 * accuracy (kernel.h) states the additional error, for n = entries of the row + k + 5 terms. No two of T, W,
 * X and Z may overlap, except X, T and W, which are only read. */
typedef struct sl_update_args {
  /* First, so that functions that run products can run this. Only product.problem and dtype are set when a
   * kernel is looked for and prepared. A kernel that supports k columns also supports fewer. */
  sl_spmm_run product;
  sley_dtype dtype;
  bool in_order;
  int64_t rows, k, n;
  const void *t;
  int64_t ldt; /* leading dimension in elements, like ldw and ldz */
  const void *w;
  int64_t ldw;
  double beta;
  void *z;
  int64_t ldz;
  sl_update_more more;
} sl_update_args;

#endif

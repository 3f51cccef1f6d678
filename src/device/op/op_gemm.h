/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_GEMM: the product of two dense matrices, with a bias and an activation, or with what the backward
 * half of a layer does beside it. */
#ifndef SLEY_DEVICE_OP_OP_GEMM_H
#define SLEY_DEVICE_OP_OP_GEMM_H

#include "base/types.h"

/* Terms of a sum that are added apart from the others. */
enum { SL_GEMM_TERMS = 8192 };

/* The definition, for i < m and j < n, all matrices row-major:
 *
 *   C[i][j] = act(alpha S[i][j] + beta C[i][j] + bias[j]),  S[i][j] = sum_l op(A)[i][l] op(B)[l][j], l < k.
 *
 * op(M) is M, or its transpose: A is m x k, or k x m with transpose_a; B is k x n, or n x k with transpose_b.
 *
 * S has the type of sums: the dtype for f32 and f64, f32 for f16 and bf16. The l are cut into blocks of
 * SL_GEMM_TERMS. Each block is summed from 0, and the blocks' sums are added in ascending order. Within a
 * block with in_order: S = 0, then for each l in ascending order the product is rounded and then the sum.
 * Without in_order: in an order that the kernel fixes by shapes, types and the processor, never by the
 * number of threads or by timing; it may use fused multiply-adds. On devices other than the CPU the blocks
 * need not be those either, and with tf32 values of f32 may first be cut or rounded to 11 significant bits.
 *
 * The rest is computed in double and rounded to the dtype once: alpha S, + beta C, + bias[j], from left to
 * right, then act (op_activate.h). With beta = 0 C is not read; with bias NULL nothing is added; with alpha =
 * 0 neither A nor B is read, and alpha S is 0. Kernels of other devices may compute it in the type of sums,
 * round to the dtype before act, and let relu make 0 of NaN. C overlaps no other array.
 *
 * Two things some kernels do beside it:
 *
 *   gate          m x n values that act gave. C[i][j] = v act'(gate[i][j]) instead of act(v), where v is what
 * C is without act, rounded to the dtype: the bits of a product and an SL_OP_ACTIVATE_GRAD by the same
 * kernels, one after the other column_sums   gets n values, the sums of the columns of B, which is not
 * transposed: of l < k, as SL_OP_COLUMN_SUMS makes them, whatever alpha is. Kernels of other devices may cut
 * the rows into other blocks, by shapes alone */
typedef struct sl_gemm_args {
  sley_dtype dtype; /* of A, B, C and bias */
  bool transpose_a, transpose_b, in_order, tf32;
  int64_t m, n, k;
  double alpha, beta;
  const void *a, *b;
  int64_t lda, ldb; /* elements, as ldc */
  void *c;
  int64_t ldc;
  const void *bias; /* n values, or NULL */
  sley_activation act;
  double slope;
  const void *gate; /* NULL: none */
  int64_t ldgate;
  void *column_sums; /* NULL: not wanted */
} sl_gemm_args;

/* What kernels serve that do all of it. */
static inline bool sl_gemm_all_ok(const sl_gemm_args *a) {
  return sley_dtype_bytes(a->dtype) != 0 && (unsigned)a->act <= SLEY_ELU &&
         !(a->column_sums && a->transpose_b);
}

/* What every device serves. */
static inline bool sl_gemm_ok(const sl_gemm_args *a) {
  return sl_gemm_all_ok(a) && !a->gate && !a->column_sums;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_GEMM: the product of two dense matrices, with a bias and an activation, or with the extra work of a
 * layer's backward pass. */
#ifndef SLEY_DEVICE_OP_OP_GEMM_H
#define SLEY_DEVICE_OP_OP_GEMM_H

#include "base/types.h"

/* Number of terms of a sum that form a block, which is summed separately from other blocks. */
enum { SL_GEMM_TERMS = 8192 };

/* The definition, for i < m and j < n, all matrices row-major:
 *
 *   C[i][j] = act(alpha S[i][j] + beta C[i][j] + bias[j]),  S[i][j] = sum_l op(A)[i][l] op(B)[l][j], l < k.
 *
 * op(M) is M or its transpose: A is m x k, or k x m with transpose_a; B is k x n, or n x k with transpose_b.
 *
 * S has the type of sums: the dtype for f32 and f64, f32 for f16 and bf16. The l are cut into blocks of
 * SL_GEMM_TERMS. Each block is summed from 0, and the blocks' sums are added in ascending order. Within a
 * block with in_order: S = 0, then for each l in ascending order first the product is rounded and then the
 * sum. Without in_order: in an order that the kernel determines from shapes, types and the processor, never
 * from the number of threads or timing; it may use fused multiply-adds. On devices other than the CPU the
 * blocks may differ, too, and with tf32, f32 values may first be truncated or rounded to 11 significant bits.
 *
 * The rest is computed in double and rounded to the dtype once: alpha S, + beta C, + bias[j], from left to
 * right, then act (op_activate.h). If beta = 0, C is not read; if bias is NULL, nothing is added; if alpha =
 * 0 or k = 0, A and B are not read, and alpha S is +0. Kernels of other devices may compute it in the type of
 * sums, round to the dtype before act, and let relu turn NaN into 0. C overlaps no other array.
 *
 * Two additional results that some kernels support:
 *
 *   gate         m x n outputs of act. C[i][j] = v act'(gate[i][j]) instead of act(v), where v is C without
 *                act, rounded to the dtype: the same bits as a product followed by an SL_OP_ACTIVATE_GRAD,
 *                by the same kernels
 *   column_sums  receives n values, the sums over l < k of the columns of B, which is not transposed, as
 *                SL_OP_COLUMN_SUMS computes them, whatever alpha is. Kernels of other devices may cut the
 *                rows into other blocks, by shapes alone
 */
typedef struct sl_gemm_args {
  sley_dtype dtype; /* type of A, B, C and bias */
  bool transpose_a, transpose_b, in_order, tf32;
  int64_t m, n, k;
  double alpha, beta;
  const void *a, *b;
  int64_t lda, ldb; /* leading dimensions in elements, like ldc */
  void *c;
  int64_t ldc;
  const void *bias; /* n values, or NULL */
  sley_activation act;
  double slope;
  const void *gate; /* NULL: none */
  int64_t ldgate;
  void *column_sums; /* NULL: not wanted */
} sl_gemm_args;

/* Arguments that kernels with support for gate and column_sums accept. */
static inline bool sl_gemm_all_ok(const sl_gemm_args *a) {
  return sley_dtype_bytes(a->dtype) != 0 && (unsigned)a->act <= SLEY_ELU &&
         !(a->column_sums && a->transpose_b);
}

/* Arguments that every device supports. */
static inline bool sl_gemm_ok(const sl_gemm_args *a) {
  return sl_gemm_all_ok(a) && !a->gate && !a->column_sums;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Dense products by a BLAS, in the calling thread alone. */
#ifndef SLEY_DEVICE_CPU_DENSE_BLAS_H
#define SLEY_DEVICE_CPU_DENSE_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* The product P = op(A) op(B), or P += op(A) op(B), of row-major matrices: m x n of sums of k products. */
typedef struct sl_blas_product {
  bool transpose_a, transpose_b, add;
  int64_t m, n, k;
  const void *a, *b;
  int64_t lda, ldb; /* elements */
  void *p;
  int64_t ldp;
} sl_blas_product;

/* Whether there is one that may be called by several threads at once, and takes matrices with leading
 * dimensions up to this. The first call looks for it. */
bool sl_blas_serves(int64_t ld);

/* Before so many threads make products at once, until sl_blas_leave of as many: the memory that the BLAS then
 * takes is there. Errors: SLEY_ERR_MEMORY; then there is nothing to leave. */
sley_status sl_blas_enter(int threads);
void sl_blas_leave(int threads);

/* In f32 and f64; m, n and k at least 1 and at most 2^31 - 1. */
void sl_blas_f32(const sl_blas_product *product);
void sl_blas_f64(const sl_blas_product *product);

#endif

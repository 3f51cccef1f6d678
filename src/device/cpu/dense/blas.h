/* SPDX-License-Identifier: Apache-2.0 */
/* Dense products by a BLAS library, in the calling thread alone. */
#ifndef SLEY_DEVICE_CPU_DENSE_BLAS_H
#define SLEY_DEVICE_CPU_DENSE_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* The product P = op(A) op(B) or P += op(A) op(B) of row-major matrices. P is m x n; each element is a sum of
 * k products. */
typedef struct sl_blas_product {
  bool transpose_a, transpose_b, add;
  int64_t m, n, k;
  const void *a, *b;
  int64_t lda, ldb; /* in elements */
  void *p;
  int64_t ldp;
} sl_blas_product;

/* Returns whether a BLAS is available that several threads may call at once and that accepts leading
 * dimensions up to ld. The first call searches for it. */
bool sl_blas_serves(int64_t ld);

/* Called before `threads` threads compute products at once; sl_blas_leave is called afterwards with the same
 * number. Ensures that the memory that the BLAS takes for them is available. Errors: SLEY_ERR_MEMORY;
 * sl_blas_leave must then not be called. */
sley_status sl_blas_enter(int threads);
void sl_blas_leave(int threads);

/* Compute the product in f32 and in f64; m, n and k are from 1 to 2^31 - 1. */
void sl_blas_f32(const sl_blas_product *product);
void sl_blas_f64(const sl_blas_product *product);

#endif

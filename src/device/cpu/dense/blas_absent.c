/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces blas_openblas.c in a build without OpenBLAS's header: no BLAS is available. */
#include "device/cpu/dense/blas.h"

bool sl_blas_serves(int64_t ld) {
  (void)ld;
  return false;
}

sley_status sl_blas_enter(int threads) {
  (void)threads;
  return SLEY_OK;
}

void sl_blas_leave(int threads) {
  (void)threads;
}

void sl_blas_f32(const sl_blas_product *product) {
  (void)product;
}

void sl_blas_f64(const sl_blas_product *product) {
  (void)product;
}

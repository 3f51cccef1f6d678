/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for blas_openblas.c in a build without OpenBLAS's header: no product is asked for. */
#include "device/cpu/blas.h"

bool sl_blas_serves(int64_t ld) {
  (void)ld;
  return false;
}

void sl_blas_f32(const sl_blas_product *product) {
  (void)product;
}

void sl_blas_f64(const sl_blas_product *product) {
  (void)product;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of f64 in NEON: the operations that spmm_body.h uses, for kernels that sum in f64. */
#ifndef SLEY_DEVICE_CPU_VECTORS_LANES_F64_NEON_H
#define SLEY_DEVICE_CPU_VECTORS_LANES_F64_NEON_H

#include <arm_neon.h>
#include <stdint.h>

typedef double sum;
typedef float64x2_t vec;
enum { LANES = 2 };

static inline vec vec_zero(void) {
  return vdupq_n_f64(0);
}
static inline vec vec_all(sum s) {
  return vdupq_n_f64(s);
}
static inline vec vec_load(const sum *p) {
  return vld1q_f64(p);
}
static inline void vec_store(sum *p, vec v) {
  vst1q_f64(p, v);
}
/* Loads the first value: an incomplete vector of two has exactly one. */
static inline vec vec_load_first(const sum *p, int64_t count) {
  (void)count;
  return vcombine_f64(vld1_f64(p), vdup_n_f64(0));
}
static inline void vec_store_first(sum *p, int64_t count, vec v) {
  (void)count;
  vst1_f64(p, vget_low_f64(v));
}
static inline vec vec_fma(vec s, vec x, vec acc) {
  return vfmaq_f64(acc, s, x);
}

#include "device/cpu/vectors/lanes_neon.h"

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of f32 in NEON: the operations that spmm_body.h is made of, for kernels that sum in f32. */
#ifndef SLEY_DEVICE_CPU_LANES_F32_NEON_H
#define SLEY_DEVICE_CPU_LANES_F32_NEON_H

#include <arm_neon.h>

typedef float sum;
typedef float32x4_t vec;
enum { LANES = 4 };

static inline vec vec_zero(void) {
  return vdupq_n_f32(0);
}
static inline vec vec_all(sum s) {
  return vdupq_n_f32(s);
}
static inline vec vec_load(const sum *p) {
  return vld1q_f32(p);
}
static inline void vec_store(sum *p, vec v) {
  vst1q_f32(p, v);
}
static inline vec vec_fma(vec s, vec x, vec acc) {
  return vfmaq_f32(acc, s, x);
}

#include "device/cpu/lanes_neon.h"

#endif

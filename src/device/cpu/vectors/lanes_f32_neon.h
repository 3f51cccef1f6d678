/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of f32 in NEON: the operations that spmm_body.h uses, for kernels that sum in f32. */
#ifndef SLEY_DEVICE_CPU_VECTORS_LANES_F32_NEON_H
#define SLEY_DEVICE_CPU_VECTORS_LANES_F32_NEON_H

#include <arm_neon.h>
#include <stdint.h>

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
/* Loads the first one, two or three values. */
static inline vec vec_load_first(const sum *p, int64_t count) {
  if (count == 1)
    return vld1q_lane_f32(p, vdupq_n_f32(0), 0);
  const float32x2_t none = vdup_n_f32(0);
  return vcombine_f32(vld1_f32(p), count == 2 ? none : vld1_lane_f32(p + 2, none, 0));
}
static inline void vec_store_first(sum *p, int64_t count, vec v) {
  if (count == 1) {
    vst1q_lane_f32(p, v, 0);
    return;
  }
  vst1_f32(p, vget_low_f32(v));
  if (count == 3)
    vst1q_lane_f32(p + 2, v, 2);
}
static inline vec vec_fma(vec s, vec x, vec acc) {
  return vfmaq_f32(acc, s, x);
}

#include "device/cpu/vectors/lanes_neon.h"

#endif

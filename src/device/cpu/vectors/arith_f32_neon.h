/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on vectors of f32 in NEON for block_math.h, in addition to the operations of
 * lanes_f32_neon.h. */
#ifndef SLEY_DEVICE_CPU_VECTORS_ARITH_F32_NEON_H
#define SLEY_DEVICE_CPU_VECTORS_ARITH_F32_NEON_H

#include "device/cpu/vectors/lanes_f32_neon.h"

static inline vec vec_add(vec a, vec b) {
  return vaddq_f32(a, b);
}
static inline vec vec_sub(vec a, vec b) {
  return vsubq_f32(a, b);
}
static inline vec vec_mul(vec a, vec b) {
  return vmulq_f32(a, b);
}
static inline vec vec_div(vec a, vec b) {
  return vdivq_f32(a, b);
}
/* Lane by lane: a < b ? x : y, hence y where a or b is NaN. */
static inline vec vec_if_less(vec a, vec b, vec x, vec y) {
  return vbslq_f32(vcltq_f32(a, b), x, y);
}
/* Lane by lane: a > b, or a is NaN and b is not ? x : y. */
static inline vec vec_if_above(vec a, vec b, vec x, vec y) {
  return vbslq_f32(vbicq_u32(vceqq_f32(b, b), vcleq_f32(a, b)), x, y);
}
/* Lane i: p[i] == n ? x : y. */
static inline vec vec_if_same(const int32_t *p, int32_t n, vec x, vec y) {
  return vbslq_f32(vceqq_s32(vld1q_s32(p), vdupq_n_s32(n)), x, y);
}
/* Lane i is v[index[i]]. */
static inline vec vec_pick(vec v, const int32_t *index) {
  const uint32x4_t first = vmulq_n_u32(vreinterpretq_u32_s32(vld1q_s32(index)), 0x04040404);
  const uint8x16_t bytes = vreinterpretq_u8_u32(vaddq_u32(first, vdupq_n_u32(0x03020100)));
  return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(v), bytes));
}
/* Rounds to whole numbers, ties to even. */
static inline vec vec_rint(vec a) {
  return vrndnq_f32(a);
}
/* 2^n for whole numbers n; the result must be a normal number. */
static inline vec vec_pow2(vec n) {
  return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127)), 23));
}
/* Sum of 16 values as a tree: p and p + 8 are added first, then p and p + 4, p and p + 2, p and p + 1. */
static inline sum vec_tree(const vec *v) {
  const vec four = vaddq_f32(vaddq_f32(v[0], v[2]), vaddq_f32(v[1], v[3]));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

#endif

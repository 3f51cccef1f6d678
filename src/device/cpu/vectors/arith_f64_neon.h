/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on vectors of f64 in NEON for block_math.h, in addition to the operations of
 * lanes_f64_neon.h. */
#ifndef SLEY_DEVICE_CPU_VECTORS_ARITH_F64_NEON_H
#define SLEY_DEVICE_CPU_VECTORS_ARITH_F64_NEON_H

#include "device/cpu/vectors/lanes_f64_neon.h"

static inline vec vec_add(vec a, vec b) {
  return vaddq_f64(a, b);
}
static inline vec vec_sub(vec a, vec b) {
  return vsubq_f64(a, b);
}
static inline vec vec_mul(vec a, vec b) {
  return vmulq_f64(a, b);
}
static inline vec vec_div(vec a, vec b) {
  return vdivq_f64(a, b);
}
/* Lane by lane: a < b ? x : y, hence y where a or b is NaN. */
static inline vec vec_if_less(vec a, vec b, vec x, vec y) {
  return vbslq_f64(vcltq_f64(a, b), x, y);
}
/* Lane by lane: a > b, or a is NaN and b is not ? x : y. */
static inline vec vec_if_above(vec a, vec b, vec x, vec y) {
  return vbslq_f64(vbicq_u64(vceqq_f64(b, b), vcleq_f64(a, b)), x, y);
}
/* Lane i: p[i] == n ? x : y. */
static inline vec vec_if_same(const int32_t *p, int32_t n, vec x, vec y) {
  const int32x2_t found = vreinterpret_s32_u32(vceq_s32(vld1_s32(p), vdup_n_s32(n)));
  return vbslq_f64(vreinterpretq_u64_s64(vmovl_s32(found)), x, y);
}
/* Lane i is v[index[i]]. */
static inline vec vec_pick(vec v, const int32_t *index) {
  const vec low = vdupq_laneq_f64(v, 0), high = vdupq_laneq_f64(v, 1);
  const int64x2_t second = vmovl_s32(vld1_s32(index));
  return vbslq_f64(vceqzq_s64(second), low, high);
}
/* Rounds to whole numbers, ties to even. */
static inline vec vec_rint(vec a) {
  return vrndnq_f64(a);
}
/* 2^n for whole numbers n; the result must be a normal number. */
static inline vec vec_pow2(vec n) {
  return vreinterpretq_f64_s64(vshlq_n_s64(vaddq_s64(vcvtq_s64_f64(n), vdupq_n_s64(1023)), 52));
}
/* Sum of 16 values as a tree: p and p + 8 are added first, then p and p + 4, p and p + 2, p and p + 1. */
static inline sum vec_tree(const vec *v) {
  const vec low = vaddq_f64(vaddq_f64(v[0], v[4]), vaddq_f64(v[2], v[6])),
            high = vaddq_f64(vaddq_f64(v[1], v[5]), vaddq_f64(v[3], v[7])), two = vaddq_f64(low, high);
  return vgetq_lane_f64(two, 0) + vgetq_lane_f64(two, 1);
}

#endif

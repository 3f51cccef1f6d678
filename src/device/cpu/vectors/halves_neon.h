/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of four 16-bit values in NEON: moves and conversions. */
#ifndef SLEY_DEVICE_CPU_VECTORS_HALVES_NEON_H
#define SLEY_DEVICE_CPU_VECTORS_HALVES_NEON_H

#include "base/half.h"
#include "device/cpu/vectors/lanes_f32_neon.h"

typedef uint16_t value;
typedef uint16x4_t halves;

static inline halves load_halves(const value *p) {
  return vld1_u16(p);
}
/* Like vec_load_part: if the vector is alone in its row, loads one, two or three values. */
static inline halves load_halves_part(const value *p, mask m) {
  if (!m.alone)
    return load_halves(p + m.lanes - LANES);
  halves v = vld1_lane_u16(p, vdup_n_u16(0), 0);
  if (m.lanes > 1)
    v = vld1_lane_u16(p + 1, v, 1);
  return m.lanes > 2 ? vld1_lane_u16(p + 2, v, 2) : v;
}
static inline void store_halves(value *p, halves v) {
  vst1_u16(p, v);
}
static inline void store_halves_part(value *p, mask m, halves v) {
  if (!m.alone) {
    store_halves(p + m.lanes - LANES, v);
    return;
  }
  vst1_lane_u16(p, v, 0);
  if (m.lanes > 1)
    vst1_lane_u16(p + 1, v, 1);
  if (m.lanes > 2)
    vst1_lane_u16(p + 2, v, 2);
}
/* Never called, because STREAMS is 0. */
static inline void stream_halves(value *p, halves v) {
  store_halves(p, v);
}

static inline vec widened_f16(halves v) {
  return vcvt_f32_f16(vreinterpret_f16_u16(v));
}
static inline halves rounded_f16(vec v) {
  return vreinterpret_u16_f16(vcvt_f16_f32(v));
}

static inline vec widened_bf16(halves v) {
  return vreinterpretq_f32_u32(vshlq_n_u32(vmovl_u16(v), 16));
}
/* Rounds to nearest, ties to even. The number added carries into the bits that are kept if the dropped bits
 * are more than half, or exactly half and the last kept bit is 1. A NaN is made quiet instead, because the
 * addition could carry into its sign. */
static inline halves rounded_bf16(vec v) {
  const uint32x4_t bits = vreinterpretq_u32_f32(v);
  const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
  const uint32x4_t up = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), odd);
  const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
  return vshrn_n_u32(vbslq_u32(vceqq_f32(v, v), up, quiet), 16);
}

#endif

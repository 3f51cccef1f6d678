/* SPDX-License-Identifier: Apache-2.0 */
/* One 16-bit value, for any processor: moves and conversions. */
#ifndef SLEY_DEVICE_CPU_VECTORS_HALVES_PORTABLE_H
#define SLEY_DEVICE_CPU_VECTORS_HALVES_PORTABLE_H

typedef float sum;
#include "base/half.h"
#include "device/cpu/vectors/lanes_portable.h"

typedef uint16_t value;
typedef uint16_t halves;

static inline halves load_halves(const value *p) {
  return *p;
}
static inline halves load_halves_part(const value *p, mask m) {
  return m ? *p : 0;
}
static inline void store_halves(value *p, halves v) {
  *p = v;
}
static inline void store_halves_part(value *p, mask m, halves v) {
  if (m)
    *p = v;
}
static inline void stream_halves(value *p, halves v) {
  store_halves(p, v);
}

/* Not inlined: many instructions, and loops contain many of them. */
#define CONVERSION static __attribute__((noinline, unused))
CONVERSION vec widened_f16(halves v) {
  return sl_f32_of_f16(v);
}
CONVERSION halves rounded_f16(vec v) {
  return sl_f16_of_f32(v);
}
static inline vec widened_bf16(halves v) {
  return sl_f32_of_bf16(v);
}
CONVERSION halves rounded_bf16(vec v) {
  return sl_bf16_of_f32(v);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Moving a vector of eight values of 16 bits. AVX2 has no masked moves for them. */
#ifndef SLEY_DEVICE_CPU_HALVES_AVX2_H
#define SLEY_DEVICE_CPU_HALVES_AVX2_H

#include <string.h>

#include "device/cpu/lanes_avx2.h"

typedef uint16_t value;
typedef __m128i halves;

/* Lanes of a mask of f32. */
static inline int count_of(mask m) {
  return __builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(m)));
}

/* At most eight values, moved as four, two and one. */
static inline void copy_part_16(uint16_t *to, const uint16_t *from, int count) {
  if (count == 8) {
    memcpy(to, from, 16);
    return;
  }
  if (count & 4) {
    memcpy(to, from, 8);
    to += 4;
    from += 4;
  }
  if (count & 2) {
    memcpy(to, from, 4);
    to += 2;
    from += 2;
  }
  if (count & 1)
    *to = *from;
}

static inline halves load_halves(const value *p) {
  return _mm_loadu_si128((const halves *)p);
}
static inline halves load_halves_part(const value *p, mask m) {
  value part[8] = {0};
  copy_part_16(part, p, count_of(m));
  return load_halves(part);
}
static inline void store_halves(value *p, halves v) {
  _mm_storeu_si128((halves *)p, v);
}
static inline void store_halves_part(value *p, mask m, halves v) {
  value part[8];
  store_halves(part, v);
  copy_part_16(p, part, count_of(m));
}
static inline void stream_halves(value *p, halves v) {
  _mm_stream_si128((halves *)p, v);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The first values of a vector of eight of 16 bits, for which AVX2 has no masked moves. */
#ifndef SLEY_DEVICE_CPU_PART_16_AVX2_H
#define SLEY_DEVICE_CPU_PART_16_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

/* Lanes of a mask of f32. */
static inline int count_of(__m256i m) {
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

static inline __m128i load_part_16(const uint16_t *p, __m256i m) {
  uint16_t part[8] = {0};
  copy_part_16(part, p, count_of(m));
  return _mm_loadu_si128((const __m128i *)part);
}

static inline void store_part_16(uint16_t *p, __m256i m, __m128i v) {
  uint16_t part[8];
  _mm_storeu_si128((__m128i *)part, v);
  copy_part_16(p, part, count_of(m));
}

#endif

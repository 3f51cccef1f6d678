/* SPDX-License-Identifier: Apache-2.0 */
/* Moving a vector of sixteen values of 16 bits. */
#ifndef SLEY_DEVICE_CPU_HALVES_AVX512_H
#define SLEY_DEVICE_CPU_HALVES_AVX512_H

#include "device/cpu/lanes_avx512.h"

typedef uint16_t value;
typedef __m256i halves;

static inline halves load_halves(const value *p) {
  return _mm256_loadu_si256((const halves *)p);
}
static inline halves load_halves_part(const value *p, mask m) {
  return _mm256_maskz_loadu_epi16(m, p);
}
static inline void store_halves(value *p, halves v) {
  _mm256_storeu_si256((halves *)p, v);
}
static inline void store_halves_part(value *p, mask m, halves v) {
  _mm256_mask_storeu_epi16(p, m, v);
}
static inline void stream_halves(value *p, halves v) {
  _mm256_stream_si256((halves *)p, v);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of eight 16-bit values in AVX2: moves and conversions. AVX2 has no masked moves for them. */
#ifndef SLEY_DEVICE_CPU_VECTORS_HALVES_AVX2_H
#define SLEY_DEVICE_CPU_VECTORS_HALVES_AVX2_H

#include <string.h>

#include "base/half.h"
#include "device/cpu/vectors/lanes_f32_avx2.h"

typedef uint16_t value;
typedef __m128i halves;

/* Copies at most eight values, as four, two and one. */
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
  copy_part_16(part, p, m.count);
  return load_halves(part);
}
static inline void store_halves(value *p, halves v) {
  _mm_storeu_si128((halves *)p, v);
}
static inline void store_halves_part(value *p, mask m, halves v) {
  value part[8];
  store_halves(part, v);
  copy_part_16(p, part, m.count);
}
static inline void stream_halves(value *p, halves v) {
  _mm_stream_si128((halves *)p, v);
}

static inline vec widened_f16(halves v) {
  return _mm256_cvtph_ps(v);
}
static inline halves rounded_f16(vec v) {
  return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}

static inline vec widened_bf16(halves v) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}
/* Rounds to nearest, ties to even. The number added carries into the bits that are kept if the dropped bits
 * are more than half, or exactly half and the last kept bit is 1. A NaN is made quiet instead, because the
 * addition could carry into its sign. */
static inline halves rounded_bf16(vec v) {
  __m256i bits = _mm256_castps_si256(v);
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
  __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  __m256i kept = _mm256_srli_epi32(_mm256_blendv_epi8(up, quiet, nan), 16);
  return _mm_packus_epi32(_mm256_castsi256_si128(kept), _mm256_extracti128_si256(kept, 1));
}

#endif

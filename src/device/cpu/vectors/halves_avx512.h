/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of sixteen 16-bit values in AVX-512: moves and conversions. */
#ifndef SLEY_DEVICE_CPU_VECTORS_HALVES_AVX512_H
#define SLEY_DEVICE_CPU_VECTORS_HALVES_AVX512_H

#include "base/half.h"
#include "device/cpu/vectors/lanes_f32_avx512.h"

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

static inline vec widened_f16(halves v) {
  return _mm512_cvtph_ps(v);
}
static inline halves rounded_f16(vec v) {
  return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}

static inline vec widened_bf16(halves v) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
}
/* Rounds to nearest, ties to even. The number added carries into the bits that are kept if the dropped bits
 * are more than half, or exactly half and the last kept bit is 1. A NaN is made quiet instead, because the
 * addition could carry into its sign. */
static inline halves rounded_bf16(vec v) {
  __m512i bits = _mm512_castps_si512(v);
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(
      _mm512_srli_epi32(_mm512_mask_or_epi32(up, nan, bits, _mm512_set1_epi32(0x400000)), 16));
}

#endif

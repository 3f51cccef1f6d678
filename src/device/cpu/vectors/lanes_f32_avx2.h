/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of f32 in AVX2 and FMA: the operations that spmm_body.h uses, for kernels that sum in f32. */
#ifndef SLEY_DEVICE_CPU_VECTORS_LANES_F32_AVX2_H
#define SLEY_DEVICE_CPU_VECTORS_LANES_F32_AVX2_H

#include <immintrin.h>
#include <string.h>

#include "device/cpu/spmm/spmm_parts.h"

typedef float sum;
typedef __m256 vec;
typedef struct mask {
  __m256i lanes;
  int count; /* number of values, fewer than LANES */
} mask;
enum { LANES = 8, REGISTERS = 16, MOST_PARTS = 2, ISA = SL_CPU_AVX2, STREAMS = 1 };

static inline mask mask_of(int64_t lanes, bool alone) {
  (void)alone;
  return (mask){_mm256_cmpgt_epi32(_mm256_set1_epi32((int)lanes), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
                (int)lanes};
}
static inline vec vec_zero(void) {
  return _mm256_setzero_ps();
}
static inline vec vec_all(sum s) {
  return _mm256_set1_ps(s);
}
static inline vec vec_load(const sum *p) {
  return _mm256_loadu_ps(p);
}
static inline __attribute__((always_inline)) vec vec_load_part(const sum *p, mask m, const int part) {
  if (part == 2)
    return _mm256_castps128_ps256(_mm_maskload_ps(p, _mm256_castsi256_si128(m.lanes)));
  return _mm256_maskload_ps(p, m.lanes);
}
/* Loads p[index[0]] to p[index[3]]; each load reads two indices. */
static inline __m128 gather_four(const sum *p, const int32_t *index) {
  uint64_t low, high;
  memcpy(&low, index, sizeof low);
  memcpy(&high, index + 2, sizeof high);
  __m128 v = _mm_load_ss(p + (uint32_t)low);
  v = _mm_insert_ps(v, _mm_load_ss(p + (low >> 32)), 0x10);
  v = _mm_insert_ps(v, _mm_load_ss(p + (uint32_t)high), 0x20);
  return _mm_insert_ps(v, _mm_load_ss(p + (high >> 32)), 0x30);
}
/* Lane i is p[index[i]]. Separate loads take about half as long as a gather on many processors. */
static inline vec vec_gather(const sum *p, const int32_t *index) {
  return _mm256_set_m128(gather_four(p, index + 4), gather_four(p, index));
}
static inline void vec_store(sum *p, vec v) {
  _mm256_storeu_ps(p, v);
}
/* Stores as four, two and one value, because masked stores are many times slower on some processors. */
static inline void vec_store_part(sum *p, mask m, vec v) {
  __m128 part = _mm256_castps256_ps128(v);
  if (m.count & 4) {
    _mm_storeu_ps(p, part);
    p += 4;
    part = _mm256_extractf128_ps(v, 1);
  }
  if (m.count & 2) {
    _mm_storel_pi((__m64 *)p, part);
    p += 2;
    part = _mm_movehl_ps(part, part);
  }
  if (m.count & 1)
    _mm_store_ss(p, part);
}
static inline void vec_stream(sum *p, vec v) {
  _mm256_stream_ps(p, v);
}
static inline void stream_end(void) {
  _mm_sfence();
}
static inline vec vec_fma(vec s, vec x, vec acc) {
  return _mm256_fmadd_ps(s, x, acc);
}

#endif

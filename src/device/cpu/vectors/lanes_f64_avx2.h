/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of f64 in AVX2 and FMA: the operations that spmm_body.h uses, for kernels that sum in f64. */
#ifndef SLEY_DEVICE_CPU_VECTORS_LANES_F64_AVX2_H
#define SLEY_DEVICE_CPU_VECTORS_LANES_F64_AVX2_H

#include <immintrin.h>
#include <string.h>

#include "device/cpu/spmm/spmm_parts.h"

typedef double sum;
typedef __m256d vec;
typedef struct mask {
  __m256i lanes;
  int count; /* fewer than LANES */
} mask;
enum { LANES = 4, REGISTERS = 16, MOST_PARTS = 2, ISA = SL_CPU_AVX2, STREAMS = 1 };

static inline mask mask_of(int64_t lanes, bool alone) {
  (void)alone;
  return (mask){_mm256_cmpgt_epi64(_mm256_set1_epi64x(lanes), _mm256_set_epi64x(3, 2, 1, 0)), (int)lanes};
}
static inline vec vec_zero(void) {
  return _mm256_setzero_pd();
}
static inline vec vec_all(sum s) {
  return _mm256_set1_pd(s);
}
static inline vec vec_load(const sum *p) {
  return _mm256_loadu_pd(p);
}
static inline __attribute__((always_inline)) vec vec_load_part(const sum *p, mask m, const int part) {
  if (part == 2)
    return _mm256_castpd128_pd256(_mm_maskload_pd(p, _mm256_castsi256_si128(m.lanes)));
  return _mm256_maskload_pd(p, m.lanes);
}
/* Loads p[index[0]] and p[index[1]]; one load reads both indices. */
static inline __m128d gather_two(const sum *p, const int32_t *index) {
  uint64_t two;
  memcpy(&two, index, sizeof two);
  return _mm_loadh_pd(_mm_load_sd(p + (uint32_t)two), p + (two >> 32));
}
/* Lane i is p[index[i]]. Separate loads take about half as long as a gather on many processors. */
static inline vec vec_gather(const sum *p, const int32_t *index) {
  return _mm256_set_m128d(gather_two(p, index + 2), gather_two(p, index));
}
static inline void vec_store(sum *p, vec v) {
  _mm256_storeu_pd(p, v);
}
/* Stores as two values and one, because masked stores are many times slower on some processors. */
static inline void vec_store_part(sum *p, mask m, vec v) {
  __m128d part = _mm256_castpd256_pd128(v);
  if (m.count & 2) {
    _mm_storeu_pd(p, part);
    p += 2;
    part = _mm256_extractf128_pd(v, 1);
  }
  if (m.count & 1)
    _mm_store_sd(p, part);
}
static inline void vec_stream(sum *p, vec v) {
  _mm256_stream_pd(p, v);
}
static inline void stream_end(void) {
  _mm_sfence();
}
static inline vec vec_fma(vec s, vec x, vec acc) {
  return _mm256_fmadd_pd(s, x, acc);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on vectors of f64 in AVX-512 for block_math.h, in addition to the operations of
 * lanes_f64_avx512.h. */
#ifndef SLEY_DEVICE_CPU_VECTORS_ARITH_F64_AVX512_H
#define SLEY_DEVICE_CPU_VECTORS_ARITH_F64_AVX512_H

#include "device/cpu/vectors/lanes_f64_avx512.h"

static inline vec vec_add(vec a, vec b) {
  return _mm512_add_pd(a, b);
}
static inline vec vec_sub(vec a, vec b) {
  return _mm512_sub_pd(a, b);
}
static inline vec vec_mul(vec a, vec b) {
  return _mm512_mul_pd(a, b);
}
static inline vec vec_div(vec a, vec b) {
  return _mm512_div_pd(a, b);
}
/* Lane by lane: a < b ? x : y, hence y where a or b is NaN. */
static inline vec vec_if_less(vec a, vec b, vec x, vec y) {
  return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(a, b, _CMP_LT_OQ), y, x);
}
/* Lane by lane: a > b, or a is NaN and b is not ? x : y. */
static inline vec vec_if_above(vec a, vec b, vec x, vec y) {
  const __mmask8 above = _mm512_mask_cmp_pd_mask(_mm512_cmp_pd_mask(b, b, _CMP_ORD_Q), a, b, _CMP_NLE_UQ);
  return _mm512_mask_blend_pd(above, y, x);
}
/* Lane i: p[i] == n ? x : y. */
static inline vec vec_if_same(const int32_t *p, int32_t n, vec x, vec y) {
  const __m256i found = _mm256_loadu_si256((const __m256i *)p);
  return _mm512_mask_blend_pd(_mm256_cmpeq_epi32_mask(found, _mm256_set1_epi32(n)), y, x);
}
/* Lane i is v[index[i]]. */
static inline vec vec_pick(vec v, const int32_t *index) {
  return _mm512_permutexvar_pd(_mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)index)), v);
}
/* Rounds to whole numbers, ties to even. */
static inline vec vec_rint(vec a) {
  return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/* 2^n for whole numbers n; the result must be a normal number. */
static inline vec vec_pow2(vec n) {
  return _mm512_castsi512_pd(
      _mm512_slli_epi64(_mm512_add_epi64(_mm512_cvtpd_epi64(n), _mm512_set1_epi64(1023)), 52));
}
/* Sum of 16 values as a tree: p and p + 8 are added first, then p and p + 4, p and p + 2, p and p + 1. */
static inline __attribute__((always_inline)) sum vec_tree(const vec *v) {
  const vec eight = _mm512_add_pd(v[0], v[1]);
  const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

#endif

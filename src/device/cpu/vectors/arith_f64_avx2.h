/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on vectors of f64 in AVX2 for block_math.h, in addition to the operations of
 * lanes_f64_avx2.h. */
#ifndef SLEY_DEVICE_CPU_VECTORS_ARITH_F64_AVX2_H
#define SLEY_DEVICE_CPU_VECTORS_ARITH_F64_AVX2_H

#include "device/cpu/vectors/lanes_f64_avx2.h"

static inline vec vec_add(vec a, vec b) {
  return _mm256_add_pd(a, b);
}
static inline vec vec_sub(vec a, vec b) {
  return _mm256_sub_pd(a, b);
}
static inline vec vec_mul(vec a, vec b) {
  return _mm256_mul_pd(a, b);
}
static inline vec vec_div(vec a, vec b) {
  return _mm256_div_pd(a, b);
}
/* Lane by lane: a < b ? x : y, hence y where a or b is NaN. */
static inline vec vec_if_less(vec a, vec b, vec x, vec y) {
  return _mm256_blendv_pd(y, x, _mm256_cmp_pd(a, b, _CMP_LT_OQ));
}
/* Lane by lane: a > b, or a is NaN and b is not ? x : y. */
static inline vec vec_if_above(vec a, vec b, vec x, vec y) {
  const vec above = _mm256_and_pd(_mm256_cmp_pd(a, b, _CMP_NLE_UQ), _mm256_cmp_pd(b, b, _CMP_ORD_Q));
  return _mm256_blendv_pd(y, x, above);
}
/* Lane i: p[i] == n ? x : y. */
static inline vec vec_if_same(const int32_t *p, int32_t n, vec x, vec y) {
  const __m128i found = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)p), _mm_set1_epi32(n));
  return _mm256_blendv_pd(y, x, _mm256_castsi256_pd(_mm256_cvtepi32_epi64(found)));
}
/* Lane i is v[index[i]]. */
static inline vec vec_pick(vec v, const int32_t *index) {
  const __m256i first = _mm256_slli_epi64(_mm256_cvtepi32_epi64(_mm_loadu_si128((const __m128i *)index)), 1);
  const __m256i second = _mm256_slli_epi64(_mm256_add_epi64(first, _mm256_set1_epi64x(1)), 32);
  return _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(v), _mm256_or_si256(first, second)));
}
/* Rounds to whole numbers, ties to even. */
static inline vec vec_rint(vec a) {
  return _mm256_round_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/* 2^n for whole numbers n; the result must be a normal number. */
static inline vec vec_pow2(vec n) {
  const __m256i exponent =
      _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(n)), _mm256_set1_epi64x(1023));
  return _mm256_castsi256_pd(_mm256_slli_epi64(exponent, 52));
}
/* Sum of 16 values as a tree: p and p + 8 are added first, then p and p + 4, p and p + 2, p and p + 1. */
static inline __attribute__((always_inline)) sum vec_tree(const vec *v) {
  const vec four = _mm256_add_pd(_mm256_add_pd(v[0], v[2]), _mm256_add_pd(v[1], v[3]));
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

#endif

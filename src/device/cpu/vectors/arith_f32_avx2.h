/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on vectors of f32 in AVX2 for block_math.h, in addition to the operations of
 * lanes_f32_avx2.h. */
#ifndef SLEY_DEVICE_CPU_VECTORS_ARITH_F32_AVX2_H
#define SLEY_DEVICE_CPU_VECTORS_ARITH_F32_AVX2_H

#include "device/cpu/vectors/lanes_f32_avx2.h"

static inline vec vec_add(vec a, vec b) {
  return _mm256_add_ps(a, b);
}
static inline vec vec_sub(vec a, vec b) {
  return _mm256_sub_ps(a, b);
}
static inline vec vec_mul(vec a, vec b) {
  return _mm256_mul_ps(a, b);
}
static inline vec vec_div(vec a, vec b) {
  return _mm256_div_ps(a, b);
}
/* Lane by lane: a < b ? x : y, hence y where a or b is NaN. */
static inline vec vec_if_less(vec a, vec b, vec x, vec y) {
  return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
/* Lane by lane: a > b, or a is NaN and b is not ? x : y. */
static inline vec vec_if_above(vec a, vec b, vec x, vec y) {
  const vec above = _mm256_and_ps(_mm256_cmp_ps(a, b, _CMP_NLE_UQ), _mm256_cmp_ps(b, b, _CMP_ORD_Q));
  return _mm256_blendv_ps(y, x, above);
}
/* Lane i: p[i] == n ? x : y. */
static inline vec vec_if_same(const int32_t *p, int32_t n, vec x, vec y) {
  const __m256i found = _mm256_cmpeq_epi32(_mm256_loadu_si256((const __m256i *)p), _mm256_set1_epi32(n));
  return _mm256_blendv_ps(y, x, _mm256_castsi256_ps(found));
}
/* Lane i is v[index[i]]. */
static inline vec vec_pick(vec v, const int32_t *index) {
  return _mm256_permutevar8x32_ps(v, _mm256_loadu_si256((const __m256i *)index));
}
/* Rounds to whole numbers, ties to even. */
static inline vec vec_rint(vec a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/* 2^n for whole numbers n; the result must be a normal number. */
static inline vec vec_pow2(vec n) {
  const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
}
/* Sum of 16 values as a tree: p and p + 8 are added first, then p and p + 4, p and p + 2, p and p + 1. */
static inline __attribute__((always_inline)) sum vec_tree(const vec *v) {
  const vec eight = _mm256_add_ps(v[0], v[1]);
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

#endif

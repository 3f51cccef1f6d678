/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on vectors of one lane for block_math.h, in addition to the operations of lanes_portable.h. The
 * including file has defined sum as float or double. */
#ifndef SLEY_DEVICE_CPU_VECTORS_ARITH_PORTABLE_H
#define SLEY_DEVICE_CPU_VECTORS_ARITH_PORTABLE_H

#include "device/cpu/vectors/lanes_portable.h"

static inline vec vec_add(vec a, vec b) {
  return a + b;
}
static inline vec vec_sub(vec a, vec b) {
  return a - b;
}
static inline vec vec_mul(vec a, vec b) {
  return a * b;
}
static inline vec vec_div(vec a, vec b) {
  return a / b;
}
/* a < b ? x : y, hence y where a or b is NaN. */
static inline vec vec_if_less(vec a, vec b, vec x, vec y) {
  return a < b ? x : y;
}
/* a > b, or a is NaN and b is not ? x : y. */
static inline vec vec_if_above(vec a, vec b, vec x, vec y) {
  return !(a <= b) && b == b ? x : y;
}
/* *p == n ? x : y. */
static inline vec vec_if_same(const int32_t *p, int32_t n, vec x, vec y) {
  return *p == n ? x : y;
}
/* Lane i is v[index[i]]. */
static inline vec vec_pick(vec v, const int32_t *index) {
  (void)index;
  return v;
}
/* Rounds to whole numbers, ties to even. */
static inline vec vec_rint(vec a) {
  return rint(a);
}
/* 2^n for a whole number n; the result must be a normal number. For NaN the result is arbitrary. */
static inline vec vec_pow2(vec n) {
  return n == n ? ldexp((vec)1, (int)n) : n;
}
/* Sum of 16 values as a tree: p and p + 8 are added first, then p and p + 4, p and p + 2, p and p + 1. */
static inline sum vec_tree(const vec *v) {
  vec part[8];
  for (int p = 0; p < 8; p++)
    part[p] = v[p] + v[p + 8];
  for (int half = 4; half > 0; half /= 2)
    for (int p = 0; p < half; p++)
      part[p] += part[p + half];
  return part[0];
}

#endif

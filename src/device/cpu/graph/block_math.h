/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on blocks of sixteen values, for the kernels of graph networks. Each operation returns the same
 * bits with every instruction set. The including file has included an arith_*.h and a values_*.h, as
 * spmm_body.h describes for lanes_*.h. */
#ifndef SLEY_DEVICE_CPU_GRAPH_BLOCK_MATH_H
#define SLEY_DEVICE_CPU_GRAPH_BLOCK_MATH_H

#include <math.h>
#include <string.h>

#include "device/cpu/spmm/spmm_parts.h"

/* BLOCK_UNROLLED: vectors of one lane are too many to be unrolled. */
enum { BLOCK = 16, BLOCK_VECTORS = BLOCK / LANES, BLOCK_UNROLLED = LANES == 1 ? 1 : BLOCK_VECTORS };
#define BLOCK_INLINE static inline __attribute__((always_inline))
#define EACH_VECTOR  _Pragma("GCC unroll BLOCK_UNROLLED") for (int v_ = 0; v_ < BLOCK_VECTORS; v_++)

/* Sixteen consecutive values in the type of sums. */
typedef struct block {
  vec v[BLOCK_VECTORS];
} block;

BLOCK_INLINE block block_all(sum s) {
  block b;
  EACH_VECTOR b.v[v_] = vec_all(s);
  return b;
}

BLOCK_INLINE block block_load(const value *p) {
  block b;
  EACH_VECTOR b.v[v_] = load_values(p + v_ * LANES);
  return b;
}

/* Loads the first `lanes` values of a vector; the others are 0. Loads all if lanes >= LANES, none if lanes <=
 * 0. */
BLOCK_INLINE vec load_values_first(const value *p, int64_t lanes) {
  if (lanes >= LANES)
    return load_values(p);
  return lanes > 0 ? load_values_part(p, mask_of(lanes, true), 1) : vec_zero();
}

BLOCK_INLINE void store_values_first(value *p, int64_t lanes, vec v) {
  if (lanes >= LANES)
    store_values(p, v);
  else if (lanes > 0)
    store_values_part(p, mask_of(lanes, true), v);
}

/* Loads `count` values, fewer than 16; the rest are 0. */
BLOCK_INLINE block block_load_first(const value *p, int64_t count) {
  block b;
  EACH_VECTOR b.v[v_] = load_values_first(p + v_ * LANES, count - v_ * LANES);
  return b;
}

/* Loads `count` values, at most 16; the rest are 0. */
BLOCK_INLINE block block_load_some(const value *p, int64_t count) {
  return count == BLOCK ? block_load(p) : block_load_first(p, count);
}

BLOCK_INLINE void block_store(value *p, block b) {
  EACH_VECTOR store_values(p + v_ * LANES, b.v[v_]);
}

BLOCK_INLINE void block_store_some(value *p, int64_t count, block b) {
  if (count == BLOCK) {
    block_store(p, b);
    return;
  }
  EACH_VECTOR store_values_first(p + v_ * LANES, count - v_ * LANES, b.v[v_]);
}

/* Load sums instead of values. */
BLOCK_INLINE block block_load_sums(const sum *p) {
  block b;
  EACH_VECTOR b.v[v_] = vec_load(p + v_ * LANES);
  return b;
}

BLOCK_INLINE block block_load_some_sums(const sum *p, int64_t count) {
  if (count == BLOCK)
    return block_load_sums(p);
  _Alignas(64) sum whole[BLOCK] = {0};
  memcpy(whole, p, (size_t)count * sizeof *p);
  return block_load_sums(whole);
}

BLOCK_INLINE void block_store_sums(sum *p, block b) {
  EACH_VECTOR vec_store(p + v_ * LANES, b.v[v_]);
}

BLOCK_INLINE void block_store_some_sums(sum *p, int64_t count, block b) {
  if (count == BLOCK) {
    block_store_sums(p, b);
    return;
  }
  _Alignas(64) sum whole[BLOCK];
  block_store_sums(whole, b);
  memcpy(p, whole, (size_t)count * sizeof *p);
}

#define BLOCK_OF_TWO(name)                                                                                   \
  BLOCK_INLINE block block_##name(block a, block b) {                                                        \
    EACH_VECTOR a.v[v_] = vec_##name(a.v[v_], b.v[v_]);                                                      \
    return a;                                                                                                \
  }
BLOCK_OF_TWO(add)
BLOCK_OF_TWO(sub)
BLOCK_OF_TWO(mul)
BLOCK_OF_TWO(div)

/* Returns s x + acc, each element rounded once. */
BLOCK_INLINE block block_fma(block s, block x, block acc) {
  EACH_VECTOR acc.v[v_] = vec_fma(s.v[v_], x.v[v_], acc.v[v_]);
  return acc;
}

/* Lane by lane: a < b ? x : y. */
BLOCK_INLINE block block_if_less(block a, block b, block x, block y) {
  EACH_VECTOR y.v[v_] = vec_if_less(a.v[v_], b.v[v_], x.v[v_], y.v[v_]);
  return y;
}

/* Sum of the sixteen values, in the order that op_sddmm.h describes. */
BLOCK_INLINE sum block_sum(block b) {
  return vec_tree(b.v);
}

/* exp(x), to 2 units in the last place; 0 or infinity outside the range, NaN for NaN. exp(x) = 2^n exp(r),
 * |r| <= ln 2 / 2, with exp(r) by its Taylor polynomial. 2^n is applied as two factors, so that subnormal
 * results are correct. */
BLOCK_INLINE vec vec_exp(vec x) {
  const bool wide = sizeof(sum) == sizeof(double);
  const sum least = wide ? (sum)-746 : (sum)-104, most = wide ? (sum)710 : (sum)89;
  const sum high = wide ? (sum)0x1.62e42fee00000p-1 : (sum)0x1.62e4p-1,
            low = wide ? (sum)0x1.a39ef35793c76p-33 : (sum)0x1.7f7d1cp-20;
  static const double factor[] = {
      1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
      1.0 / 720,        1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1,           1};
  x = vec_if_less(x, vec_all(least), vec_all(least), x);
  x = vec_if_less(vec_all(most), x, vec_all(most), x);
  const vec n = vec_rint(vec_mul(x, vec_all((sum)1.4426950408889634)));
  const vec r = vec_fma(n, vec_all(-low), vec_fma(n, vec_all(-high), x));
  const int first = wide ? 0 : 6;
  vec p = vec_all((sum)factor[first]);
#pragma GCC unroll 16
  for (int i = first + 1; i < 14; i++)
    p = vec_fma(p, r, vec_all((sum)factor[i]));
  const vec half = vec_rint(vec_mul(n, vec_all((sum)0.5)));
  return vec_mul(vec_mul(p, vec_pow2(half)), vec_pow2(vec_sub(n, half)));
}

BLOCK_INLINE block block_exp(block b) {
  EACH_VECTOR b.v[v_] = vec_exp(b.v[v_]);
  return b;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by products of split values. v = high + low, both in tf32. A B is computed as high(A) high(B) +
 * high(A) low(B) + low(A) high(B). The omitted product and the rounding of low lose at most 2^-21 of a term.
 *
 * For an infinite value low is NaN, and an infinite value times low = 0 is NaN as well. So a result that is
 * NaN is computed again, term by term in f32, as any f32 product would. */
#ifndef SLEY_DEVICE_CUDA_DENSE_HOPPER_SPLIT_VALUES_CUH
#define SLEY_DEVICE_CUDA_DENSE_HOPPER_SPLIT_VALUES_CUH

#include "device/cuda/dense/dense.cuh"
#include "device/cuda/dense/gemm_split.h"
#include "device/cuda/dense/hopper/wgmma.cuh"
#include "device/cuda/shared_memory.cuh"
#include "device/cuda/tf32.cuh"

namespace sley {

/* Both parts are rounded. */
static __device__ __forceinline__ split_value split_rounded(float v) {
  const split_value s = split(v);
  return {s.high, s.low + 0x1000};
}

/* The terms of 8 columns of A, in the layout in which a warpgroup holds them. */
struct split_terms {
  uint32_t high[4], low[4];
};

static __device__ __forceinline__ void set_term(split_terms &terms, int i, float v) {
  const split_value s = split_rounded(v);
  terms.high[i] = s.high;
  terms.low[i] = s.low;
}

/* A panel of N columns of B; the panel of their low parts follows N * 128 bytes later. */
template <int N> struct split_panel {
  uint64_t high, low;
  __device__ explicit split_panel(const char *at)
      : high(panel_descriptor(at)), low(panel_descriptor(at + N * 128)) {
  }
};

/* Adds a panel's terms to d, or sets d to them; the small parts first. */
template <int N>
__device__ __forceinline__ void multiply_split(float (&d)[N / 2], const split_terms (&a)[PANEL / 8],
                                               const split_panel<N> &b, bool add) {
#pragma unroll
  for (int step = 0; step < PANEL / 8; step++) {
    multiply_panel<N>(d, a[step].low, panel_step(b.high, step), add || step > 0);
    multiply_panel<N>(d, a[step].high, panel_step(b.low, step), true);
    multiply_panel<N>(d, a[step].high, panel_step(b.high, step), true);
  }
}

/* Splits four values and stores them at one place of a panel and of its panel of low parts. */
template <int N>
__device__ __forceinline__ void store_split(char *panel, int column, int sixteen, const float (&v)[4]) {
  uint4 high, low;
  uint32_t *const highs = &high.x, *const lows = &low.x;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const split_value s = split_rounded(v[i]);
    highs[i] = s.high;
    lows[i] = s.low;
  }
  char *const place = panel + panel_place(column, sixteen);
  *reinterpret_cast<uint4 *>(place) = high;
  *reinterpret_cast<uint4 *>(place + N * 128) = low;
}

/* Returns whether rows begin at multiples of 16 bytes. */
static inline bool has_wide_rows(const void *at, int64_t ld) {
  return ld % 4 == 0 && reinterpret_cast<uintptr_t>(at) % 16 == 0;
}

/* Row and column of C for the values that a lane holds (wgmma.cuh). */
static __device__ __forceinline__ int64_t held_row(int64_t row, int i) {
  return row + i % 4 / 2 * 8;
}
static __device__ __forceinline__ int64_t held_col(int64_t col, int i) {
  return col + i / 4 * 8 + i % 2;
}

/* Replaces each NaN among the `count` values that a lane holds, from (row, col) on, by the sum of terms first
 * to last - 1 in f32. */
static __device__ __noinline__ void sum_plainly(const sl_gemm_args &a, int64_t row, int64_t col,
                                                int64_t first, int64_t last, int count, float *d) {
  const float *const left = static_cast<const float *>(a.a), *const right = static_cast<const float *>(a.b);
  for (int i = 0; i < count; i++) {
    const int64_t down = held_row(row, i), across = held_col(col, i);
    if (d[i] == d[i] || down >= a.m || across >= a.n)
      continue;
    float sum = 0;
    for (int64_t l = first; l < last; l++)
      sum = fmaf(left[a.transpose_a ? l * a.lda + down : down * a.lda + l],
                 right[a.transpose_b ? across * a.ldb + l : l * a.ldb + across], sum);
    d[i] = sum;
  }
}

/* Does the same for d in registers, which are copied to memory only if one is NaN. */
template <int COUNT>
__device__ __forceinline__ void remake_nan(const sl_gemm_args &a, int64_t row, int64_t col, int64_t first,
                                           int64_t last, float (&d)[COUNT]) {
  bool any = false;
#pragma unroll
  for (int i = 0; i < COUNT; i++)
    any |= d[i] != d[i];
  if (!any)
    return;
  float copy[COUNT];
#pragma unroll
  for (int i = 0; i < COUNT; i++)
    copy[i] = d[i];
  sum_plainly(a, row, col, first, last, COUNT, copy);
#pragma unroll
  for (int i = 0; i < COUNT; i++)
    d[i] = copy[i];
}

/* Calls call with the width as an integral constant N. */
template <class F> sley_status with_width(int width, F call) {
  switch (width) {
  case 16:
    return call(std::integral_constant<int, 16>());
  case 32:
    return call(std::integral_constant<int, 32>());
  case 48:
    return call(std::integral_constant<int, 48>());
  case 64:
    return call(std::integral_constant<int, 64>());
  case 96:
    return call(std::integral_constant<int, 96>());
  default:
    return call(std::integral_constant<int, 128>());
  }
}

} // namespace sley

#endif

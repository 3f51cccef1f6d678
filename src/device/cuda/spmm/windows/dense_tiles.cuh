/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a block of threads that multiplies a dense window (dense.cuh), its shared memory, and the
 * product of one step, in tiles of 16 rows times 8 features on Tensor cores. */
#ifndef SLEY_DEVICE_CUDA_SPMM_WINDOWS_DENSE_TILES_CUH
#define SLEY_DEVICE_CUDA_SPMM_WINDOWS_DENSE_TILES_CUH

#include "device/cuda/spmm/spmm_windows.h"
#include "device/cuda/tensor_cores.cuh"
#include "device/cuda/tf32.cuh"
#include "device/cuda/values.cuh"

namespace sley {

/* The shape of a block's work: ROWS of a window, PANEL features, and VEC neighbouring values of X that are
 * copied at once. */
template <typename T_, int ROWS_, int PANEL_, int VEC_, bool ONCE_> struct dense_shape {
  using T = T_;
  using in_t = input<T>;
  using sum_t = accumulator<T>;
  static constexpr bool ONCE = ONCE_; /* f32 values are multiplied once, rounded to tf32 */
  static constexpr int VALUE = (int)sizeof(in_t), ROWS = ROWS_, PANEL = PANEL_, VEC = VEC_;
  /* TERMS: slots of an operation. STEP: slots of a step. */
  static constexpr int TERMS = VALUE == 2 ? 16 : 8, STEP = 2 * TERMS, SUMS = ROWS * PANEL,
                       THREADS = SUMS >= 8192                 ? 256
                                 : SUMS >= 2048 || ROWS == 64 ? 128
                                                              : 64;
  /* Warps along the rows and along the features, and the tiles of a warp. */
  static constexpr int HIGH = ROWS == 64 ? 2 : 1, WIDE = THREADS / 32 / HIGH, TILES_M = ROWS / HIGH / 16,
                       TILES_N = PANEL / WIDE / 8;
  /* Blocks of a multiprocessor, so that the sums stay in registers. */
  static constexpr int BLOCKS =
      THREADS == 128 && TILES_M * TILES_N * 4 * (int)sizeof(sum_t) >= 256 ? 3 : 512 / THREADS;
  /* Values between the slots of shared memory, so that the lanes of a load use different banks. */
  static constexpr int APART = (VALUE == 2 ? 16 : 32) / VALUE;
  /* Threads side by side copy the values of a slot of A, and of X. CELLS, COPIES: copies of a thread in a
   * step. WORDS: of a slot. */
  static constexpr int VECTORS = PANEL / VEC, CELLS = STEP * ROWS / THREADS,
                       COPIES = (STEP * VECTORS + THREADS - 1) / THREADS, WORDS = ROWS > 32 ? ROWS / 32 : 1;
  static_assert(TILES_M >= 1 && TILES_N >= 1, "each warp has a tile");
  static_assert(THREADS % ROWS == 0 && THREADS % VECTORS == 0 && STEP * WORDS <= THREADS, "a thread's part");
};

/* Steps in shared memory: of operands, and of what tells where operands are. */
enum { DENSE_STEPS = 3, DENSE_WORDS = 4, DENSE_PLACES = 2 };

template <class S> struct dense_memory {
  alignas(16) typename S::in_t a[DENSE_STEPS][S::STEP][S::ROWS + S::APART];
  alignas(16) typename S::in_t x[DENSE_STEPS][S::STEP][S::PANEL + S::APART];
  alignas(8) sl_slab_word word[DENSE_WORDS][S::STEP][S::WORDS];
  const typename S::in_t *place[DENSE_PLACES][S::STEP]; /* rows of X, from the panel's first feature on */
  bool last;
};

/* A thread's sums, as tensor_cores.cuh has them. */
template <class S> using dense_sums = typename S::sum_t[S::TILES_M][S::TILES_N][4];

/* A warp's first row and first feature, and the two parts of a lane: 4 group + part. */
struct dense_place {
  int row, feature, group, part;
};

template <class S> __device__ __forceinline__ dense_place dense_place_of(int thread) {
  const int warp = thread / 32, lane = thread % 32;
  return {warp / S::WIDE * S::TILES_M * 16, warp % S::WIDE * S::TILES_N * 8, lane / 4, lane % 4};
}

/* Row, in the window, of sum c of tile m; feature, in the panel, of sums c and c + 1 of tile n, c even. */
__device__ __forceinline__ int dense_row(const dense_place &p, int m, int c) {
  return p.row + m * 16 + p.group + c / 2 * 8;
}
__device__ __forceinline__ int dense_feature(const dense_place &p, int n) {
  return p.feature + n * 8 + p.part * 2;
}

/* Reads operands of 4 or 8 bytes for 8 slots from slot s on. */
template <class S>
__device__ __forceinline__ void read_rows(const typename S::in_t (*a)[S::ROWS + S::APART],
                                          const dense_place &p, int s, int m, typename S::in_t (&out)[4]) {
#pragma unroll
  for (int i = 0; i < 4; i++)
    out[i] = a[s + p.part + i / 2 * 4][p.row + m * 16 + p.group + i % 2 * 8];
}
template <class S>
__device__ __forceinline__ void read_features(const typename S::in_t (*x)[S::PANEL + S::APART],
                                              const dense_place &p, int s, int n,
                                              typename S::in_t (&out)[2]) {
#pragma unroll
  for (int i = 0; i < 2; i++)
    out[i] = x[s + p.part + i * 4][p.feature + n * 8 + p.group];
}

template <class S>
__device__ __forceinline__ void multiply_f64_step(dense_sums<S> &sums, const double (*a)[S::ROWS + S::APART],
                                                  const double (*x)[S::PANEL + S::APART],
                                                  const dense_place &p) {
#pragma unroll
  for (int s = 0; s < S::STEP; s += S::TERMS) {
    double rows[S::TILES_M][4];
#pragma unroll
    for (int m = 0; m < S::TILES_M; m++)
      read_rows<S>(a, p, s, m, rows[m]);
#pragma unroll
    for (int n = 0; n < S::TILES_N; n++) {
      double features[2];
      read_features<S>(x, p, s, n, features);
#pragma unroll
      for (int m = 0; m < S::TILES_M; m++)
        multiply_f64(sums[m][n], rows[m], features[0], features[1]);
    }
  }
}

template <class S>
__device__ __forceinline__ void multiply_f32_step(dense_sums<S> &sums, const float (*a)[S::ROWS + S::APART],
                                                  const float (*x)[S::PANEL + S::APART],
                                                  const dense_place &p) {
#pragma unroll
  for (int s = 0; s < S::STEP; s += S::TERMS) {
    unsigned high[S::TILES_M][4], low[S::TILES_M][4];
#pragma unroll
    for (int m = 0; m < S::TILES_M; m++) {
      float rows[4];
      read_rows<S>(a, p, s, m, rows);
#pragma unroll
      for (int i = 0; i < 4; i++) {
        high[m][i] = to_tf32_or_nan(rows[i]);
        low[m][i] = S::ONCE ? 0 : to_tf32(__uint_as_float(split(rows[i], high[m][i]).low));
      }
    }
#pragma unroll
    for (int n = 0; n < S::TILES_N; n++) {
      float features[2];
      read_features<S>(x, p, s, n, features);
      split_value column[2];
#pragma unroll
      for (int i = 0; i < 2; i++)
        column[i] = S::ONCE ? split_value{to_tf32_or_nan(features[i]), 0} : split(features[i]);
#pragma unroll
      for (int m = 0; m < S::TILES_M; m++) {
        float sum[4] = {0, 0, 0, 0};
        if constexpr (!S::ONCE) {
          multiply_tf32(sum, low[m], column[0].high, column[1].high);
          multiply_tf32(sum, high[m], column[0].low, column[1].low);
        }
        multiply_tf32(sum, high[m], column[0].high, column[1].high);
#pragma unroll
        for (int c = 0; c < 4; c++)
          sums[m][n][c] += sum[c];
      }
    }
  }
}

template <class S>
__device__ __forceinline__ void
multiply_pairs_step(dense_sums<S> &sums, const typename S::in_t (*a)[S::ROWS + S::APART],
                    const typename S::in_t (*x)[S::PANEL + S::APART], const dense_place &p) {
  constexpr int AT_ONCE = S::TILES_N > 1 ? 2 : 1; /* tiles of features that are read at once */
  const int matrix = (p.group * 4 + p.part) / 8, line = (p.group * 4 + p.part) % 8;
#pragma unroll
  for (int s = 0; s < S::STEP; s += S::TERMS) {
    unsigned rows[S::TILES_M][4];
#pragma unroll
    for (int m = 0; m < S::TILES_M; m++)
      load_transposed<4>(rows[m], &a[s + matrix / 2 * 8 + line][p.row + m * 16 + matrix % 2 * 8]);
#pragma unroll
    for (int n = 0; n < S::TILES_N; n += AT_ONCE) {
      unsigned features[2 * AT_ONCE];
      load_transposed<2 * AT_ONCE>(features,
                                   &x[s + matrix % 2 * 8 + line][p.feature + (n + matrix / 2 % AT_ONCE) * 8]);
#pragma unroll
      for (int i = 0; i < AT_ONCE; i++)
#pragma unroll
        for (int m = 0; m < S::TILES_M; m++)
          multiply_pairs<typename S::in_t>(sums[m][n + i], rows[m], features[2 * i], features[2 * i + 1]);
    }
  }
}

/* Adds the product of a step to the sums. */
template <class S>
__device__ __forceinline__ void
multiply_step(dense_sums<S> &sums, const typename S::in_t (*a)[S::ROWS + S::APART],
              const typename S::in_t (*x)[S::PANEL + S::APART], const dense_place &p) {
  if constexpr (S::VALUE == 8)
    multiply_f64_step<S>(sums, a, x, p);
  else if constexpr (S::VALUE == 4)
    multiply_f32_step<S>(sums, a, x, p);
  else
    multiply_pairs_step<S>(sums, a, x, p);
}

} // namespace sley

#endif

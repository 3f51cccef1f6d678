/* SPDX-License-Identifier: Apache-2.0 */
/* Dense products of f32 on the Tensor cores of Hopper. Each value is split into two tf32 values, and three of
 * the four products of these are added, which keeps nearly the precision of f32. gemm_split.c makes the
 * choice; the launchers are in hopper/gemm_rows.cu, for C = A B with many rows of A, and hopper/gemm_sums.cu,
 * for C = A^T B with many rows of both. */
#ifndef SLEY_DEVICE_CUDA_DENSE_GEMM_SPLIT_H
#define SLEY_DEVICE_CUDA_DENSE_GEMM_SPLIT_H

#include "device/cuda/dense/dense_state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* SL_CUDA_GEMM_WIDEST: most columns of C that a block of threads computes, which are 16, 32, 48, 64, 96 or
 * 128. SL_CUDA_GEMM_SHARED_BYTES: shared memory for columns of B, beside 96 KiB for copies of rows of A. */
enum { SL_CUDA_GEMM_WIDEST = 128, SL_CUDA_GEMM_SHARED_BYTES = 128 << 10 };

/* Number of columns of B, split, with k terms, that fit in shared memory. */
static inline int64_t sl_cuda_gemm_fits(int64_t k) {
  return SL_CUDA_GEMM_SHARED_BYTES / ((k + 31) / 32 * 2 * 128);
}

/* The best width, up to `most`, to divide n columns: with few unused columns, and few cuts, because each cut
 * reads A again. 0: `most` is below every width. */
static inline int sl_cuda_gemm_width(int64_t n, int64_t most) {
  static const int widths[] = {128, 96, 64, 48, 32, 16};
  int best = 0;
  int64_t least = INT64_MAX;
  for (int i = 0; i < (int)(sizeof widths / sizeof *widths); i++) {
    const int64_t cost = (n + widths[i] - 1) / widths[i] * (widths[i] + 16);
    if (widths[i] <= most && cost < least) {
      least = cost;
      best = widths[i];
    }
  }
  return best;
}

/* How many sums of m x n values fit in the workspace; with column_sums, each also has n doubles. */
static inline int64_t sl_cuda_gemm_parts(int64_t m, int64_t n, bool column_sums) {
  const int64_t doubles = column_sums ? n : 0;
  return SL_CUDA_WORKSPACE_BYTES / (m * n * (int64_t)sizeof(float) + doubles * (int64_t)sizeof(double));
}

/* C = act(alpha A op(B) + beta C + bias), with A not transposed and act not SLEY_ELU; or with a gate, with
 * act SLEY_RELU. 16 columns of B must fit (sl_cuda_gemm_fits). */
sley_status sl_cuda_gemm_rows(sl_queue *queue, const sl_gemm_args *args);

/* C = act(alpha A^T B + beta C + bias): A and B are stored k x m and k x n; also sums of columns. */
sley_status sl_cuda_gemm_sums(sl_queue *queue, const sl_gemm_args *args);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Dense products of f32 by the Tensor cores of Hopper: each value is split into two of tf32, and three of the
 * four products of these are added, so that little is lost that f32 would keep. gemm_split.c chooses; the
 * launchers are in hopper/gemm_rows.cu, for C = A B with many rows of A, and hopper/gemm_sums.cu, for C = A^T
 * B with many rows of both. */
#ifndef SLEY_DEVICE_CUDA_DENSE_GEMM_SPLIT_H
#define SLEY_DEVICE_CUDA_DENSE_GEMM_SPLIT_H

#include "device/cuda/dense/dense_state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Columns of C that a block of threads makes: 16, 32, 48, 64, 96 or 128. Shared memory for columns of B: what
 * copies of rows of A leave, 96 KiB. */
enum { SL_CUDA_GEMM_WIDEST = 128, SL_CUDA_GEMM_SHARED_BYTES = 128 << 10 };

/* Columns of B, of k terms, that fit in shared memory, split. */
static inline int64_t sl_cuda_gemm_fits(int64_t k) {
  return SL_CUDA_GEMM_SHARED_BYTES / ((k + 31) / 32 * 2 * 128);
}

/* Of the widths up to `most` the one that n columns are cut by: with few columns too many, and few cuts, each
 * of which reads A once more. 0: none is as small as `most`. */
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

/* How many sums of m x n values the workspace holds, with as many of n doubles where columns are summed. */
static inline int64_t sl_cuda_gemm_parts(int64_t m, int64_t n, bool column_sums) {
  const int64_t doubles = column_sums ? n : 0;
  return SL_CUDA_WORKSPACE_BYTES / (m * n * (int64_t)sizeof(float) + doubles * (int64_t)sizeof(double));
}

/* C = act(alpha A op(B) + beta C + bias), A not transposed, act not SLEY_ELU; or with a gate, act being
 * SLEY_RELU; 16 columns of B fit. */
sley_status sl_cuda_gemm_rows(sl_queue *queue, const sl_gemm_args *args);

/* C = act(alpha A^T B + beta C + bias): A and B as stored k x m and k x n; with sums of columns, too. */
sley_status sl_cuda_gemm_sums(sl_queue *queue, const sl_gemm_args *args);

#ifdef __cplusplus
}
#endif
#endif

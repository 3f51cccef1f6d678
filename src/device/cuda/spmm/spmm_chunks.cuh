/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels over chunks of entries: addresses of rows of X and Y, rows without entries, rows that
 * are cut into fragments. */
#ifndef SLEY_DEVICE_CUDA_SPMM_SPMM_CHUNKS_CUH
#define SLEY_DEVICE_CUDA_SPMM_SPMM_CHUNKS_CUH

#include <cstdint>

#include "device/cuda/places.cuh"
#include "device/cuda/rows/pull_pieces.cuh"
#include "device/cuda/spmm/fragments.cuh"
#include "device/cuda/spmm/spmm_chunks.h"

namespace sley {

enum { CLEARED = 1024 };

template <typename T, int VEC>
__device__ __forceinline__ void scaled(accumulator<T> (&acc)[VEC], double beta,
                                       const vector<output<T>, VEC> &y) {
#pragma unroll
  for (int v = 0; v < VEC; v++)
    acc[v] = (accumulator<T>)(beta * (double)value<output<T>>::widen(y.item[v]));
}

/* Sets Y to beta Y for rows of Y without entries. A block processes CLEARED values, whatever the width. */
template <typename T> __device__ void clear_rows(const sl_stream_run &run, int64_t block) {
  using Y = value<output<T>>;
  const int64_t first = block * CLEARED, count = run.a.empties * run.k - first;
  const int here = (int)(count < CLEARED ? count : CLEARED);
  const int64_t row = first / run.k;
  const uint32_t column = (uint32_t)(first % run.k), k = (uint32_t)run.k;
  for (int i = (int)threadIdx.x; i < here; i += blockDim.x) {
    output<T> *y = (output<T> *)run.y + (int64_t)run.a.empty[row + (column + (uint32_t)i) / k] * run.ldy +
                   (column + (uint32_t)i) % k;
    *y = Y::narrow(run.beta == 0 ? 0 : (accumulator<T>)(run.beta * (double)Y::widen(*y)));
  }
}

inline int64_t blocks_that_clear(const sl_stream_run &run) {
  return run.beta == 1 ? 0 : (run.a.empties * run.k + CLEARED - 1) / CLEARED;
}

/* Address of a row of Y, with rows `bytes` bytes apart: both factors have 32 bits, so this takes one
 * instruction. */
template <typename T> __device__ __forceinline__ T *row_at(T *first, int32_t row, uint32_t bytes) {
  return (T *)((char *)first + (uint64_t)(uint32_t)row * bytes);
}

/* Number in Y of row i of the rows with entries. */
__device__ __forceinline__ int32_t row_number(const sl_stream_matrix &a, int32_t i) {
  return a.every_row ? i : a.row[i];
}

} // namespace sley

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels of dense operations: values as doubles, and launches with one thread per piece of
 * work. They are compiled without contraction of products and sums, so that they return the bits of the CPU's
 * kernels. */
#ifndef SLEY_DEVICE_CUDA_DENSE_DENSE_CUH
#define SLEY_DEVICE_CUDA_DENSE_DENSE_CUH

#include "device/cuda/cuda.h"
#include "device/cuda/values.cuh"
#include "device/exp.h"
#include "device/sum_blocks.h"

namespace sley {

enum { DENSE_THREADS = 256, DENSE_BLOCKS_PER_PROCESSOR = 16 };

template <class T> __device__ __forceinline__ double double_at(const T *p, int64_t i) {
  return static_cast<double>(value<T>::widen(p[i]));
}

/* Stores a double, rounded once. */
template <class T> __device__ __forceinline__ void set_double(T *p, int64_t i, double v) {
  p[i] = value<T>::narrow(odd(v));
}
template <> __device__ __forceinline__ void set_double<float>(float *p, int64_t i, double v) {
  p[i] = static_cast<float>(v);
}
template <> __device__ __forceinline__ void set_double<double>(double *p, int64_t i, double v) {
  p[i] = v;
}

/* The activation, as op_activate.h defines it. */
static __device__ __forceinline__ double activated(sley_activation act, double slope, double v) {
  if (act == SLEY_RELU)
    return v < 0 ? 0 : v;
  if (act == SLEY_LEAKY_RELU)
    return v < 0 ? slope * v : v;
  if (act == SLEY_ELU)
    return v > 0 ? v : slope * (sl_exp(v) - 1);
  return v;
}

/* Computes an element of column col of a dense product from its sum (op_gemm.h), in double. *c: the old
 * value, replaced by the new one. */
template <class T> __device__ void finish_value(const sl_gemm_args &a, int64_t col, double sum, T *c) {
  double v = a.alpha == 0 ? 0 : a.alpha * sum;
  if (a.beta != 0)
    v += a.beta * double_at(c, 0);
  if (a.bias)
    v += double_at(static_cast<const T *>(a.bias), col);
  set_double(c, 0, activated(a.act, a.slope, v));
}

/* Computes element (row, col) of C in the same way. */
template <class T> __device__ void finish_at(const sl_gemm_args &a, int64_t row, int64_t col, double sum) {
  finish_value(a, col, sum, static_cast<T *>(a.c) + row * a.ldc + col);
}

/* Number of this thread, and number of all threads, for loops over more pieces than there are threads. */
static __device__ __forceinline__ int64_t thread_number() {
  return static_cast<int64_t>(blockIdx.x) * DENSE_THREADS + threadIdx.x;
}
static __device__ __forceinline__ int64_t thread_count() {
  return static_cast<int64_t>(gridDim.x) * DENSE_THREADS;
}

/* Row and column of value number i in a matrix of `cols` columns. */
struct dense_place {
  int64_t row, col;
};
static __device__ __forceinline__ dense_place place_of(int64_t i, int64_t cols) {
  if (((i | cols) >> 32) != 0)
    return {i / cols, i % cols};
  const uint32_t row = static_cast<uint32_t>(i) / static_cast<uint32_t>(cols);
  return {row, static_cast<uint32_t>(i) - row * static_cast<uint32_t>(cols)};
}

/* Adds the sums of blocks of rows, `cols` per block, in the order of sum_blocks.h: threads add the sums of
 * groups of blocks, then one thread adds the groups' sums and calls store(col, sum). A block of threads takes
 * SUM_COLS columns (dense_sum_blocks). */
enum { SUM_COLS = 8, SUM_AHEAD = 16 };

template <class Store>
__global__ void __launch_bounds__(DENSE_THREADS)
    add_sums(int64_t blocks, int64_t cols, const double *sums, Store store) {
  constexpr int GROUPS = DENSE_THREADS / SUM_COLS;
  __shared__ double of_group[GROUPS][SUM_COLS];
  const int lane = static_cast<int>(threadIdx.x) % SUM_COLS, row = static_cast<int>(threadIdx.x) / SUM_COLS;
  const int64_t col = static_cast<int64_t>(blockIdx.x) * SUM_COLS + lane,
                groups = (blocks + SL_SUM_GROUP - 1) / SL_SUM_GROUP;
  double all = 0;
  for (int64_t first = 0; first < groups; first += GROUPS) {
    const int64_t begin = (first + row) * SL_SUM_GROUP,
                  end = begin + SL_SUM_GROUP < blocks ? begin + SL_SUM_GROUP : blocks;
    double sum = 0;
    for (int64_t block = begin; block < end && col < cols; block += SUM_AHEAD) {
      double next[SUM_AHEAD];
#pragma unroll
      for (int u = 0; u < SUM_AHEAD; u++)
        next[u] = block + u < end ? __ldg(sums + (block + u) * cols + col) : 0;
#pragma unroll
      for (int u = 0; u < SUM_AHEAD; u++)
        sum += next[u];
    }
    of_group[row][lane] = sum;
    __syncthreads();
    for (int i = 0; i < GROUPS && first + i < groups && row == 0; i++)
      all += of_group[i][lane];
    __syncthreads();
  }
  if (row == 0 && col < cols)
    store(col, all);
}

static inline unsigned dense_sum_blocks(int64_t cols) {
  return static_cast<unsigned>((cols + SUM_COLS - 1) / SUM_COLS);
}

/* Number of blocks for `pieces` pieces of work, at least 1. */
static inline unsigned dense_blocks(const sl_queue *queue, int64_t pieces) {
  const int64_t most = DENSE_BLOCKS_PER_PROCESSOR * static_cast<int64_t>(sl_cuda_processors(queue));
  const int64_t wanted = (pieces + DENSE_THREADS - 1) / DENSE_THREADS;
  return static_cast<unsigned>(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

/* Calls call(T()) with the type T of the dtype. */
template <class F> void with_type(sley_dtype dtype, F call) {
  if (dtype == SLEY_F32)
    call(float());
  else if (dtype == SLEY_F64)
    call(double());
  else if (dtype == SLEY_F16)
    call(f16());
  else
    call(bf16());
}

} // namespace sley

#endif

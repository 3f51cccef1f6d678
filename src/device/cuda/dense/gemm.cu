/* SPDX-License-Identifier: Apache-2.0 */
/* Dense products in ascending order of their terms, on CUDA cores: a block of threads computes a tile of C,
 * each thread 4 x 4 values. Also the work left after a library's product: bias and activation. */
#include "device/cuda/dense/dense.cuh"
#include "device/cuda/dense/gemm.h"

namespace {

using namespace sley;

enum { TILE = 64, TERMS = 16, EACH = 4, SIDE = TILE / EACH, MOST_ACROSS = 65535 };
static_assert(SIDE * SIDE == DENSE_THREADS && SL_GEMM_TERMS % TERMS == 0, "shapes of a block of threads");

/* Element (row, col) of op(M); 0 outside the matrix. */
template <class T>
__device__ typename value<T>::sum value_of(const void *m, int64_t ld, bool transpose, int64_t row,
                                           int64_t col, int64_t rows, int64_t cols) {
  if (row >= rows || col >= cols)
    return 0;
  return value<T>::widen(static_cast<const T *>(m)[transpose ? col * ld + row : row * ld + col]);
}

/* Loads TERMS columns of a tile of op(A) and TERMS rows of a tile of op(B). Called by all threads of the
 * block. */
template <class T, class S>
__device__ void load_panels(const sl_gemm_args &a, int64_t row, int64_t col, int64_t first,
                            S (*left)[TILE + 1], S (*right)[TILE + 1]) {
  for (int i = threadIdx.x; i < TILE * TERMS; i += DENSE_THREADS) {
    const int across = a.transpose_a ? i % TILE : i / TERMS, term = a.transpose_a ? i / TILE : i % TERMS;
    left[term][across] = value_of<T>(a.a, a.lda, a.transpose_a, row + across, first + term, a.m, a.k);
  }
  for (int i = threadIdx.x; i < TILE * TERMS; i += DENSE_THREADS) {
    const int across = a.transpose_b ? i / TERMS : i % TILE, term = a.transpose_b ? i % TERMS : i / TILE;
    right[term][across] = value_of<T>(a.b, a.ldb, a.transpose_b, first + term, col + across, a.k, a.n);
  }
}

template <class T> __device__ void make_tile(const sl_gemm_args &a, int64_t row, int64_t col) {
  using S = typename value<T>::sum;
  __shared__ S left[TERMS][TILE + 1], right[TERMS][TILE + 1];
  S all[EACH][EACH] = {}, sum[EACH][EACH] = {};
  const int down = threadIdx.x / SIDE, across = threadIdx.x % SIDE;
  const int64_t k = a.alpha == 0 ? 0 : a.k;
  for (int64_t first = 0; first < k; first += TERMS) {
    load_panels<T, S>(a, row, col, first, left, right);
    __syncthreads();
    const int terms = k - first < TERMS ? static_cast<int>(k - first) : TERMS;
    for (int l = 0; l < terms; l++)
#pragma unroll
      for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++)
          sum[i][j] += left[l][down + i * SIDE] * right[l][across + j * SIDE];
    __syncthreads();
    if ((first + TERMS) % SL_GEMM_TERMS == 0 || first + TERMS >= k)
#pragma unroll
      for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
          all[i][j] = first < SL_GEMM_TERMS ? sum[i][j] : all[i][j] + sum[i][j];
          sum[i][j] = 0;
        }
  }
#pragma unroll
  for (int i = 0; i < EACH; i++)
#pragma unroll
    for (int j = 0; j < EACH; j++)
      if (row + down + i * SIDE < a.m && col + across + j * SIDE < a.n)
        finish_at<T>(a, row + down + i * SIDE, col + across + j * SIDE, static_cast<double>(all[i][j]));
}

template <class T>
__global__ void __launch_bounds__(DENSE_THREADS) multiply(const __grid_constant__ sl_gemm_args a) {
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * TILE; row < a.m;
       row += static_cast<int64_t>(gridDim.x) * TILE)
    for (int64_t col = static_cast<int64_t>(blockIdx.y) * TILE; col < a.n;
         col += static_cast<int64_t>(gridDim.y) * TILE)
      make_tile<T>(a, row, col);
}

/* Neighbours in a row, loaded and stored together if rows begin at multiples of their size. */
template <class T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) few_values { T v[4]; };
enum { FEW = 4 };

/* One thread per FEW neighbours. */
template <class T>
__global__ void __launch_bounds__(DENSE_THREADS) finish_all(const sl_gemm_args a, bool aligned) {
  const int64_t across = (a.n + FEW - 1) / FEW;
  for (int64_t i = thread_number(); i < a.m * across; i += thread_count()) {
    const dense_place at = place_of(i, across);
    const int64_t col = at.col * FEW;
    T *c = static_cast<T *>(a.c) + at.row * a.ldc + col;
    if (!aligned || col + FEW > a.n) {
      for (int64_t j = col; j < col + FEW && j < a.n; j++)
        finish_at<T>(a, at.row, j, 0);
      continue;
    }
    few_values<T> values = {};
    if (a.beta != 0)
      values = *reinterpret_cast<const few_values<T> *>(c);
#pragma unroll
    for (int j = 0; j < FEW; j++)
      finish_value<T>(a, col + j, 0, &values.v[j]);
    *reinterpret_cast<few_values<T> *>(c) = values;
  }
}

void launch_finish(sl_queue *queue, const sl_gemm_args &a) {
  with_type(a.dtype, [&](auto type) {
    using T = decltype(type);
    const bool aligned = a.ldc % FEW == 0 && reinterpret_cast<uintptr_t>(a.c) % alignof(few_values<T>) == 0;
    finish_all<T>
        <<<dense_blocks(queue, a.m * ((a.n + FEW - 1) / FEW)), DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(
            a, aligned);
  });
}

sley_status gemm_run(sl_queue *queue, const sl_kernel_args *args) {
  return sl_cuda_gemm_in_order(queue, &args->gemm);
}

bool gemm_ok(const sl_kernel_args *args) {
  return sl_gemm_ok(&args->gemm);
}

double gemm_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  const sl_gemm_args *a = &args->gemm;
  const sl_gemm_figures &f = figures->gemm[SL_GEMM_PLAIN];
  return f.start + static_cast<double>(a->m) * a->n * a->k / f.products;
}

} // namespace

sley_status sl_cuda_gemm_in_order(sl_queue *queue, const sl_gemm_args *a) {
  if (a->m <= 0 || a->n <= 0)
    return SLEY_OK;
  const int64_t down = (a->m + TILE - 1) / TILE, across = (a->n + TILE - 1) / TILE;
  const dim3 grid(static_cast<unsigned>(down < INT32_MAX ? down : INT32_MAX),
                  static_cast<unsigned>(across < MOST_ACROSS ? across : MOST_ACROSS));
  SL_TRY(sl_cuda_use(queue->device));
  if (a->k == 0 || a->alpha == 0) { /* no terms */
    launch_finish(queue, *a);
    return sl_cuda_launched(queue, "dense product");
  }
  with_type(a->dtype, [&](auto type) {
    multiply<decltype(type)><<<grid, DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(*a);
  });
  return sl_cuda_launched(queue, "dense product");
}

sley_status sl_cuda_gemm_finish(sl_queue *queue, const sl_gemm_args *a) {
  sl_gemm_args rest = *a;
  rest.alpha = 0;
  rest.beta = 1;
  SL_TRY(sl_cuda_use(queue->device));
  launch_finish(queue, rest);
  return sl_cuda_launched(queue, "bias and activation");
}

extern "C" {
extern const sl_kernel sl_cuda_gemm;
const sl_kernel sl_cuda_gemm = {.name = "gemm",
                                .op = SL_OP_GEMM,
                                .ok = gemm_ok,
                                .cost = gemm_cost,
                                SL_KERNEL_KEEPS_NOTHING,
                                .run = gemm_run};
}

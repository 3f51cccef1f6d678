/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_UPDATE if T is given: Z = T W + beta Z, in the order of op_update.h. A block of threads computes a
 * tile of Z; tiles of T and W pass through shared memory. Works for every type and shape. It is the reference
 * on the device, and runs if the order is requested. */
#include "device/cuda/spmm/update_rows.h"
#include "device/cuda/values.cuh"

namespace {

using namespace sley;

/* A tile of Z. Each thread computes EACH rows of one column. */
enum { ROWS = 64, COLS = 32, DEPTH = 16, LINES = 8, EACH = ROWS / LINES };

template <class T> struct operands {
  int64_t rows, k, n, ldt, ldw, ldz;
  const accumulator<T> *t;
  const T *w;
  T *z;
  double beta;
};

template <class T> __global__ void __launch_bounds__(COLS *LINES) update(const operands<T> o) {
  using sum_t = accumulator<T>;
  __shared__ sum_t t[ROWS][DEPTH + 1];
  __shared__ sum_t w[DEPTH][COLS];
  const int column = threadIdx.x % COLS, line = threadIdx.x / COLS;
  const int64_t j = static_cast<int64_t>(blockIdx.y) * COLS + column;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * ROWS; first < o.rows;
       first += static_cast<int64_t>(gridDim.x) * ROWS) {
    sum_t sum[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) {
      const int64_t i = first + e * LINES + line;
      sum[e] = o.beta == 0 || i >= o.rows || j >= o.n
                   ? sum_t(0)
                   : static_cast<sum_t>(o.beta * static_cast<double>(value<T>::widen(o.z[i * o.ldz + j])));
    }
    for (int64_t l = 0; l < o.k; l += DEPTH) {
      const int depth = static_cast<int>(o.k - l < DEPTH ? o.k - l : DEPTH);
      for (int at = threadIdx.x; at < ROWS * DEPTH; at += COLS * LINES) {
        const int row = at / DEPTH, d = at % DEPTH;
        if (first + row < o.rows && d < depth)
          t[row][d] = o.t[(first + row) * o.ldt + l + d];
      }
      for (int d = line; d < depth; d += LINES)
        if (j < o.n)
          w[d][column] = value<T>::widen(o.w[(l + d) * o.ldw + j]);
      __syncthreads();
      for (int d = 0; d < depth; d++)
#pragma unroll
        for (int e = 0; e < EACH; e++)
          sum[e] = multiply_add(t[e * LINES + line][d], w[d][column], sum[e]);
      __syncthreads();
    }
#pragma unroll
    for (int e = 0; e < EACH; e++) {
      const int64_t i = first + e * LINES + line;
      if (i < o.rows && j < o.n)
        o.z[i * o.ldz + j] = value<T>::narrow(sum[e]);
    }
  }
}

template <class T> void launch(sl_queue *queue, const sl_update_args *a) {
  /* Columns beyond the largest height of a grid are computed by further launches. */
  const int64_t most_across = static_cast<int64_t>(65535) * COLS;
  const int64_t down = (a->rows + ROWS - 1) / ROWS;
  for (int64_t j = 0; j < a->n; j += most_across) {
    const int64_t n = a->n - j < most_across ? a->n - j : most_across;
    const operands<T> o = {a->rows,
                           a->k,
                           n,
                           a->ldt,
                           a->ldw,
                           a->ldz,
                           static_cast<const accumulator<T> *>(a->t),
                           static_cast<const T *>(a->w) + j,
                           static_cast<T *>(a->z) + j,
                           a->beta};
    const dim3 grid(static_cast<unsigned>(down < INT32_MAX ? down : INT32_MAX),
                    static_cast<unsigned>((n + COLS - 1) / COLS));
    update<T><<<grid, COLS * LINES, 0, sl_cuda_stream(queue)>>>(o);
  }
}

} // namespace

sley_status sl_cuda_launch_update_plain(sl_queue *queue, const sl_update_args *a) {
  SL_TRY(sl_cuda_use(queue->device));
  if (a->dtype == SLEY_F32)
    launch<float>(queue, a);
  else if (a->dtype == SLEY_F64)
    launch<double>(queue, a);
  else if (a->dtype == SLEY_F16)
    launch<f16>(queue, a);
  else
    launch<bf16>(queue, a);
  return sl_cuda_launched(queue, "update-plain");
}

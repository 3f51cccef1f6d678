/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of columns, in the order of sum_blocks.h: a thread adds one column of a block of rows, then add_sums
 * adds the blocks' sums of each column. */
#ifndef SLEY_DEVICE_CUDA_DENSE_COLUMN_SUMS_CUH
#define SLEY_DEVICE_CUDA_DENSE_COLUMN_SUMS_CUH

#include "device/cuda/dense/dense.cuh"

namespace sley {

/* For add_sums: stores a column's sum, rounded once. */
template <class T> struct store_column {
  T *to;
  __device__ void operator()(int64_t col, double sum) const {
    set_double(to, col, sum);
  }
};

/* Rows of a column that are loaded before the first is used. The loads are explicit, because a term may store
 * where it has loaded from, so the compiler cannot move loads up. */
enum { ROWS_AHEAD = 8 };

/* term.load(row, col) loads a value; term.finish(row, col, loaded) returns the term as a double. sums
 * receives the sum of each block; if there is only one block, its sum is written directly to out. */
template <class T, class Term>
__global__ void __launch_bounds__(DENSE_THREADS)
    sum_blocks(int64_t rows, int64_t cols, const Term term, T *out, int64_t block_rows, int64_t blocks,
               double *sums) {
  for (int64_t piece = thread_number(); piece < blocks * cols; piece += thread_count()) {
    const dense_place at = place_of(piece, cols);
    const int64_t block = at.row, col = at.col;
    const int64_t end = (block + 1) * block_rows < rows ? (block + 1) * block_rows : rows;
    double sum = 0;
    int64_t row = block * block_rows;
    for (; row + ROWS_AHEAD <= end; row += ROWS_AHEAD) {
      typename Term::loaded next[ROWS_AHEAD];
#pragma unroll
      for (int u = 0; u < ROWS_AHEAD; u++)
        next[u] = term.load(row + u, col);
#pragma unroll
      for (int u = 0; u < ROWS_AHEAD; u++)
        sum += term.finish(row + u, col, next[u]);
    }
    for (; row < end; row++)
      sum += term.finish(row, col, term.load(row, col));
    if (blocks == 1)
      set_double(out, col, sum);
    else
      sums[piece] = sum;
  }
}

/* Enqueues out[col] = sum of the term over the rows, for cols > 0. The queue's device must be current. */
template <class T, class Term>
sley_status sum_columns(sl_queue *queue, int64_t rows, int64_t cols, const Term &term, T *out) {
  const int64_t block_rows = sl_sum_rows(rows, cols), blocks = sl_sum_blocks(rows, cols);
  void *workspace = nullptr;
  if (blocks > 1)
    SL_TRY(sl_cuda_workspace(queue, &workspace));
  double *sums = static_cast<double *>(workspace);
  if (blocks > 0)
    sum_blocks<<<dense_blocks(queue, blocks * cols), DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(
        rows, cols, term, out, block_rows, blocks, sums);
  if (blocks != 1)
    add_sums<<<dense_sum_blocks(cols), DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(blocks, cols, sums,
                                                                                  store_column<T>{out});
  return SLEY_OK;
}

} // namespace sley

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of each column: a thread sums a column of a block of rows, then a thread the blocks' sums of a
 * column. */
#include "device/cuda/dense.cuh"

namespace {

using namespace sley;

template <class T>
__global__ void __launch_bounds__(DENSE_THREADS)
    sum_blocks(const sl_column_sums_args a, int64_t block_rows, int64_t blocks, double *sums) {
  for (int64_t piece = thread_number(); piece < blocks * a.cols; piece += thread_count()) {
    const dense_place at = place_of(piece, a.cols);
    const int64_t block = at.row, col = at.col;
    const int64_t end = (block + 1) * block_rows < a.rows ? (block + 1) * block_rows : a.rows;
    double sum = 0;
#pragma unroll 4
    for (int64_t row = block * block_rows; row < end; row++)
      sum += double_at(static_cast<const T *>(a.x), row * a.ldx + col);
    if (blocks == 1)
      set_double(static_cast<T *>(a.out), col, sum);
    else
      sums[piece] = sum;
  }
}

sley_status column_sums_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_column_sums_args a = args->column_sums;
  const int64_t rows = sl_sum_rows(a.rows, a.cols), blocks = sl_sum_blocks(a.rows, a.cols);
  void *workspace = nullptr;
  if (a.cols <= 0)
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  if (blocks > 1)
    SL_TRY(sl_cuda_workspace(queue, &workspace));
  double *sums = static_cast<double *>(workspace);
  with_type(a.dtype, [&](auto type) {
    using T = decltype(type);
    if (blocks > 0)
      sum_blocks<T><<<dense_blocks(queue, blocks * a.cols), DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(
          a, rows, blocks, sums);
    if (blocks != 1)
      add_sums<<<dense_sum_blocks(a.cols), DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(
          blocks, a.cols, sums, store_column<T>{static_cast<T *>(a.out)});
  });
  return sl_cuda_launched(queue, "sum of columns");
}

bool column_sums_ok(const sl_kernel_args *args) {
  return sl_column_sums_ok(&args->column_sums);
}

double column_sums_cost(const sl_kernel_args *args) {
  const sl_column_sums_args *a = &args->column_sums;
  return 6e-6 + static_cast<double>(a->rows) * a->cols * sley_dtype_bytes(a->dtype) / 2e12;
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_column_sums;
const sl_kernel sl_cuda_column_sums = {.name = "sum of columns",
                                       .op = SL_OP_COLUMN_SUMS,
                                       .ok = column_sums_ok,
                                       .cost = column_sums_cost,
                                       SL_KERNEL_KEEPS_NOTHING,
                                       .run = column_sums_run};
}

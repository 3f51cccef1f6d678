/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of an activation, a thread for each value; with the sums of its columns, a thread for a column
 * of a block of rows. */
#include "device/cuda/dense.cuh"

namespace {

using namespace sley;

__device__ double factor_of(sley_activation act, double slope, double y) {
  if (act == SLEY_NO_ACTIVATION || y > 0)
    return 1;
  return act == SLEY_RELU ? 0 : act == SLEY_LEAKY_RELU ? slope : y + slope;
}

template <class T>
__global__ void __launch_bounds__(DENSE_THREADS) activate_grad(const sl_activate_grad_args a) {
  for (int64_t i = thread_number(); i < a.rows * a.cols; i += thread_count()) {
    const dense_place at = place_of(i, a.cols);
    const int64_t row = at.row, col = at.col;
    const double y = double_at(static_cast<const T *>(a.y), row * a.ldy + col);
    const double dy = double_at(static_cast<const T *>(a.dy), row * a.lddy + col);
    set_double(static_cast<T *>(a.dx), row * a.lddx + col, dy * factor_of(a.act, a.slope, y));
  }
}

/* sums: of each block, or with one block none. */
template <class T>
__global__ void __launch_bounds__(DENSE_THREADS)
    grad_and_sums(const sl_activate_grad_args a, int64_t block_rows, int64_t blocks, double *sums) {
  for (int64_t piece = thread_number(); piece < blocks * a.cols; piece += thread_count()) {
    const dense_place at = place_of(piece, a.cols);
    const int64_t block = at.row, col = at.col;
    const int64_t end = (block + 1) * block_rows < a.rows ? (block + 1) * block_rows : a.rows;
    double sum = 0;
#pragma unroll 4
    for (int64_t row = block * block_rows; row < end; row++) {
      const double y = double_at(static_cast<const T *>(a.y), row * a.ldy + col);
      const double dy = double_at(static_cast<const T *>(a.dy), row * a.lddy + col);
      T dx;
      set_double(&dx, 0, dy * factor_of(a.act, a.slope, y));
      static_cast<T *>(a.dx)[row * a.lddx + col] = dx;
      sum += double_at(&dx, 0);
    }
    if (blocks == 1)
      set_double(static_cast<T *>(a.sums), col, sum);
    else
      sums[piece] = sum;
  }
}

sley_status run_with_sums(sl_queue *queue, const sl_activate_grad_args &a) {
  const int64_t rows = sl_sum_rows(a.rows, a.cols), blocks = sl_sum_blocks(a.rows, a.cols);
  void *workspace = nullptr;
  if (blocks > 1)
    SL_TRY(sl_cuda_workspace(queue, &workspace));
  double *sums = static_cast<double *>(workspace);
  with_type(a.dtype, [&](auto type) {
    using T = decltype(type);
    if (blocks > 0)
      grad_and_sums<T><<<dense_blocks(queue, blocks * a.cols), DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(
          a, rows, blocks, sums);
    if (blocks != 1)
      add_sums<<<dense_sum_blocks(a.cols), DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(
          blocks, a.cols, sums, store_column<T>{static_cast<T *>(a.sums)});
  });
  return sl_cuda_launched(queue, "gradient of an activation");
}

sley_status activate_grad_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_activate_grad_args a = args->activate_grad;
  if (a.cols <= 0 || (a.rows <= 0 && !a.sums))
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  if (a.sums)
    return run_with_sums(queue, a);
  with_type(a.dtype, [&](auto type) {
    activate_grad<decltype(type)>
        <<<dense_blocks(queue, a.rows * a.cols), DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(a);
  });
  return sl_cuda_launched(queue, "gradient of an activation");
}

bool activate_grad_ok(const sl_kernel_args *args) {
  return sl_activate_grad_ok(&args->activate_grad);
}

double activate_grad_cost(const sl_kernel_args *args) {
  const sl_activate_grad_args *a = &args->activate_grad;
  return 3e-6 + static_cast<double>(a->rows) * a->cols * sley_dtype_bytes(a->dtype) * 3 / 2e12;
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_activate_grad;
const sl_kernel sl_cuda_activate_grad = {.name = "gradient of an activation",
                                         .op = SL_OP_ACTIVATE_GRAD,
                                         .ok = activate_grad_ok,
                                         .cost = activate_grad_cost,
                                         SL_KERNEL_KEEPS_NOTHING,
                                         .run = activate_grad_run};
}

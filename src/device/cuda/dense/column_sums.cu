/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of each column. */
#include "device/cuda/dense/column_sums.cuh"

namespace {

using namespace sley;

template <class T> struct value_term {
  const T *x;
  int64_t ldx;
  using loaded = T;
  __device__ T load(int64_t row, int64_t col) const {
    return x[row * ldx + col];
  }
  __device__ double finish(int64_t, int64_t, const T &from) const {
    return double_at(&from, 0);
  }
};

sley_status column_sums_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_column_sums_args a = args->column_sums;
  sley_status status = SLEY_OK;
  if (a.cols <= 0)
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  with_type(a.dtype, [&](auto type) {
    using T = decltype(type);
    status = sum_columns(queue, a.rows, a.cols, value_term<T>{static_cast<const T *>(a.x), a.ldx},
                         static_cast<T *>(a.out));
  });
  SL_TRY(status);
  return sl_cuda_launched(queue, "sum of columns");
}

bool column_sums_ok(const sl_kernel_args *args) {
  return sl_column_sums_ok(&args->column_sums);
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_column_sums;
const sl_kernel sl_cuda_column_sums = {.name = "sum of columns",
                                       .op = SL_OP_COLUMN_SUMS,
                                       .ok = column_sums_ok,
                                       .cost = sl_cost_of_bytes,
                                       SL_KERNEL_KEEPS_NOTHING,
                                       .run = column_sums_run};
}

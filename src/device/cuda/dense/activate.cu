/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of an activation, one thread per value; or, with the sums of its columns, in the kernel that
 * computes these. */
#include "device/cuda/dense/column_sums.cuh"

namespace {

using namespace sley;

__device__ double factor_of(sley_activation act, double slope, double y) {
  if (act == SLEY_NO_ACTIVATION || y > 0)
    return 1;
  return act == SLEY_RELU ? 0 : act == SLEY_LEAKY_RELU ? slope : y + slope;
}

/* Writes a value of dx and returns it as a term of its column's sum. */
template <class T> struct grad_term {
  sl_activate_grad_args a;
  struct loaded {
    T y, dy;
  };
  __device__ loaded load(int64_t row, int64_t col) const {
    return {static_cast<const T *>(a.y)[row * a.ldy + col], static_cast<const T *>(a.dy)[row * a.lddy + col]};
  }
  __device__ double finish(int64_t row, int64_t col, const loaded &from) const {
    const double factor = factor_of(a.act, a.slope, double_at(&from.y, 0));
    T dx;
    set_double(&dx, 0, double_at(&from.dy, 0) * factor * a.scale);
    static_cast<T *>(a.dx)[row * a.lddx + col] = dx;
    return double_at(&dx, 0);
  }
};

template <class T>
__global__ void __launch_bounds__(DENSE_THREADS) activate_grad(const sl_activate_grad_args a) {
  const grad_term<T> term = {a};
  for (int64_t i = thread_number(); i < a.rows * a.cols; i += thread_count()) {
    const dense_place at = place_of(i, a.cols);
    term.finish(at.row, at.col, term.load(at.row, at.col));
  }
}

sley_status activate_grad_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_activate_grad_args a = args->activate_grad;
  sley_status status = SLEY_OK;
  if (a.cols <= 0 || (a.rows <= 0 && !a.sums))
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  with_type(a.dtype, [&](auto type) {
    using T = decltype(type);
    if (a.sums)
      status = sum_columns(queue, a.rows, a.cols, grad_term<T>{a}, static_cast<T *>(a.sums));
    else
      activate_grad<T><<<dense_blocks(queue, a.rows * a.cols), DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(a);
  });
  SL_TRY(status);
  return sl_cuda_launched(queue, "gradient of an activation");
}

bool activate_grad_ok(const sl_kernel_args *args) {
  return sl_activate_grad_ok(&args->activate_grad);
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_activate_grad;
const sl_kernel sl_cuda_activate_grad = {.name = "gradient of an activation",
                                         .op = SL_OP_ACTIVATE_GRAD,
                                         .ok = activate_grad_ok,
                                         .cost = sl_cost_of_bytes,
                                         SL_KERNEL_KEEPS_NOTHING,
                                         .run = activate_grad_run};
}

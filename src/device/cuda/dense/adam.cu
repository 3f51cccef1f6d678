/* SPDX-License-Identifier: Apache-2.0 */
/* A step of Adam, one thread per parameter. */
#include "device/cuda/dense/dense.cuh"

namespace {

using namespace sley;

template <class T> __global__ void __launch_bounds__(DENSE_THREADS) adam(const sl_adam_args a) {
  using S = typename value<T>::sum;
  S *moment = static_cast<S *>(a.m), *square = static_cast<S *>(a.v), *master = static_cast<S *>(a.master);
  T *param = static_cast<T *>(a.param);
  for (int64_t i = thread_number(); i < a.count; i += thread_count()) {
    const double x = master ? double_at(master, i) : double_at(param, i);
    double g = a.grad_scale * double_at(static_cast<const T *>(a.grad), i);
    if (a.l2 != 0)
      g = g + a.l2 * x;
    const double m = a.beta1 * double_at(moment, i) + (1 - a.beta1) * g;
    const double v = a.beta2 * double_at(square, i) + (1 - a.beta2) * (g * g);
    const double y = x * a.keep - a.rate * m / (sqrt(v) * a.root + a.eps);
    set_double(moment, i, m);
    set_double(square, i, v);
    if (master)
      set_double(master, i, y);
    set_double(param, i, y);
  }
}

sley_status adam_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_adam_args a = args->adam;
  if (a.count <= 0)
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  with_type(a.dtype, [&](auto type) {
    adam<decltype(type)><<<dense_blocks(queue, a.count), DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(a);
  });
  return sl_cuda_launched(queue, "step of Adam");
}

bool adam_ok(const sl_kernel_args *args) {
  return sl_adam_ok(&args->adam);
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_adam;
const sl_kernel sl_cuda_adam = {.name = "step of Adam",
                                .op = SL_OP_ADAM,
                                .ok = adam_ok,
                                .cost = sl_cost_of_bytes,
                                SL_KERNEL_KEEPS_NOTHING,
                                .run = adam_run};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout, a thread for each call of the generator, which draws for four columns of a row. */
#include "device/cuda/dense.cuh"

#if __has_include(<Random123/philox.h>)
#include <Random123/philox.h>
#define HAS_RANDOM123 1
#else
#define HAS_RANDOM123 0
#endif

namespace {

using namespace sley;

#if HAS_RANDOM123
template <class T>
__global__ void __launch_bounds__(DENSE_THREADS)
    drop(const sl_dropout_args a, unsigned threshold, double factor) {
  const int64_t groups = (a.cols + SL_DROPOUT_WORDS - 1) / SL_DROPOUT_WORDS;
  const philox4x32_key_t key = {{static_cast<uint32_t>(a.seed), static_cast<uint32_t>(a.seed >> 32)}};
  for (int64_t piece = thread_number(); piece < a.rows * groups; piece += thread_count()) {
    const int64_t row = piece / groups, group = piece % groups;
    const uint64_t number = a.row ? static_cast<uint64_t>(a.row[row])
                                  : static_cast<uint64_t>(a.first_row) + static_cast<uint64_t>(row);
    const philox4x32_ctr_t counter = {{static_cast<uint32_t>(group), static_cast<uint32_t>(number),
                                       static_cast<uint32_t>(number >> 32), a.stream}};
    const philox4x32_ctr_t words = philox4x32_R(10, counter, key);
#pragma unroll
    for (int w = 0; w < SL_DROPOUT_WORDS; w++) {
      const int64_t col = group * SL_DROPOUT_WORDS + w;
      if (col >= a.cols)
        break;
      const double kept = double_at(static_cast<const T *>(a.in), row * a.ld_in + col) * factor;
      set_double(static_cast<T *>(a.out), row * a.ld_out + col, words.v[w] < threshold ? 0 : kept);
    }
  }
}

sley_status dropout_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_dropout_args a = args->dropout;
  if (a.rows <= 0 || a.cols <= 0)
    return SLEY_OK;
  const int64_t groups = (a.cols + SL_DROPOUT_WORDS - 1) / SL_DROPOUT_WORDS;
  SL_TRY(sl_cuda_use(queue->device));
  with_type(a.dtype, [&](auto type) {
    drop<decltype(type)><<<dense_blocks(queue, a.rows * groups), DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(
        a, sl_dropout_threshold(a.p), 1 / (1 - a.p));
  });
  return sl_cuda_launched(queue, "dropout");
}
#else
sley_status dropout_run(sl_queue *, const sl_kernel_args *) {
  return sl_fail(SLEY_ERR_UNSUPPORTED,
                 "dropout: this build has no Random123: install librandom123-dev and build again");
}
#endif

bool dropout_ok(const sl_kernel_args *args) {
  return sl_dropout_ok(&args->dropout);
}

double dropout_cost(const sl_kernel_args *args) {
  const sl_dropout_args *a = &args->dropout;
  return 3e-6 + static_cast<double>(a->rows) * a->cols * sley_dtype_bytes(a->dtype) * 2 / 2e12;
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_dropout;
const sl_kernel sl_cuda_dropout = {.name = "dropout",
                                   .op = SL_OP_DROPOUT,
                                   .ok = dropout_ok,
                                   .cost = dropout_cost,
                                   SL_KERNEL_KEEPS_NOTHING,
                                   .run = dropout_run};
}

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
/* The values of one call of the generator, or as many of them as the row has; VECTOR: as one vector. */
template <bool VECTOR, class T>
__device__ void drop_group(const sl_dropout_args &a, int64_t row, int64_t col, const philox4x32_ctr_t &words,
                           unsigned threshold, double factor) {
  const T *in = static_cast<const T *>(a.in) + row * a.ld_in + col;
  T *out = static_cast<T *>(a.out) + row * a.ld_out + col;
  if constexpr (VECTOR) {
    packed<T, SL_DROPOUT_WORDS> four;
    four.bits = *reinterpret_cast<const typename word<sizeof(T) * SL_DROPOUT_WORDS>::type *>(in);
#pragma unroll
    for (int w = 0; w < SL_DROPOUT_WORDS; w++) {
      const double kept = double_at(four.values.item, w) * factor;
      set_double(four.values.item, w, words.v[w] < threshold ? 0 : kept);
    }
    *reinterpret_cast<typename word<sizeof(T) * SL_DROPOUT_WORDS>::type *>(out) = four.bits;
  } else {
#pragma unroll
    for (int w = 0; w < SL_DROPOUT_WORDS; w++) {
      if (col + w >= a.cols)
        break;
      const double kept = double_at(in, w) * factor;
      set_double(out, w, words.v[w] < threshold ? 0 : kept);
    }
  }
}

template <bool VECTOR, class T>
__global__ void __launch_bounds__(DENSE_THREADS)
    drop(const sl_dropout_args a, unsigned threshold, double factor) {
  const int64_t groups = (a.cols + SL_DROPOUT_WORDS - 1) / SL_DROPOUT_WORDS;
  const philox4x32_key_t key = {{static_cast<uint32_t>(a.seed), static_cast<uint32_t>(a.seed >> 32)}};
  for (int64_t piece = thread_number(); piece < a.rows * groups; piece += thread_count()) {
    const dense_place at = place_of(piece, groups);
    const uint64_t number = a.row ? static_cast<uint64_t>(a.row[at.row])
                                  : static_cast<uint64_t>(a.first_row) + static_cast<uint64_t>(at.row);
    const philox4x32_ctr_t counter = {{static_cast<uint32_t>(at.col), static_cast<uint32_t>(number),
                                       static_cast<uint32_t>(number >> 32), a.stream}};
    drop_group<VECTOR, T>(a, at.row, at.col * SL_DROPOUT_WORDS, philox4x32_R(10, counter, key), threshold,
                          factor);
  }
}

/* Whether rows are whole vectors of so many bytes. */
bool in_vectors(const sl_dropout_args &a, int64_t bytes) {
  const int64_t value = bytes / SL_DROPOUT_WORDS;
  return a.cols % SL_DROPOUT_WORDS == 0 && a.ld_in * value % bytes == 0 && a.ld_out * value % bytes == 0 &&
         reinterpret_cast<uintptr_t>(a.in) % static_cast<uintptr_t>(bytes) == 0 &&
         reinterpret_cast<uintptr_t>(a.out) % static_cast<uintptr_t>(bytes) == 0;
}

template <class T> void launch(sl_queue *queue, const sl_dropout_args &a) {
  const int64_t groups = (a.cols + SL_DROPOUT_WORDS - 1) / SL_DROPOUT_WORDS;
  const unsigned blocks = dense_blocks(queue, a.rows * groups), threshold = sl_dropout_threshold(a.p);
  const double factor = 1 / (1 - a.p);
  if constexpr (sizeof(T) * SL_DROPOUT_WORDS <= 16)
    if (in_vectors(a, sizeof(T) * SL_DROPOUT_WORDS)) {
      drop<true, T><<<blocks, DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(a, threshold, factor);
      return;
    }
  drop<false, T><<<blocks, DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(a, threshold, factor);
}

sley_status dropout_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_dropout_args a = args->dropout;
  if (a.rows <= 0 || a.cols <= 0)
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  with_type(a.dtype, [&](auto type) { launch<decltype(type)>(queue, a); });
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

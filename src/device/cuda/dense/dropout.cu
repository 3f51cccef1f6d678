/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout, one thread per call of the generator, which draws for four columns of a row. */
#include "device/cuda/dense/dense.cuh"

#if __has_include(<Random123/philox.h>)
#include <Random123/philox.h>
#define HAS_RANDOM123 1
#else
#define HAS_RANDOM123 0
#endif

namespace {

using namespace sley;

/* Values that are the same for all threads. */
struct rule {
  unsigned threshold; /* 0: no random numbers are drawn */
  double factor;
};

/* The generator's output for four columns, from column 4 group on. */
struct drawn {
  uint32_t word[SL_DROPOUT_WORDS];
};

#if HAS_RANDOM123
__device__ __forceinline__ drawn draw(uint64_t seed, uint64_t row, int64_t group, uint32_t stream) {
  const philox4x32_key_t key = {{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}};
  const philox4x32_ctr_t counter = {
      {static_cast<uint32_t>(group), static_cast<uint32_t>(row), static_cast<uint32_t>(row >> 32), stream}};
  const philox4x32_ctr_t words = philox4x32_R(10, counter, key);
  return {{words.v[0], words.v[1], words.v[2], words.v[3]}};
}
#else
__device__ __forceinline__ drawn draw(uint64_t, uint64_t, int64_t, uint32_t) {
  return {};
}
#endif

/* FINISH: there is a bias or an activation; bias: the value for the column, or 0. */
template <bool FINISH>
__device__ __forceinline__ double kept(const sl_dropout_args &a, double v, double bias, double factor) {
  if constexpr (FINISH)
    return activated(a.act, a.slope, a.bias ? v + bias : v) * factor;
  return v * factor;
}

/* Processes the values of one call of the generator; at the end of a row there may be fewer. VECTOR: as one
   vector. */
template <bool VECTOR, bool FINISH, class T>
__device__ void drop_group(const sl_dropout_args &a, int64_t row, int64_t col, const drawn &words, rule r) {
  const T *in = static_cast<const T *>(a.in) + row * a.ld_in + col;
  const T *bias = static_cast<const T *>(a.bias) + (FINISH && a.bias ? col : 0);
  T *out = static_cast<T *>(a.out) + row * a.ld_out + col;
  if constexpr (VECTOR) {
    using word_type = typename word<sizeof(T) * SL_DROPOUT_WORDS>::type;
    packed<T, SL_DROPOUT_WORDS> four, beside;
    four.bits = *reinterpret_cast<const word_type *>(in);
    beside.bits = word_type();
    if (FINISH && a.bias)
      beside.bits = __ldg(reinterpret_cast<const word_type *>(bias));
#pragma unroll
    for (int w = 0; w < SL_DROPOUT_WORDS; w++) {
      const double v =
          kept<FINISH>(a, double_at(four.values.item, w), double_at(beside.values.item, w), r.factor);
      set_double(four.values.item, w, words.word[w] < r.threshold ? 0 : v);
    }
    *reinterpret_cast<word_type *>(out) = four.bits;
  } else {
#pragma unroll
    for (int w = 0; w < SL_DROPOUT_WORDS; w++) {
      if (col + w >= a.cols)
        break;
      const double v = kept<FINISH>(a, double_at(in, w), FINISH && a.bias ? double_at(bias, w) : 0, r.factor);
      set_double(out, w, words.word[w] < r.threshold ? 0 : v);
    }
  }
}

template <bool VECTOR, bool FINISH, class T>
__global__ void __launch_bounds__(DENSE_THREADS) drop(const sl_dropout_args a, rule r) {
  const int64_t groups = (a.cols + SL_DROPOUT_WORDS - 1) / SL_DROPOUT_WORDS;
  const uint64_t seed = a.device_seed ? *a.device_seed : a.seed;
  for (int64_t piece = thread_number(); piece < a.rows * groups; piece += thread_count()) {
    const dense_place at = place_of(piece, groups);
    const uint64_t number = a.row ? static_cast<uint64_t>(a.row[at.row])
                                  : static_cast<uint64_t>(a.first_row) + static_cast<uint64_t>(at.row);
    const int64_t column = a.column ? a.column[at.row] : at.col * SL_DROPOUT_WORDS;
    drawn words = r.threshold > 0 ? draw(seed, number, column / SL_DROPOUT_WORDS, a.stream) : drawn{};
    if (a.column)
      words.word[0] = words.word[column % SL_DROPOUT_WORDS];
    drop_group<VECTOR, FINISH, T>(a, at.row, at.col * SL_DROPOUT_WORDS, words, r);
  }
}

bool at_multiple(const void *p, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(bytes) == 0;
}

/* Returns whether rows consist of whole vectors of `bytes` bytes. */
bool in_vectors(const sl_dropout_args &a, int64_t bytes) {
  const int64_t value = bytes / SL_DROPOUT_WORDS;
  return a.cols % SL_DROPOUT_WORDS == 0 && a.ld_in * value % bytes == 0 && a.ld_out * value % bytes == 0 &&
         at_multiple(a.in, bytes) && at_multiple(a.out, bytes) && at_multiple(a.bias, bytes);
}

template <bool VECTOR, class T> void launch_with(sl_queue *queue, const sl_dropout_args &a) {
  const int64_t groups = (a.cols + SL_DROPOUT_WORDS - 1) / SL_DROPOUT_WORDS;
  const unsigned blocks = dense_blocks(queue, a.rows * groups);
  const rule r = {sl_dropout_threshold(a.p), 1 / (1 - a.p)};
  if (a.bias || a.act != SLEY_NO_ACTIVATION)
    drop<VECTOR, true, T><<<blocks, DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(a, r);
  else
    drop<VECTOR, false, T><<<blocks, DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(a, r);
}

template <class T> void launch(sl_queue *queue, const sl_dropout_args &a) {
  if constexpr (sizeof(T) * SL_DROPOUT_WORDS <= 16)
    if (in_vectors(a, sizeof(T) * SL_DROPOUT_WORDS)) {
      launch_with<true, T>(queue, a);
      return;
    }
  launch_with<false, T>(queue, a);
}

sley_status dropout_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_dropout_args a = args->dropout;
  if (!HAS_RANDOM123 && sl_dropout_threshold(a.p) > 0)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "dropout: this build has no Random123: install librandom123-dev and build again");
  if (a.rows <= 0 || a.cols <= 0)
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  with_type(a.dtype, [&](auto type) { launch<decltype(type)>(queue, a); });
  return sl_cuda_launched(queue, "dropout");
}

bool dropout_ok(const sl_kernel_args *args) {
  return sl_dropout_ok(&args->dropout);
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_dropout;
const sl_kernel sl_cuda_dropout = {.name = "dropout",
                                   .op = SL_OP_DROPOUT,
                                   .ok = dropout_ok,
                                   .cost = sl_cost_of_bytes,
                                   SL_KERNEL_KEEPS_NOTHING,
                                   .run = dropout_run};
}

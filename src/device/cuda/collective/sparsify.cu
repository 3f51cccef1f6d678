/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the threshold of a gradient from a sample, and removes the values below it from the gradient. The
 * sample is small: one block of threads selects from it, digit by digit. */
#include <cfloat>

#include "device/cuda/collective/reduced.cuh"
#include "device/cuda/dense/dense.cuh"

namespace {

using namespace sley;

/* ---- the threshold */

enum { SELECT_THREADS = 1024, DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, WARP = 32 };

/* The sum of gradient and residual at place i. */
template <class T>
__device__ typename value<T>::sum sum_at(const T *src, const typename value<T>::sum *residual, int64_t i) {
  return value<T>::widen(src[i]) + residual[i];
}

template <class T> __global__ void __launch_bounds__(DENSE_THREADS) look(const sl_threshold_args a) {
  using S = typename value<T>::sum;
  const T *src = static_cast<const T *>(a.src);
  for (int64_t j = thread_number(); j < a.sample; j += thread_count()) {
    const int64_t i = sl_sample_place(a.count, a.sample, a.seed, j);
    const double s = static_cast<double>(sum_at(src, static_cast<const S *>(a.residual), i));
    const double size = isfinite(value<T>::widen(src[i])) && s == s ? fabs(s) : static_cast<double>(INFINITY);
    a.work[j] = static_cast<uint64_t>(__double_as_longlong(size));
  }
}

/* Returns the digit that contains the word of rank *rank, counted from the greatest; *rank becomes its rank
 * among the words with this digit. Called by all threads of a warp. */
__device__ int digit_of(const unsigned *tally, int64_t *rank) {
  constexpr int EACH = DIGITS / WARP;
  const int lane = static_cast<int>(threadIdx.x) % WARP, last = DIGITS - 1 - lane * EACH;
  int64_t own = 0, until = 0; /* own: counts of the lane's digits; until: counts of these and all greater
                                 digits */
  for (int d = 0; d < EACH; d++)
    own += tally[last - d];
  until = own;
  for (int d = 1; d < WARP; d *= 2) {
    const int64_t other = __shfl_up_sync(~0u, until, d);
    until += lane >= d ? other : 0;
  }
  const int found = __ffs(static_cast<int>(__ballot_sync(~0u, until >= *rank))) - 1;
  int64_t left = *rank - (until - own);
  int digit = last;
  for (; lane == found && left > tally[digit]; digit--)
    left -= tally[digit];
  *rank = __shfl_sync(~0u, left, found);
  return __shfl_sync(~0u, digit, found);
}

/* lowest: the lowest bit that may be set in a word. */
__global__ void __launch_bounds__(SELECT_THREADS)
    select(const uint64_t *word, int64_t count, int64_t rank, int lowest, double *threshold) {
  __shared__ unsigned tally[DIGITS];
  __shared__ int digit;
  uint64_t found = 0, known = 0; /* known: mask of the bits already found */
  for (int shift = 64 - DIGIT_BITS; shift + DIGIT_BITS > lowest; shift -= DIGIT_BITS) {
    if (threadIdx.x < DIGITS)
      tally[threadIdx.x] = 0;
    __syncthreads();
    for (int64_t j = threadIdx.x; j < count; j += SELECT_THREADS) {
      const uint64_t v = word[j];
      if ((v & known) == found)
        atomicAdd(&tally[v >> shift & (DIGITS - 1)], 1u);
    }
    __syncthreads();
    if (threadIdx.x < WARP) {
      const int chosen = digit_of(tally, &rank);
      if (threadIdx.x == 0)
        digit = chosen;
    }
    __syncthreads();
    found |= static_cast<uint64_t>(digit) << shift;
    known |= static_cast<uint64_t>(DIGITS - 1) << shift;
  }
  if (threadIdx.x == 0)
    *threshold = __longlong_as_double(static_cast<long long>(found));
}

sley_status clear(sl_queue *queue, void *word) {
  return sl_cuda_check(cudaMemsetAsync(word, 0, 8, sl_cuda_stream(queue)), "clearing a number");
}

sley_status threshold_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_threshold_args a = args->threshold;
  SL_TRY(sl_cuda_use(queue->device));
  if (a.rank == 0)
    return clear(queue, a.threshold);
  with_type(a.dtype, [&](auto type) {
    look<decltype(type)><<<dense_blocks(queue, a.sample), DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(a);
  });
  SL_TRY(sl_cuda_launched(queue, "sample"));
  const int lowest = a.dtype == SLEY_F64 ? 0 : DBL_MANT_DIG - FLT_MANT_DIG;
  select<<<1, SELECT_THREADS, 0, sl_cuda_stream(queue)>>>(a.work, a.sample, a.rank, lowest, a.threshold);
  return sl_cuda_launched(queue, "threshold");
}

/* The count of a digit has 32 bits. */
bool threshold_ok(const sl_kernel_args *args) {
  return sl_threshold_ok(&args->threshold) && args->threshold.sample <= UINT32_MAX;
}

/* ---- leaving out */

/* The greatest finite number of a type, in its type of sums. */
template <class T> __device__ typename value<T>::sum greatest();
template <> inline __device__ float greatest<float>() {
  return FLT_MAX;
}
template <> inline __device__ double greatest<double>() {
  return DBL_MAX;
}
template <> inline __device__ float greatest<f16>() {
  return 65504.0f;
}
template <> inline __device__ float greatest<bf16>() {
  return __uint_as_float(0x7f7f0000u);
}

/* Splits the sum g + r: returns what is sent, and r becomes what is left. 0 is added so that zeros are +0. */
template <class T, class S> __device__ T cut(S threshold, S g, S &r) {
  const S s = g + r, most = greatest<T>();
  if (!isfinite(g))
    return held<T>::store(g);
  if (!isfinite(s)) {
    r = 0;
    return held<T>::store(s);
  }
  const S within = s > most ? most : s < -most ? -most : s;
  const S wanted = fabs(s) < threshold ? S(0) : within;
  S sent = value<T>::widen(value<T>::narrow(wanted));
  sent = sent + S(0);
  r = (s - sent) + S(0);
  return value<T>::narrow(sent);
}

template <class T, int N>
__global__ void __launch_bounds__(DENSE_THREADS) sparsify(const sl_sparsify_args a) {
  using S = typename value<T>::sum;
  const S threshold = static_cast<S>(*a.threshold);
  unsigned kept = 0;
  for (int64_t i = thread_number() * N; i < a.count; i += thread_count() * N) {
    const vector<T, N> g = load_plain<T, N>(static_cast<const T *>(a.src) + i);
    vector<S, N> r = load_plain<S, N>(static_cast<S *>(a.residual) + i);
    vector<T, N> sent;
#pragma unroll
    for (int v = 0; v < N; v++) {
      sent.item[v] = cut<T, S>(threshold, value<T>::widen(g.item[v]), r.item[v]);
      kept += value<T>::widen(sent.item[v]) != 0;
    }
    store_values<T, N>(static_cast<T *>(a.dst) + i, sent);
    store_values<S, N>(static_cast<S *>(a.residual) + i, r);
  }
  for (int d = WARP / 2; d > 0; d /= 2)
    kept += __shfl_down_sync(~0u, kept, d);
  if (threadIdx.x % WARP == 0 && kept > 0)
    atomicAdd(reinterpret_cast<unsigned long long *>(a.kept), static_cast<unsigned long long>(kept));
}

template <class T, int N> void launch(sl_queue *queue, const sl_sparsify_args &a) {
  sparsify<T, N><<<dense_blocks(queue, a.count / N), DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(a);
}

bool aligned(const void *p, size_t bytes) {
  return reinterpret_cast<uintptr_t>(p) % bytes == 0;
}

/* Launches with four values per thread if the arrays are aligned to four values, else with one. */
template <class T> void launch_any(sl_queue *queue, const sl_sparsify_args &a) {
  using S = typename value<T>::sum;
  const bool four = a.count % 4 == 0 && aligned(a.src, sizeof(vector<T, 4>)) &&
                    aligned(a.dst, sizeof(vector<T, 4>)) && aligned(a.residual, sizeof(vector<S, 4>));
  four ? launch<T, 4>(queue, a) : launch<T, 1>(queue, a);
}

sley_status sparsify_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_sparsify_args a = args->sparsify;
  SL_TRY(sl_cuda_use(queue->device));
  SL_TRY(clear(queue, a.kept));
  if (a.count == 0)
    return SLEY_OK;
  with_type(a.dtype, [&](auto type) { launch_any<decltype(type)>(queue, a); });
  return sl_cuda_launched(queue, "sparsification");
}

bool sparsify_ok(const sl_kernel_args *args) {
  return sl_sparsify_ok(&args->sparsify);
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_threshold, sl_cuda_sparsify;
const sl_kernel sl_cuda_threshold = {.name = "threshold",
                                     .op = SL_OP_THRESHOLD,
                                     .ok = threshold_ok,
                                     .cost = sl_cost_of_bytes,
                                     SL_KERNEL_KEEPS_NOTHING,
                                     .run = threshold_run};
const sl_kernel sl_cuda_sparsify = {.name = "sparsification",
                                    .op = SL_OP_SPARSIFY,
                                    .ok = sparsify_ok,
                                    .cost = sl_cost_of_bytes,
                                    SL_KERNEL_KEEPS_NOTHING,
                                    .run = sparsify_run};
}

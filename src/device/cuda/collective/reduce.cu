/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that reduce several arrays to one, value by value. A thread takes a vector of 16 bytes of each part
 * in turn, so that parts are added in order; it takes single values if parts are not aligned to 16 bytes. */
#include "device/cuda/collective/reduced.cuh"
#include "device/cuda/cuda.h"

namespace {

using namespace sley;

enum { LANES = 256, BLOCKS_PER_PROCESSOR = 8 };

/* If values are equal, they can only differ in the sign of zero: the minimum is the bitwise or, the maximum
 * the bitwise and. */
__device__ float either(float a, float b) {
  return __uint_as_float(__float_as_uint(a) | __float_as_uint(b));
}
__device__ float both(float a, float b) {
  return __uint_as_float(__float_as_uint(a) & __float_as_uint(b));
}
__device__ double either(double a, double b) {
  return __longlong_as_double(__double_as_longlong(a) | __double_as_longlong(b));
}
__device__ double both(double a, double b) {
  return __longlong_as_double(__double_as_longlong(a) & __double_as_longlong(b));
}

template <class A> __device__ A least(A a, A b) {
  return a != a || b != b ? a + b : a == b ? either(a, b) : a < b ? a : b;
}
template <class A> __device__ A most(A a, A b) {
  return a != a || b != b ? a + b : a == b ? both(a, b) : a > b ? a : b;
}
template <> __device__ unsigned long long least(unsigned long long a, unsigned long long b) {
  return static_cast<long long>(a) < static_cast<long long>(b) ? a : b;
}
template <> __device__ unsigned long long most(unsigned long long a, unsigned long long b) {
  return static_cast<long long>(a) > static_cast<long long>(b) ? a : b;
}

template <sley_reduce OP, class A> __device__ A joined(A a, A b) {
  if constexpr (OP == SLEY_SUM)
    return a + b;
  else if constexpr (OP == SLEY_MIN)
    return least(a, b);
  else
    return most(a, b);
}

/* Parts at equal distances; one of them may lie elsewhere. */
struct strided {
  const char *src;
  int64_t stride;
  int own;
  const char *own_src;
  __device__ const char *at(int p) const {
    return p == own ? own_src : src + (own >= 0 && p > own ? p - 1 : p) * stride;
  }
};

/* Parts at any addresses, also in other GPUs' memories. */
struct placed {
  const char *part[SL_REDUCE_PLACES];
  __device__ const char *at(int p) const {
    return part[p];
  }
};

template <class PARTS> struct reduction {
  int64_t count;
  int parts;
  void *dst;
  PARTS place;
};

/* Reduces N values from value `first` on. */
template <class T, sley_reduce OP, int N, class PARTS>
__device__ void reduce_at(const reduction<PARTS> &a, int64_t first) {
  const auto part = [&](int p) { return reinterpret_cast<const T *>(a.place.at(p)) + first; };
  using A = typename held<T>::type;
  A sum[N];
  packed<T, N> v;
  v.values = load_plain<T, N>(part(0));
#pragma unroll
  for (int i = 0; i < N; i++)
    sum[i] = held<T>::load(v.values.item[i]);
#pragma unroll 4
  for (int p = 1; p < a.parts; p++) {
    v.values = load_plain<T, N>(part(p));
#pragma unroll
    for (int i = 0; i < N; i++)
      sum[i] = joined<OP>(sum[i], held<T>::load(v.values.item[i]));
  }
#pragma unroll
  for (int i = 0; i < N; i++)
    v.values.item[i] = held<T>::store(sum[i]);
  *reinterpret_cast<typename word<sizeof(T) * N>::type *>(static_cast<T *>(a.dst) + first) = v.bits;
}

template <class T, sley_reduce OP, int N, class PARTS>
__global__ void __launch_bounds__(LANES) reduce(const __grid_constant__ reduction<PARTS> a) {
  const int64_t vectors = a.count / N, threads = static_cast<int64_t>(gridDim.x) * LANES;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * LANES + threadIdx.x;
  for (int64_t i = thread; i < vectors; i += threads)
    reduce_at<T, OP, N>(a, i * N);
  for (int64_t i = vectors * N + thread; i < a.count;
       i += threads) /* the values after the last whole vector */
    reduce_at<T, OP, 1>(a, i);
}

template <class T, sley_reduce OP, int N, class PARTS>
void launch(sl_queue *queue, const sl_reduce_args *a, const PARTS &place) {
  const int64_t most = BLOCKS_PER_PROCESSOR * static_cast<int64_t>(sl_cuda_processors(queue));
  const int64_t wanted = (a->count / N + LANES) / LANES;
  const reduction<PARTS> job = {a->count, a->parts, a->dst, place};
  reduce<T, OP, N, PARTS>
      <<<static_cast<unsigned>(wanted < most ? wanted : most), LANES, 0, sl_cuda_stream(queue)>>>(job);
}

template <class T, sley_reduce OP, int N> void launch_by_place(sl_queue *queue, const sl_reduce_args *a) {
  if (!a->at) {
    launch<T, OP, N>(
        queue, a,
        strided{static_cast<const char *>(a->src), a->stride, a->own, static_cast<const char *>(a->own_src)});
    return;
  }
  placed place = {};
  for (int p = 0; p < a->parts; p++)
    place.part[p] = static_cast<const char *>(sl_reduce_part(a, p));
  launch<T, OP, N>(queue, a, place);
}

/* Returns whether all parts and the result begin at multiples of `bytes` bytes. */
bool are_aligned(const sl_reduce_args *a, uint64_t bytes) {
  uint64_t bits = reinterpret_cast<uintptr_t>(a->dst);
  for (int p = 0; p < a->parts; p++)
    bits |= reinterpret_cast<uintptr_t>(sl_reduce_part(a, p));
  return bits % bytes == 0;
}

template <class T, sley_reduce OP> void launch_by_width(sl_queue *queue, const sl_reduce_args *a) {
  if (are_aligned(a, 16))
    launch_by_place<T, OP, 16 / sizeof(T)>(queue, a);
  else
    launch_by_place<T, OP, 1>(queue, a);
}

template <class T> void launch_by_operator(sl_queue *queue, const sl_reduce_args *a) {
  if (a->op == SLEY_SUM)
    launch_by_width<T, SLEY_SUM>(queue, a);
  else if (a->op == SLEY_MIN)
    launch_by_width<T, SLEY_MIN>(queue, a);
  else
    launch_by_width<T, SLEY_MAX>(queue, a);
}

sley_status reduce_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_reduce_args *a = &args->reduce;
  if (a->count <= 0)
    return SLEY_OK;
  if (!are_aligned(a, sley_type_bytes(a->type)))
    return sl_fail(SLEY_ERR_ARG, "arrays to reduce lie at odd addresses: align them to their values' size");
  SL_TRY(sl_cuda_use(queue->device));
  if (a->type == SLEY_TYPE_F32)
    launch_by_operator<float>(queue, a);
  else if (a->type == SLEY_TYPE_F64)
    launch_by_operator<double>(queue, a);
  else if (a->type == SLEY_TYPE_F16)
    launch_by_operator<f16>(queue, a);
  else if (a->type == SLEY_TYPE_BF16)
    launch_by_operator<bf16>(queue, a);
  else
    launch_by_operator<i64>(queue, a);
  return sl_cuda_launched(queue, "reduce");
}

bool reduce_ok(const sl_kernel_args *args) {
  return sl_reduces(&args->reduce);
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_reduce;
const sl_kernel sl_cuda_reduce = {.name = "reduce",
                                  .op = SL_OP_REDUCE,
                                  .ok = reduce_ok,
                                  .cost = sl_cost_of_bytes,
                                  SL_KERNEL_KEEPS_NOTHING,
                                  .run = reduce_run};
}

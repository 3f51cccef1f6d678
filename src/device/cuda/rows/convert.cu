/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that move or add rows and convert their type: the loop of cuda_rows.cuh, with vectors that are
 * wider on one side than on the other. */
#include "device/cuda/rows/rows.cuh"

namespace {

using namespace sley;

/* A value as type T, rounded once. */
template <class T> __device__ __forceinline__ T rounded(float v) {
  if constexpr (sizeof(T) == 2)
    return value<T>::narrow(v);
  else
    return v;
}
template <class T> __device__ __forceinline__ T rounded(double v) {
  return value<T>::narrow(odd(v));
}

/* Moves N values per lane, which replace the destination or are added to it. */
template <class From, class To, int N, bool ADDS> struct conversion {
  using loaded = typename word<sizeof(From) * N>::type;
  using stored = typename word<sizeof(To) * N>::type;
  static constexpr bool reads_dst = ADDS;
  __device__ static stored join(stored old, loaded moved) {
    packed<From, N> from;
    packed<To, N> to;
    from.bits = moved;
    to.bits = old;
#pragma unroll
    for (int i = 0; i < N; i++) {
      const To v = rounded<To>(widened<From, N>(from.values, i));
      if constexpr (ADDS)
        to.values.item[i] += v;
      else
        to.values.item[i] = v;
    }
    return to.bits;
  }
};

template <class Conversion>
__global__ void __launch_bounds__(THREADS)
    convert(const __grid_constant__ listed rows, int64_t count, int64_t fragments, int group_log) {
  move_rows<typename Conversion::loaded, Conversion>(rows, count, fragments, group_log, unwatched());
}

/* The move as listed rows, with the sizes of the source. */
listed rows_of(const sl_convert_args *a) {
  listed rows = {};
  rows.a.count = a->count;
  rows.a.bytes = a->k * static_cast<int64_t>(sley_dtype_bytes(a->from));
  rows.a.src = a->src;
  rows.a.src_stride = a->src_stride;
  rows.a.src_rows = a->src_rows;
  rows.a.src_first = a->src_first;
  rows.a.dst = a->dst;
  rows.a.dst_stride = a->dst_stride;
  rows.a.dst_rows = a->dst_rows;
  rows.a.dst_first = a->dst_first;
  return rows;
}

template <class From, class To, int N, bool ADDS> void launch(sl_queue *queue, const sl_convert_args *a) {
  using kind = conversion<From, To, N, ADDS>;
  const listed rows = rows_of(a);
  const move_grid g = grid_of(a->count, rows.a.bytes, sizeof(typename kind::loaded), listed::AHEAD,
                              16 * static_cast<int64_t>(sl_cuda_processors(queue)));
  convert<kind><<<g.blocks, THREADS, 0, sl_cuda_stream(queue)>>>(rows, a->count, g.fragments, g.group_log);
}

/* Returns whether all rows, of source and destination, consist of aligned words of n values. */
bool are_aligned(const sl_convert_args *a, int64_t n) {
  const uint64_t from = reinterpret_cast<uintptr_t>(a->src) | static_cast<uint64_t>(a->src_stride),
                 to = reinterpret_cast<uintptr_t>(a->dst) | static_cast<uint64_t>(a->dst_stride);
  return a->k % n == 0 && from % (static_cast<uint64_t>(n) * sley_dtype_bytes(a->from)) == 0 &&
         to % (static_cast<uint64_t>(n) * sley_dtype_bytes(a->to)) == 0;
}

/* Launches with 16 bytes of the wider type per lane, or with single values. */
template <class From, class To, bool ADDS> void launch_by_width(sl_queue *queue, const sl_convert_args *a) {
  constexpr int MOST = 16 / (sizeof(From) > sizeof(To) ? sizeof(From) : sizeof(To));
  if (are_aligned(a, MOST))
    launch<From, To, MOST, ADDS>(queue, a);
  else
    launch<From, To, 1, ADDS>(queue, a);
}

template <class From> void launch_narrowing(sl_queue *queue, const sl_convert_args *a) {
  if (a->to == SLEY_F16)
    launch_by_width<From, f16, false>(queue, a);
  else
    launch_by_width<From, bf16, false>(queue, a);
}

template <class From> void launch_widening(sl_queue *queue, const sl_convert_args *a) {
  if (a->to == SLEY_F32 && a->add)
    launch_by_width<From, float, true>(queue, a);
  else if (a->to == SLEY_F32)
    launch_by_width<From, float, false>(queue, a);
  else if (a->add)
    launch_by_width<From, double, true>(queue, a);
  else
    launch_by_width<From, double, false>(queue, a);
}

} // namespace

sley_status sl_cuda_launch_convert(sl_queue *queue, const sl_convert_args *a) {
  if (!are_aligned(a, 1))
    return sl_fail(SLEY_ERR_ARG,
                   "rows to convert lie at odd addresses: values must be aligned to their size");
  SL_TRY(sl_cuda_use(queue->device));
  if (a->from == SLEY_F32)
    launch_narrowing<float>(queue, a);
  else if (a->from == SLEY_F64)
    launch_narrowing<double>(queue, a);
  else if (a->from == SLEY_F16)
    launch_widening<f16>(queue, a);
  else
    launch_widening<bf16>(queue, a);
  return sl_cuda_launched(queue, "convert");
}

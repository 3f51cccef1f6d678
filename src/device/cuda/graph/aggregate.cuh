/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels of aggregation: a run's data, the weights of entries, and extremes. */
#ifndef SLEY_DEVICE_CUDA_GRAPH_AGGREGATE_CUH
#define SLEY_DEVICE_CUDA_GRAPH_AGGREGATE_CUH

#include "device/cuda/graph/features.cuh"

namespace sley {

struct aggregate_run {
  sl_aggregate_args a;
  graph_cut cut;
  x_places x;
  int64_t panels;
};

/* Weight of entry j with column n: val factor scale, rounded after each product. */
template <class T>
__device__ __forceinline__ accumulator<T> weight_of(const sl_aggregate_args &a, int64_t j, int32_t n,
                                                    int64_t head) {
  accumulator<T> weight = 1;
  if (a.val || a.factor) {
    const int64_t e = a.pattern.of_row ? __ldg(a.pattern.of_row + n) + __ldg(a.pattern.place + j) : j;
    if (a.val)
      weight = value_at(static_cast<const T *>(a.val) + e * a.shape.heads + head);
    if (a.factor)
      weight *= value_at(static_cast<const T *>(a.factor) + e * a.shape.heads + head);
  }
  if (a.scale)
    weight *= __ldg(static_cast<const accumulator<T> *>(a.scale) + n);
  return weight;
}

/* The greatest term so far, and its entry. */
template <class A> struct extreme {
  A term;
  int32_t entry; /* -1: none */
};

/* Returns whether term b of a later entry replaces a: it is greater, or it is NaN and a is not. */
template <class A> __device__ __forceinline__ bool replaces(extreme<A> a, A b) {
  return a.entry < 0 || (a.term == a.term && !(b <= a.term));
}

/* The better of two extremes of any entries; if they are equal, the earlier entry. */
template <class A> __device__ __forceinline__ extreme<A> first_of(extreme<A> a, extreme<A> b) {
  const bool a_first = b.entry < 0 || (a.entry >= 0 && a.entry < b.entry);
  const extreme<A> early = {a_first ? a.term : b.term, a_first ? a.entry : b.entry};
  const extreme<A> late = {a_first ? b.term : a.term, a_first ? b.entry : a.entry};
  const bool later = late.entry >= 0 && replaces(early, late.term);
  return {later ? late.term : early.term, later ? late.entry : early.entry};
}

} // namespace sley

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of aggregation share: how a call runs, and the weights of entries. */
#ifndef SLEY_DEVICE_CUDA_GRAPH_AGGREGATE_CUH
#define SLEY_DEVICE_CUDA_GRAPH_AGGREGATE_CUH

#include "device/cuda/graph_values.cuh"

namespace sley {

struct aggregate_run {
  sl_aggregate_args a;
  graph_cut cut;
  x_places x;
  int64_t panels;
};

/* Of entry j, with column n: val factor scale, rounded after each product. */
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

} // namespace sley

#endif

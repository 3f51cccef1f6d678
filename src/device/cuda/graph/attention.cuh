/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by attention and its gradients: scores, and the values that a lane holds for them. */
#ifndef SLEY_DEVICE_CUDA_GRAPH_ATTENTION_CUH
#define SLEY_DEVICE_CUDA_GRAPH_ATTENTION_CUH

#include "device/cuda/graph/features.cuh"

namespace sley {

template <class A> __device__ __forceinline__ A leaky(A x, A slope) {
  return x < 0 ? slope * x : x;
}

/* Blocks per multiprocessor, as many as the registers allow. */
template <class T, int W> constexpr int attention_blocks(sl_attention kind, bool extra) {
  const bool wide = kind != SL_ATTENTION_GAT && extra;
  return wide || (kind == SL_ATTENTION_DOT && lane_part<T, W>::STRIPS > 4) ? 2 : GRAPH_BLOCKS;
}

/* A lane's values of a row of q, and of a for GATV2. */
template <class T, int W> struct own_query {
  accumulator<T> q[lane_values<T>], a[lane_values<T>];
  template <sl_attention KIND>
  __device__ __forceinline__ void load(const lane_part<T, W> &mine, const T *row, const void *weights,
                                       bool wanted) {
    mine.load(row, wanted, q);
    if (KIND == SL_ATTENTION_GATV2)
      mine.load(static_cast<const T *>(weights), wanted, a);
  }
};

/* Adds the alignment of the rows that all these operations read. cols: rows of k and v. */
inline void add_alignment(const sl_attention_args &a, int64_t cols, int64_t value_bytes,
                          graph_alignment *found) {
  found->add_width(a.shape.width, value_bytes);
  found->add(a.v, cols, value_bytes);
  if (a.kind != SL_ATTENTION_GAT)
    found->add(a.q, a.ldq, value_bytes);
  if (a.kind == SL_ATTENTION_GATV2)
    found->add(a.a, 0, value_bytes);
  if (a.kind == SL_ATTENTION_DOT)
    found->add(a.k, cols, value_bytes);
}

/* Returns whether rows of side can be moved as vectors, provided that features can. */
template <class T> bool side_fits(const sl_attention_args &a) {
  constexpr int64_t BYTES = 16, M = BYTES / static_cast<int64_t>(sizeof(accumulator<T>)); /* bytes of a
                                                                                           * word */
  return (sl_features(&a.shape) + a.shape.heads) % M == 0 && reinterpret_cast<uintptr_t>(a.side) % BYTES == 0;
}

} // namespace sley

/* The gradients of GATV2 and DOT, of rows or of columns, in attention_pair.cu. */
sley_status sl_cuda_pair_gradients(sl_queue *queue, const sl_attention_grad_args *args, bool columns);

#endif

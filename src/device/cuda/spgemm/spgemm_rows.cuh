/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels of sparse products: how a row's products are numbered and found, and how entries of C
 * are written. The products of a row are numbered in the documented order: by A's entries, then by the
 * entries of B's row. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_SPGEMM_ROWS_CUH
#define SLEY_DEVICE_CUDA_SPGEMM_SPGEMM_ROWS_CUH

#include "device/cuda/spgemm/semiring.cuh"
#include "device/cuda/spgemm/spgemm.h"

namespace sley {

enum { SPGEMM_WARP = 32 };
constexpr unsigned ALL_LANES = ~0u;

static __device__ __forceinline__ int lane_of_thread() {
  return static_cast<int>(threadIdx.x) % SPGEMM_WARP;
}

/* Returns the row of a group of WIDTH lanes from the list of `rows` rows; -1: no row. */
template <int THREADS, int WIDTH>
__device__ __forceinline__ int64_t row_of_lanes(const uint32_t *list, unsigned rows) {
  const int64_t n = (static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x) / WIDTH;
  return n < rows ? static_cast<int64_t>(list[n]) : -1;
}

/* The bits of this lane's group of WIDTH lanes in a ballot. */
template <int WIDTH> __device__ __forceinline__ unsigned of_group(unsigned ballot) {
  if (WIDTH == SPGEMM_WARP)
    return ballot;
  const int group = lane_of_thread() / WIDTH;
  return ballot >> (group * WIDTH) & ((1u << (WIDTH % SPGEMM_WARP)) - 1);
}

static __device__ __forceinline__ int64_t a_column(const sl_cuda_spgemm &p, int64_t e) {
  return p.a_index == SLEY_I32 ? static_cast<const int32_t *>(p.a_col)[e]
                               : static_cast<const int64_t *>(p.a_col)[e];
}

/* Returns the value of entry e; an arbitrary value if values are not read. */
template <class T, class RING>
__device__ __forceinline__ typename value<T>::sum value_at(const RING &ring, const void *val, int64_t e) {
  return ring.reads_values() ? value<T>::widen(static_cast<const T *>(val)[e]) : typename value<T>::sum(1);
}

static __device__ __forceinline__ void put_column(const sl_cuda_spgemm &p, int64_t at, int32_t col) {
  if (p.c_index == SLEY_I32)
    static_cast<int32_t *>(p.c_col)[at] = col;
  else
    static_cast<int64_t *>(p.c_col)[at] = p.names ? p.names[col] : col;
}

template <class T>
__device__ __forceinline__ void put_value(const sl_cuda_spgemm &p, int64_t at, typename value<T>::sum v) {
  static_cast<T *>(p.c_val)[at] = value<T>::narrow(v);
}

/* Entries of a row of A, one in each of WIDTH lanes, and their products. until: number of products up to and
 * including this lane's entry. Product n of the entry uses entry start + n of B. */
template <class S> struct entry_group {
  int until;
  int64_t start;
  S a;
};

/* Inclusive prefix sum over the lanes. */
template <int WIDTH> __device__ __forceinline__ int sum_until(int v) {
  const int lane = lane_of_thread() % WIDTH;
#pragma unroll
  for (int d = 1; d < WIDTH; d *= 2) {
    const int other = __shfl_up_sync(ALL_LANES, v, d, WIDTH);
    v += lane >= d ? other : 0;
  }
  return v;
}

/* Loads the row's entries from e on, before end; A's values only if VALUES. Called by all lanes of a warp. */
template <class T, int WIDTH, bool VALUES, class RING>
__device__ __forceinline__ entry_group<typename value<T>::sum>
take_entries(const sl_cuda_spgemm &p, const RING &ring, int64_t e, int64_t end) {
  entry_group<typename value<T>::sum> g = {0, 0, 0};
  int length = 0;
  if (e < end) {
    const int64_t k = a_column(p, e);
    g.start = p.b_rowptr[k];
    length = static_cast<int>(p.b_rowptr[k + 1] - g.start);
    if (VALUES)
      g.a = value_at<T>(ring, p.a_val, e);
  }
  g.until = sum_until<WIDTH>(length);
  g.start -= g.until - length;
  return g;
}

/* Returns the lane to whose entry product n belongs: the number of lanes whose products end at or before n.
 * Returns an arbitrary lane if n is not a product of the group. Called by all lanes of a warp. */
template <int WIDTH> __device__ __forceinline__ int entry_of(int until, int n) {
  int lane = 0;
#pragma unroll
  for (int step = WIDTH / 2; step > 0; step /= 2) {
    const int there = __shfl_sync(ALL_LANES, until, lane + step - 1, WIDTH);
    lane += there <= n ? step : 0;
  }
  return lane;
}

/* A product of the group, one per lane; a lane may need no product. */
template <class S> struct drawn_product {
  bool there;
  int32_t col;
  S val;
};

template <class T, int WIDTH, bool VALUES, class RING>
__device__ __forceinline__ drawn_product<typename value<T>::sum>
draw_product(const sl_cuda_spgemm &p, const RING &ring, const entry_group<typename value<T>::sum> &g, int n,
             bool wanted) {
  using S = typename value<T>::sum;
  const int from = entry_of<WIDTH>(g.until, n);
  const int64_t at = __shfl_sync(ALL_LANES, g.start, from, WIDTH) + n;
  const S a = VALUES ? __shfl_sync(ALL_LANES, g.a, from, WIDTH) : S(0);
  drawn_product<S> d = {wanted, -1, 0};
  if (wanted) {
    d.col = p.b_col[at];
    if (VALUES)
      d.val = ring.product(a, value_at<T>(ring, p.b_val, at));
  }
  return d;
}

/* Returns the first of the ascending entries [begin, end), of B or of the mask, whose column is at least col.
 */
static __device__ __forceinline__ int64_t first_from(const int32_t *cols, int64_t begin, int64_t end,
                                                     int64_t col) {
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (cols[middle] < col)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

} // namespace sley

#endif

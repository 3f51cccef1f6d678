/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of no more than WIDTH products: as many lanes hold one each, in order, and look at all others. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_SHORT_CUH
#define SLEY_DEVICE_CUDA_SPGEMM_SHORT_CUH

#include "device/cuda/spgemm_rows.cuh"

namespace sley {

enum { SHORT_THREADS = 256 };

/* The row of a group of WIDTH lanes, of `rows` in the list; -1: the group has none. */
template <int WIDTH> __device__ __forceinline__ int64_t row_of_lanes(const uint32_t *list, unsigned rows) {
  const int64_t n = (static_cast<int64_t>(blockIdx.x) * SHORT_THREADS + threadIdx.x) / WIDTH;
  return n < rows ? static_cast<int64_t>(list[n]) : -1;
}

/* Product number `lane` of the row, if there is one. All lanes of a warp. */
template <class T, int WIDTH, bool VALUES, class RING>
__device__ __forceinline__ drawn_product<typename value<T>::sum>
short_row_product(const sl_cuda_spgemm &p, const RING &ring, int64_t row) {
  const int lane = lane_of_thread() % WIDTH;
  const int64_t end = row >= 0 ? p.a_rowptr[row + 1] : 0;
  drawn_product<typename value<T>::sum> mine = {false, -1, 0};
  int passed = 0; /* products of the entries before */
  for (int64_t e = row >= 0 ? p.a_rowptr[row] : 0; __any_sync(ALL_LANES, e < end); e += WIDTH) {
    const auto g = take_entries<T, WIDTH, VALUES>(p, ring, e + lane, end);
    const int total = __shfl_sync(ALL_LANES, g.until, WIDTH - 1, WIDTH), n = lane - passed;
    const auto d = draw_product<T, WIDTH, VALUES>(p, ring, g, n, n >= 0 && n < total);
    if (d.there)
      mine = d;
    passed += total;
  }
  return mine;
}

/* Whether no lane before holds the same column; *sum: of all products of that column. */
template <int WIDTH, bool VALUES, class S, class RING>
__device__ __forceinline__ bool is_first(const RING &ring, const drawn_product<S> &mine, S *sum) {
  const int lane = lane_of_thread() % WIDTH;
  bool first = mine.there;
  S so_far = ring.first();
#pragma unroll
  for (int j = 0; j < WIDTH; j++) {
    const int32_t col = __shfl_sync(ALL_LANES, mine.col, j, WIDTH);
    const S val = VALUES ? __shfl_sync(ALL_LANES, mine.val, j, WIDTH) : S(0);
    const bool same = mine.there && col == mine.col; /* lanes without a product have column -1 */
    first &= !(same && j < lane);
    if (VALUES && same)
      so_far = ring.add(so_far, val);
  }
  *sum = so_far;
  return first;
}

/* The lanes of this lane's group in a ballot. */
template <int WIDTH> __device__ __forceinline__ unsigned of_group(unsigned ballot) {
  if (WIDTH == SPGEMM_WARP)
    return ballot;
  const int group = lane_of_thread() / WIDTH;
  return ballot >> (group * WIDTH) & ((1u << (WIDTH % SPGEMM_WARP)) - 1);
}

template <int WIDTH>
__global__ void __launch_bounds__(SHORT_THREADS)
    count_short_rows(const sl_cuda_spgemm p, const uint32_t *list, unsigned rows) {
  const semiring<float, false> ring = {SLEY_PLUS_PAIR};
  const int64_t row = row_of_lanes<WIDTH>(list, rows);
  const auto mine = short_row_product<float, WIDTH, false>(p, ring, row);
  float unused;
  const bool first = is_first<WIDTH, false>(ring, mine, &unused);
  const unsigned firsts = of_group<WIDTH>(__ballot_sync(ALL_LANES, first));
  if (row >= 0 && lane_of_thread() % WIDTH == 0)
    p.c_rowptr[row + 1] = __popc(firsts);
}

template <class T, int WIDTH, bool TIMES>
__global__ void __launch_bounds__(SHORT_THREADS)
    make_short_rows(const sl_cuda_spgemm p, const uint32_t *list, unsigned rows) {
  using S = typename value<T>::sum;
  const semiring<S, TIMES> ring = {p.semiring};
  const int64_t row = row_of_lanes<WIDTH>(list, rows);
  const auto mine = short_row_product<T, WIDTH, true>(p, ring, row);
  S sum;
  const bool first = is_first<WIDTH, true>(ring, mine, &sum);
  const unsigned firsts = of_group<WIDTH>(__ballot_sync(ALL_LANES, first));
  int place = 0; /* how many columns are smaller */
#pragma unroll
  for (int j = 0; j < WIDTH; j++)
    place += __shfl_sync(ALL_LANES, mine.col, j, WIDTH) < mine.col && (firsts >> j & 1);
  if (!first)
    return;
  const int64_t at = p.c_rowptr[row] + place;
  put_column(p, at, mine.col);
  put_value<T>(p, at, sum);
}

} // namespace sley

#endif

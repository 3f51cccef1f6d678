/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of at most WIDTH products: as many lanes hold one product each, and sort them by column, then by
 * number. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_SHORT_CUH
#define SLEY_DEVICE_CUDA_SPGEMM_SHORT_CUH

#include "device/cuda/spgemm/spgemm_rows.cuh"
#include "device/cuda/spgemm/spgemm_sort.cuh"

namespace sley {

enum { SHORT_THREADS = 256 };

/* Loads product number `lane` of the row, if it exists. Called by all lanes of a warp. */
template <class T, int WIDTH, bool VALUES, class RING>
__device__ __forceinline__ drawn_product<typename value<T>::sum>
short_row_product(const sl_cuda_spgemm &p, const RING &ring, int64_t row) {
  const int lane = lane_of_thread() % WIDTH;
  const int64_t end = row >= 0 ? p.a_rowptr[row + 1] : 0;
  drawn_product<typename value<T>::sum> mine = {false, -1, 0};
  int passed = 0; /* number of products of earlier entries */
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

/* A product's column, and the lane that holds the product. */
struct sorted_product {
  bool there;
  int32_t col;
  int from;
};

/* Sorts a key for each lane. K has enough bits for a column and a lane, and for a greatest key, which lanes
   without a product have. */
template <int WIDTH, class K> __device__ __forceinline__ sorted_product sort_as(bool there, int32_t col) {
  K key[1] = {there ? static_cast<K>(col) * SPGEMM_WARP + lane_of_thread() % WIDTH : ~static_cast<K>(0)};
  sort_keys<WIDTH>(key);
  return {key[0] != ~static_cast<K>(0), static_cast<int32_t>(key[0] / SPGEMM_WARP),
          static_cast<int>(key[0] % SPGEMM_WARP)};
}

/* Called by all lanes of a warp. */
template <int WIDTH>
__device__ __forceinline__ sorted_product sort_products(const sl_cuda_spgemm &p, bool there, int32_t col) {
  return p.cols <= UINT32_MAX / SPGEMM_WARP ? sort_as<WIDTH, unsigned>(there, col)
                                            : sort_as<WIDTH, unsigned long long>(there, col);
}

/* Returns whether the lane's product is the first of its column. Called by all lanes of a warp. */
template <int WIDTH> __device__ __forceinline__ bool is_first(const sorted_product &mine) {
  const int32_t before = __shfl_up_sync(ALL_LANES, mine.col, 1, WIDTH);
  return mine.there && (lane_of_thread() % WIDTH == 0 || before != mine.col);
}

/* Number of products in the lane's column, if the lane's is the first of them. firsts, theres: lanes of the
 * group that are first, and that have a product. */
__device__ __forceinline__ int run_from(int lane, unsigned firsts, unsigned theres) {
  const unsigned after = firsts >> lane >> 1;
  return after != 0 ? __ffs(static_cast<int>(after)) : __popc(theres) - lane;
}

template <int WIDTH>
__global__ void __launch_bounds__(SHORT_THREADS)
    count_short_rows(const sl_cuda_spgemm p, const uint32_t *list, unsigned rows) {
  const semiring<float, false> ring = {SLEY_PLUS_PAIR};
  const int64_t row = row_of_lanes<SHORT_THREADS, WIDTH>(list, rows);
  const auto drawn = short_row_product<float, WIDTH, false>(p, ring, row);
  const sorted_product mine = sort_products<WIDTH>(p, drawn.there, drawn.col);
  const unsigned firsts = of_group<WIDTH>(__ballot_sync(ALL_LANES, is_first<WIDTH>(mine)));
  if (row >= 0 && lane_of_thread() % WIDTH == 0)
    p.c_rowptr[row + 1] = __popc(firsts);
}

template <class T, int WIDTH, bool TIMES>
__global__ void __launch_bounds__(SHORT_THREADS)
    make_short_rows(const sl_cuda_spgemm p, const uint32_t *list, unsigned rows) {
  using S = typename value<T>::sum;
  const semiring<S, TIMES> ring = {p.semiring};
  const int lane = lane_of_thread() % WIDTH;
  const int64_t row = row_of_lanes<SHORT_THREADS, WIDTH>(list, rows);
  const auto drawn = short_row_product<T, WIDTH, true>(p, ring, row);
  const sorted_product mine = sort_products<WIDTH>(p, drawn.there, drawn.col);
  const S val = __shfl_sync(ALL_LANES, drawn.val, mine.from, WIDTH);
  const bool first = is_first<WIDTH>(mine);
  const unsigned firsts = of_group<WIDTH>(__ballot_sync(ALL_LANES, first)),
                 theres = of_group<WIDTH>(__ballot_sync(ALL_LANES, mine.there));
  const int run = first ? run_from(lane, firsts, theres) : 0, longest = __reduce_max_sync(ALL_LANES, run);
  S sum = ring.add(ring.first(), val);
  for (int j = 1; j < longest; j++) {
    const S next = __shfl_down_sync(ALL_LANES, val, j, WIDTH);
    if (j < run)
      sum = ring.add(sum, next);
  }
  if (!first)
    return;
  const int64_t at = p.c_rowptr[row] + __popc(firsts & ((1u << lane) - 1));
  put_column(p, at, mine.col);
  put_value<T>(p, at, sum);
}

} // namespace sley

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The number of products of each row, the span of their columns, and the row's bin. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_BINS_CUH
#define SLEY_DEVICE_CUDA_SPGEMM_BINS_CUH

#include "device/cuda/spgemm/spgemm_rows.cuh"

namespace sley {

enum {
  BIN_THREADS = 256,
  COUNT_LANES = 8, /* lanes that count the products of a row */
  COUNT_ROWS = BIN_THREADS / COUNT_LANES,
  COUNT_LONG = 256,    /* number of entries of A from which on the whole block counts */
  WARP_MOST = 1 << 15, /* maximum number of products, and of entries of A, of a row that a warp computes */
  SPAN_SHARE = 4       /* most columns of a span per product, because all columns are visited */
};

static __device__ __forceinline__ unsigned saturated(unsigned long long products) {
  return products < UINT32_MAX ? static_cast<unsigned>(products) : UINT32_MAX;
}

/* Number of products of the row's entries e, e + step, ... */
static __device__ __forceinline__ unsigned long long count_from(const sl_cuda_spgemm &p, int64_t e,
                                                                int64_t end, int step) {
  unsigned long long products = 0;
  for (; e < end; e += step) {
    const int64_t k = a_column(p, e);
    products += static_cast<unsigned long long>(p.b_rowptr[k + 1] - p.b_rowptr[k]);
  }
  return products;
}

/* Replaces low by its minimum and high by its maximum over COUNT_LANES lanes. */
static __device__ __forceinline__ void widen_over_lanes(int32_t *low, int32_t *high) {
#pragma unroll
  for (int d = COUNT_LANES / 2; d > 0; d /= 2) {
    *low = min(*low, __shfl_xor_sync(ALL_LANES, *low, d));
    *high = max(*high, __shfl_xor_sync(ALL_LANES, *high, d));
  }
}

/* Finds the row's first column and span, by COUNT_LANES lanes; all groups of a warp call it together. wanted:
 * whether the row needs them. First only the starts of the rows of B are examined; if they are too far apart,
 * the row has no span. e: the lane's first entry of the row. */
static __device__ __forceinline__ void find_span(const sl_cuda_spgemm &p, int64_t row, int64_t e, int64_t end,
                                                 bool wanted) {
  constexpr int32_t most = SL_SPGEMM_SPAN_LANE * (SL_SPGEMM_WIDTH_LEAST << (SL_SPGEMM_WIDTHS - 1));
  int32_t low = INT32_MAX, high = -1;
  for (int64_t i = e; wanted && i < end; i += COUNT_LANES) {
    const int64_t k = a_column(p, i), begin = p.b_rowptr[k];
    if (begin < p.b_rowptr[k + 1]) {
      const int32_t first = p.b_col[begin];
      low = min(low, first);
      high = max(high, first);
    }
  }
  widen_over_lanes(&low, &high);
  wanted &= high - low < most;
  for (int64_t i = e; wanted && i < end; i += COUNT_LANES) {
    const int64_t k = a_column(p, i), until = p.b_rowptr[k + 1];
    if (p.b_rowptr[k] < until)
      high = max(high, p.b_col[until - 1]);
  }
  widen_over_lanes(&low, &high);
  if (lane_of_thread() % COUNT_LANES != 0 || row >= p.rows)
    return;
  p.span[row] = wanted ? static_cast<uint32_t>(high - low) + 1 : UINT32_MAX;
  if (wanted)
    p.first[row] = low;
}

/* Adds to state->repeats the entries of B with the same column as the previous one, except first entries of
 * rows. */
static __global__ void __launch_bounds__(BIN_THREADS) count_repeats(const sl_cuda_spgemm p) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * BIN_THREADS;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * BIN_THREADS + threadIdx.x;
  const int64_t begin = p.b_rowptr[0], end = p.b_rowptr[p.b_rows];
  int found = 0;
  for (int64_t e = begin + 1 + thread; e < end; e += step)
    found += p.b_col[e] == p.b_col[e - 1];
  for (int64_t row = thread; row < p.b_rows; row += step) {
    const int64_t e = p.b_rowptr[row];
    if (e > begin && e < p.b_rowptr[row + 1])
      found -= p.b_col[e] == p.b_col[e - 1];
  }
  found = __reduce_add_sync(ALL_LANES, found);
  if (found != 0 && lane_of_thread() == 0) /* negative sums wrap around, and the total wraps back */
    atomicAdd(&p.state->repeats, static_cast<unsigned long long>(static_cast<long long>(found)));
}

/* Sets bound, first, span and state->products. */
static __global__ void __launch_bounds__(BIN_THREADS) count_products(const sl_cuda_spgemm p) {
  __shared__ unsigned long long all, of_long;
  __shared__ unsigned longs, long_row[COUNT_ROWS];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % COUNT_LANES, group = thread / COUNT_LANES;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * COUNT_ROWS + group;
  if (thread == 0) {
    all = 0;
    longs = 0;
  }
  __syncthreads();
  const int64_t begin = row < p.rows ? p.a_rowptr[row] : 0, end = row < p.rows ? p.a_rowptr[row + 1] : 0;
  const bool is_long = end - begin >= COUNT_LONG;
  unsigned long long products = is_long ? 0 : count_from(p, begin + lane, end, COUNT_LANES);
#pragma unroll
  for (int d = COUNT_LANES / 2; d > 0; d /= 2)
    products += __shfl_down_sync(ALL_LANES, products, d, COUNT_LANES);
  const unsigned long long of_row = __shfl_sync(ALL_LANES, products, 0, COUNT_LANES);
  find_span(p, row, begin + lane, end, !p.mask_rowptr && of_row > SL_SPGEMM_SHORT_MOST);
  if (lane == 0 && is_long)
    long_row[atomicAdd(&longs, 1u)] = static_cast<unsigned>(group);
  else if (lane == 0 && row < p.rows) {
    p.bound[row] = saturated(products);
    atomicAdd(&all, products);
  }
  __syncthreads();
  for (unsigned l = 0; l < longs; l++) {
    const int64_t of = static_cast<int64_t>(blockIdx.x) * COUNT_ROWS + long_row[l];
    if (thread == 0)
      of_long = 0;
    __syncthreads();
    atomicAdd(&of_long, count_from(p, p.a_rowptr[of] + thread, p.a_rowptr[of + 1], BIN_THREADS));
    __syncthreads();
    if (thread == 0) {
      p.bound[of] = saturated(of_long);
      atomicAdd(&all, of_long);
    }
  }
  __syncthreads();
  if (thread == 0 && all > 0)
    atomicAdd(&p.state->products, all);
}

/* Maximum number of slots of a table of columns. Above it a bitmap is faster; the fewer columns the bitmap
 * covers, the lower this maximum is. */
static __device__ __forceinline__ int64_t most_slots(const sl_cuda_spgemm &p) {
  constexpr int64_t largest = SL_SPGEMM_TABLE_LEAST << (SL_SPGEMM_TABLES - 1);
  if (p.accumulator == SL_ACCUMULATOR_HASH || p.cols > (1 << 22))
    return largest;
  return p.cols <= (1 << 20) ? largest / 4 : largest / 2;
}

/* Returns whether the row is too large for a warp, which numbers the products of 32 entries of A with int. */
static __device__ __forceinline__ bool wants_block(const sl_cuda_spgemm &p, int64_t row, int64_t products) {
  if (p.accumulator == SL_ACCUMULATOR_AUTO)
    return products > WARP_MOST || p.a_rowptr[row + 1] - p.a_rowptr[row] > WARP_MOST;
  return p.accumulator == SL_ACCUMULATOR_DENSE || products > INT32_MAX / 2;
}

/* Smallest width with at least `count` items, `each` per lane. */
static __device__ __forceinline__ int width_for(int64_t count, int64_t each) {
  int width = 0;
  for (int64_t most = SL_SPGEMM_WIDTH_LEAST * each; width < SL_SPGEMM_WIDTHS && count > most; most *= 2)
    width++;
  return width;
}

/* The bin of a row of products that a warp can compute and that has no mask; -1: only a hash bin. */
static __device__ __forceinline__ int narrow_bin_of(const sl_cuda_spgemm &p, int64_t row, int64_t products) {
  if (products <= SL_SPGEMM_SHORT_MOST)
    return SL_SPGEMM_SHORT + width_for(products, 1);
  const int64_t span = p.span[row], entries = p.a_rowptr[row + 1] - p.a_rowptr[row];
  const int width = width_for(span, SL_SPGEMM_SPAN_LANE);
  if (width == SL_SPGEMM_WIDTHS || span > SPAN_SHARE * products || p.state->repeats > 0)
    return -1;
  const int for_b = min(width_for((products + entries - 1) / entries, 1), SL_SPGEMM_WIDTHS - 1);
  return SL_SPGEMM_SPAN + max(width, for_b);
}

/* entries: number of entries of the row of C; -1: not known yet. */
static __device__ __forceinline__ int bin_of(const sl_cuda_spgemm &p, int64_t row, int64_t entries) {
  const int64_t products = p.bound[row];
  int64_t columns = entries >= 0 ? entries : products < p.cols ? products : p.cols;
  if (products == 0 || columns == 0)
    return SL_SPGEMM_EMPTY;
  if (p.mask_rowptr)
    columns = p.mask_rowptr[row + 1] - p.mask_rowptr[row];
  if (columns == 0)
    return SL_SPGEMM_EMPTY;
  const bool by_warp = !wants_block(p, row, products);
  if (by_warp && !p.mask_rowptr && p.accumulator == SL_ACCUMULATOR_AUTO) {
    const int bin = narrow_bin_of(p, row, products);
    if (bin >= 0)
      return bin;
  }
  if (by_warp) {
    int bin = SL_SPGEMM_HASH;
    int64_t slots = SL_SPGEMM_TABLE_LEAST;
    for (const int64_t most = most_slots(p); slots <= most; slots *= 2, bin++)
      if (columns <= sl_spgemm_table_most(slots))
        return bin;
  }
  int bin = SL_SPGEMM_DENSE;
  for (int64_t window = SL_SPGEMM_WINDOW_LEAST; bin < SL_SPGEMM_BINS - 1 && entries > window; window *= 4)
    bin++;
  return bin;
}

/* counted: c_rowptr has row pointers, by which rows are binned for the second pass. */
static __device__ __forceinline__ int bin_at(const sl_cuda_spgemm &p, int64_t row, bool counted) {
  return bin_of(p, row, counted ? p.c_rowptr[row + 1] - p.c_rowptr[row] : -1);
}

/* Sets state->rows, longest and widest; after counting, also entries. */
static __global__ void __launch_bounds__(BIN_THREADS) tally_bins(const sl_cuda_spgemm p, bool counted) {
  __shared__ unsigned rows[SL_SPGEMM_BINS], widest[SL_SPGEMM_WIDTHS];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < SL_SPGEMM_BINS)
    rows[thread] = 0;
  if (thread < SL_SPGEMM_WIDTHS)
    widest[thread] = 0;
  __syncthreads();
  const int64_t row = static_cast<int64_t>(blockIdx.x) * BIN_THREADS + thread;
  if (row < p.rows) {
    const int bin = bin_at(p, row, counted);
    atomicAdd(rows + bin, 1u);
    if (bin >= SL_SPGEMM_SPAN && bin < SL_SPGEMM_HASH)
      atomicMax(widest + bin - SL_SPGEMM_SPAN, p.span[row]);
    if (counted && bin == SL_SPGEMM_BINS - 1)
      atomicMax(&p.state->longest, static_cast<unsigned>(p.c_rowptr[row + 1] - p.c_rowptr[row]));
    if (counted && row == p.rows - 1)
      p.state->entries = static_cast<unsigned long long>(p.c_rowptr[p.rows]);
  }
  __syncthreads();
  if (thread < SL_SPGEMM_BINS && rows[thread] > 0)
    atomicAdd(p.state->rows + thread, rows[thread]);
  if (thread < SL_SPGEMM_WIDTHS && widest[thread] > 0)
    atomicMax(p.state->widest + thread, widest[thread]);
}

/* Lists the rows, bin after bin, with the sizes in state->rows. */
static __global__ void __launch_bounds__(BIN_THREADS) list_rows(const sl_cuda_spgemm p, bool counted) {
  __shared__ unsigned rows[SL_SPGEMM_BINS], begin[SL_SPGEMM_BINS];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < SL_SPGEMM_BINS)
    rows[thread] = 0;
  __syncthreads();
  const int64_t row = static_cast<int64_t>(blockIdx.x) * BIN_THREADS + thread;
  const int bin = row < p.rows ? bin_at(p, row, counted) : SL_SPGEMM_EMPTY;
  const unsigned place = bin != SL_SPGEMM_EMPTY ? atomicAdd(rows + bin, 1u) : 0;
  __syncthreads();
  if (thread < SL_SPGEMM_BINS && rows[thread] > 0) {
    unsigned at = atomicAdd(p.state->placed + thread, rows[thread]);
    for (int b = SL_SPGEMM_EMPTY + 1; b < thread; b++)
      at += p.state->rows[b];
    begin[thread] = at;
  }
  __syncthreads();
  if (bin != SL_SPGEMM_EMPTY)
    p.list[begin[bin] + place] = static_cast<uint32_t>(row);
}

} // namespace sley

#endif

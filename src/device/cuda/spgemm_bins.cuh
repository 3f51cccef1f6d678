/* SPDX-License-Identifier: Apache-2.0 */
/* How many products rows have, and which bin each is for. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_BINS_CUH
#define SLEY_DEVICE_CUDA_SPGEMM_BINS_CUH

#include "device/cuda/spgemm_rows.cuh"

namespace sley {

enum {
  BIN_THREADS = 256,
  COUNT_LANES = 8, /* that count the products of a row */
  COUNT_ROWS = BIN_THREADS / COUNT_LANES,
  COUNT_LONG = 1024,  /* entries of A from which on the whole block counts */
  WARP_MOST = 1 << 15 /* products, or entries of A, of a row that a warp makes */
};

static __device__ __forceinline__ unsigned saturated(unsigned long long products) {
  return products < UINT32_MAX ? static_cast<unsigned>(products) : UINT32_MAX;
}

/* Products that the row's entries begin, every step-th from e on. */
static __device__ __forceinline__ unsigned long long count_from(const sl_cuda_spgemm &p, int64_t e,
                                                                int64_t end, int step) {
  unsigned long long products = 0;
  for (; e < end; e += step) {
    const int64_t k = a_column(p, e);
    products += static_cast<unsigned long long>(p.b_rowptr[k + 1] - p.b_rowptr[k]);
  }
  return products;
}

/* bound and state->products. */
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

/* The most slots that a table of columns may have: beyond, a bitmap is faster, the sooner the fewer columns
 * it covers. */
static __device__ __forceinline__ int64_t most_slots(const sl_cuda_spgemm &p) {
  constexpr int64_t largest = SL_SPGEMM_TABLE_LEAST << (SL_SPGEMM_TABLES - 1);
  if (p.accumulator == SL_ACCUMULATOR_HASH || p.cols > (1 << 22))
    return largest;
  return p.cols <= (1 << 17) ? largest / 8 : p.cols <= (1 << 20) ? largest / 4 : largest / 2;
}

/* Whether the row is too much for a warp, which numbers the products of 32 entries of A by int. */
static __device__ __forceinline__ bool wants_block(const sl_cuda_spgemm &p, int64_t row, int64_t products) {
  if (p.accumulator == SL_ACCUMULATOR_AUTO)
    return products > WARP_MOST || p.a_rowptr[row + 1] - p.a_rowptr[row] > WARP_MOST;
  return p.accumulator == SL_ACCUMULATOR_DENSE || products > INT32_MAX / 2;
}

/* entries: of the row of C; -1: not known yet. */
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
  if (by_warp && !p.mask_rowptr && p.accumulator == SL_ACCUMULATOR_AUTO && products <= SL_SPGEMM_SOME_MOST)
    return products <= SL_SPGEMM_FEW_MOST ? SL_SPGEMM_FEW : SL_SPGEMM_SOME;
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

/* counted: c_rowptr has row pointers, by which rows of the second pass are binned. */
static __device__ __forceinline__ int bin_at(const sl_cuda_spgemm &p, int64_t row, bool counted) {
  return bin_of(p, row, counted ? p.c_rowptr[row + 1] - p.c_rowptr[row] : -1);
}

/* state->rows and longest; once C's entries are counted also entries. */
static __global__ void __launch_bounds__(BIN_THREADS) tally_bins(const sl_cuda_spgemm p, bool counted) {
  __shared__ unsigned rows[SL_SPGEMM_BINS];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < SL_SPGEMM_BINS)
    rows[thread] = 0;
  __syncthreads();
  const int64_t row = static_cast<int64_t>(blockIdx.x) * BIN_THREADS + thread;
  if (row < p.rows) {
    const int bin = bin_at(p, row, counted);
    atomicAdd(rows + bin, 1u);
    if (counted && bin == SL_SPGEMM_BINS - 1)
      atomicMax(&p.state->longest, static_cast<unsigned>(p.c_rowptr[row + 1] - p.c_rowptr[row]));
    if (counted && row == p.rows - 1)
      p.state->entries = static_cast<unsigned long long>(p.c_rowptr[p.rows]);
  }
  __syncthreads();
  if (thread < SL_SPGEMM_BINS && rows[thread] > 0)
    atomicAdd(p.state->rows + thread, rows[thread]);
}

/* The lists, bin after bin as state->rows says. */
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

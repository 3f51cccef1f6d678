/* SPDX-License-Identifier: Apache-2.0 */
/* Inspects and cuts a row block on the GPU (op_inspect.h). Columns are found with one thread per entry. The
 * other kernels give each row to a warp, whose lanes take its entries in turn, so that loads coalesce. */
#include "device/cuda/cuda.h"

namespace {

enum { WARP = 32, THREADS = 256, WARPS = THREADS / WARP, OWNERS_SHARED = 1024 };

__device__ __forceinline__ bool is_remote(const sl_block_arrays &b, int64_t col) {
  return static_cast<uint64_t>(col - b.first) >= static_cast<uint64_t>(b.count);
}

__device__ __forceinline__ int64_t number_of(const sl_colset_word *words, int64_t col) {
  const ulonglong2 word = __ldg(reinterpret_cast<const ulonglong2 *>(words) + col / 64);
  return static_cast<int64_t>(word.y) + __popcll(word.x & ((1ull << (col % 64)) - 1));
}

__device__ __forceinline__ int owner_of(const sl_columns_args &a, int64_t col) {
  int low = 0, high = a.ranks - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (col < a.owner_begin[middle + 1])
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Tests bits before it sets them, because most are set already; a stale read only costs setting the same bit
 * again. A block counts entries per owner in shared memory if the owners fit. */
__global__ void __launch_bounds__(THREADS) columns(const sl_columns_args a) {
  __shared__ unsigned long long counts[OWNERS_SHARED];
  const bool shared = a.ranks <= OWNERS_SHARED;
  for (int p = threadIdx.x; p < a.ranks && shared; p += THREADS)
    counts[p] = 0;
  __syncthreads();
  const int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
  int owner = -1;
  int64_t begin = 0, end = 0;
  unsigned long long run = 0; /* number of entries of the owner that are not counted yet */
  for (int64_t e = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x; e < a.block.entries; e += step) {
    const int64_t col = a.block.col[e];
    if (col < begin || col >= end) {
      if (run > 0)
        atomicAdd(shared ? &counts[owner] : reinterpret_cast<unsigned long long *>(&a.owner_nnz[owner]), run);
      owner = owner_of(a, col);
      begin = a.owner_begin[owner];
      end = a.owner_begin[owner + 1];
      run = 0;
    }
    run++;
    if (is_remote(a.block, col)) {
      unsigned long long *word = reinterpret_cast<unsigned long long *>(a.bits) + col / 64;
      const unsigned long long bit = 1ull << (col % 64);
      if (!(*word & bit))
        atomicOr(word, bit);
    }
  }
  if (run > 0)
    atomicAdd(shared ? &counts[owner] : reinterpret_cast<unsigned long long *>(&a.owner_nnz[owner]), run);
  __syncthreads();
  for (int p = threadIdx.x; p < a.ranks && shared; p += THREADS)
    if (counts[p] > 0)
      atomicAdd(reinterpret_cast<unsigned long long *>(&a.owner_nnz[p]), counts[p]);
}

/* The row of a warp and its entries, in a grid with one warp per row. */
struct row_of_warp {
  int64_t row, begin, end;
  __device__ explicit row_of_warp(const sl_block_arrays &b)
      : row(static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / WARP), begin(0), end(0) {
    if (row < b.rows) {
      begin = b.rowptr[row] - b.rowptr[0];
      end = b.rowptr[row + 1] - b.rowptr[0];
    }
  }
};

__global__ void __launch_bounds__(THREADS) needs(const sl_needs_args a) {
  const row_of_warp r(a.block);
  const int lane = threadIdx.x % WARP;
  if (r.row >= a.block.rows)
    return;
  int low = 0, high = a.pieces - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (a.piece_row[middle] <= r.row)
      low = middle;
    else
      high = middle - 1;
  }
  bool any = false;
  for (int64_t e = r.begin + lane; e < r.end; e += WARP) {
    const int64_t col = a.block.col[e];
    if (!is_remote(a.block, col))
      continue;
    any = true;
    int32_t *piece = &a.piece[number_of(a.words, col)];
    if (*piece > low)
      atomicMin(piece, low);
  }
  any = __any_sync(~0u, any);
  if (lane == 0)
    a.needs[r.row] = any;
}

__device__ __forceinline__ int locate(const sl_block_arrays &b, const sl_cut_map &map, int64_t col,
                                      int64_t &place) {
  if (!is_remote(b, col)) {
    place = map.local_place + col - b.first;
    return map.local;
  }
  const int64_t h = number_of(map.words, col);
  place = map.far_place + (map.place ? map.place[h] : h);
  return map.part ? map.part[h] : map.remote;
}

/* Lane p counts the entries of part p. */
__global__ void __launch_bounds__(THREADS) tally(const sl_tally_args a) {
  const row_of_warp r(a.block);
  const int lane = threadIdx.x % WARP;
  if (r.row >= a.block.rows)
    return;
  int32_t mine = 0;
  for (int64_t base = r.begin; base < r.end; base += WARP) {
    int part = -1;
    int64_t place;
    if (base + lane < r.end)
      part = locate(a.block, a.map, a.block.col[base + lane], place);
    for (int p = 0; p < a.parts; p++) {
      const int count = __popc(__ballot_sync(~0u, part == p));
      mine += lane == p ? count : 0;
    }
  }
  if (lane < a.parts)
    a.tally[lane * a.block.rows + r.row] = mine;
}

template <class V>
__device__ __forceinline__ void store(const sl_cut_args &a, int part, int64_t at, int64_t place, int64_t e) {
  a.col[part][at] = static_cast<int32_t>(place);
  static_cast<V *>(a.val[part])[at] = static_cast<const V *>(a.block.val)[e];
}

/* Copies whole rows, each to one part. */
template <class V> __global__ void __launch_bounds__(THREADS) cut_rows(const sl_cut_args a) {
  const row_of_warp r(a.block);
  if (r.row >= a.block.rows)
    return;
  const int part = a.map.row_part[r.row];
  const int64_t first = a.at[r.row] - r.begin;
  for (int64_t e = r.begin + threadIdx.x % WARP; e < r.end; e += WARP) {
    int64_t place;
    locate(a.block, a.map, a.block.col[e], place);
    store<V>(a, part, first + e, place, e);
  }
}

/* Copies the entries of a row to their parts, in order. Lane p holds the index of part p's next entry. */
template <class V> __global__ void __launch_bounds__(THREADS) cut_entries(const sl_cut_args a) {
  const row_of_warp r(a.block);
  const int lane = threadIdx.x % WARP;
  if (r.row >= a.block.rows)
    return;
  int64_t next = lane < a.parts ? a.at[lane * a.block.rows + r.row] : 0;
  for (int64_t base = r.begin; base < r.end; base += WARP) {
    const int64_t e = base + lane;
    int part = -1;
    int64_t place = 0;
    if (e < r.end)
      part = locate(a.block, a.map, a.block.col[e], place);
    for (int p = 0; p < a.parts; p++) {
      const unsigned members = __ballot_sync(~0u, part == p);
      const int64_t at = __shfl_sync(~0u, next, p);
      if (part == p)
        store<V>(a, p, at + __popc(members & ((1u << lane) - 1)), place, e);
      next += lane == p ? __popc(members) : 0;
    }
  }
}

unsigned blocks_for(int64_t rows) {
  return static_cast<unsigned>((rows + WARPS - 1) / WARPS);
}

sley_status check_rows(int64_t rows) {
  return rows / WARPS >= INT32_MAX
             ? sl_fail(SLEY_ERR_OVERFLOW, "%lld rows are too many for one device: use more ranks",
                       static_cast<long long>(rows))
             : SLEY_OK;
}

template <class V> void launch_cut(sl_queue *queue, const sl_cut_args &a) {
  if (a.map.row_part)
    cut_rows<V><<<blocks_for(a.block.rows), THREADS, 0, sl_cuda_stream(queue)>>>(a);
  else
    cut_entries<V><<<blocks_for(a.block.rows), THREADS, 0, sl_cuda_stream(queue)>>>(a);
}

} // namespace

sley_status sl_cuda_launch_columns(sl_queue *queue, const sl_columns_args *args) {
  SL_TRY(sl_cuda_use(queue->device));
  const int64_t wanted = (args->block.entries + THREADS - 1) / THREADS, most = 16 * sl_cuda_processors(queue);
  columns<<<static_cast<unsigned>(wanted < most ? wanted : most), THREADS, 0, sl_cuda_stream(queue)>>>(*args);
  return sl_cuda_launched(queue, "columns");
}

sley_status sl_cuda_launch_needs(sl_queue *queue, const sl_needs_args *args) {
  SL_TRY(check_rows(args->block.rows));
  SL_TRY(sl_cuda_use(queue->device));
  needs<<<blocks_for(args->block.rows), THREADS, 0, sl_cuda_stream(queue)>>>(*args);
  return sl_cuda_launched(queue, "needs");
}

sley_status sl_cuda_launch_tally(sl_queue *queue, const sl_tally_args *args) {
  SL_TRY(check_rows(args->block.rows));
  SL_TRY(sl_cuda_use(queue->device));
  tally<<<blocks_for(args->block.rows), THREADS, 0, sl_cuda_stream(queue)>>>(*args);
  return sl_cuda_launched(queue, "tally");
}

sley_status sl_cuda_launch_cut(sl_queue *queue, const sl_cut_args *args) {
  SL_TRY(check_rows(args->block.rows));
  SL_TRY(sl_cuda_use(queue->device));
  if (args->value_bytes == 2)
    launch_cut<uint16_t>(queue, *args);
  else if (args->value_bytes == 4)
    launch_cut<uint32_t>(queue, *args);
  else
    launch_cut<uint64_t>(queue, *args);
  return sl_cuda_launched(queue, "cut");
}

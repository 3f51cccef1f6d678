/* SPDX-License-Identifier: Apache-2.0 */
/* Narrow products, k = 1 to SL_NARROW_MOST, over chunks of entries (spmm_chunks.cuh).
 *
 * A row of X has only a few bytes, so lanes that share it would mostly be idle. Instead a warp processes a
 * chunk, 128 entries at a time. Each lane loads 4 neighbouring entries, with one load each for columns and
 * values, and the rows of X of all four before it uses the first. It sums the four entries by itself, and
 * stores the rows that end within its entries. Sums of rows that continue are passed from lane to lane by a
 * segmented scan of the warp.
 *
 * The limit at k = 1 is the number of instructions. So everything that few entries need is behind a branch
 * that the whole warp takes or not: the ends of a chunk, alpha, a second memory of X.
 *
 * Order of summation. The fragments of a row (op_spmm.h) are the runs of up to 4 entries of the lanes; while
 * no row ends among 128 entries, a lane continues its fragment. The scan adds fragments as a tree of fixed
 * shape. The division among lanes depends only on the chunks, so the bits repeat. If rows must be summed in
 * stored order, the kernels of stream.cuh run instead. */
#ifndef SLEY_DEVICE_CUDA_SPMM_NARROW_ROWS_CUH
#define SLEY_DEVICE_CUDA_SPMM_NARROW_ROWS_CUH

#include "device/cuda/spmm/spmm_chunks.cuh"

namespace sley {

/* NARROW_ENTRIES: entries that a lane loads at a time. */
enum { NARROW_BLOCK = 128, NARROW_ENTRIES = 4, NARROW_STEP = 32 * NARROW_ENTRIES };

/* A lane's entries. */
template <typename T> struct narrow_entries {
  vector<int32_t, NARROW_ENTRIES> col;
  vector<T, NARROW_ENTRIES> val;
};

/* Loads a lane's entries from `at` on, a multiple of NARROW_ENTRIES; col and val have `end` entries, and
 * entries after these are arbitrary. */
template <typename T>
__device__ __forceinline__ narrow_entries<T> narrow_load(const int32_t *col, const T *val, int at, int end) {
  narrow_entries<T> got;
  if (at + NARROW_ENTRIES <= end) {
    got.col = load_stream<int32_t, NARROW_ENTRIES>(col + at);
    got.val = load_stream<T, NARROW_ENTRIES>(val + at);
    return got;
  }
#pragma unroll
  for (int i = 0; i < NARROW_ENTRIES; i++) {
    got.col.item[i] = at + i < end ? col[at + i] : 0;
    got.val.item[i] = at + i < end ? val[at + i] : value<T>::narrow(0);
  }
  return got;
}

/* Loads a row of X or Y, W values at a time. */
template <typename T, int K, int W> __device__ __forceinline__ vector<T, K> narrow_row(const T *p) {
  vector<T, K> row;
#pragma unroll
  for (int v = 0; v < K; v += W) {
    const vector<T, W> word = load_plain<T, W>(p + v);
#pragma unroll
    for (int i = 0; i < W; i++)
      row.item[v + i] = word.item[i];
  }
  return row;
}

template <typename T, int K> struct narrow_sum {
  accumulator<T> at[K];
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int v = 0; v < K; v++)
      at[v] = 0;
  }
  __device__ __forceinline__ void add(const narrow_sum &other) {
#pragma unroll
    for (int v = 0; v < K; v++)
      at[v] += other.at[v];
  }
  __device__ __forceinline__ void add(accumulator<T> weight, const vector<input<T>, K> &x) {
#pragma unroll
    for (int v = 0; v < K; v++)
      at[v] = multiply_add(weight, widened(x, v), at[v]);
  }
  __device__ __forceinline__ narrow_sum from_lane(int lane) const {
    narrow_sum got;
#pragma unroll
    for (int v = 0; v < K; v++)
      got.at[v] = __shfl_sync(~0u, at[v], lane);
    return got;
  }
  /* Sums over all lanes; all lanes receive the result. */
  __device__ __forceinline__ void add_lanes() {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
#pragma unroll
      for (int v = 0; v < K; v++)
        at[v] += __shfl_xor_sync(~0u, at[v], distance);
  }
};

/* Sets y to sum + beta y. */
template <typename T, int K, int W>
__device__ __forceinline__ void narrow_store(const sl_stream_run &run, bool old, int32_t row,
                                             narrow_sum<T, K> sum) {
  using out_t = output<T>;
  out_t *y = row_at((out_t *)run.y, row, (uint32_t)(run.ldy * (int64_t)sizeof(out_t)));
  if (old) {
    narrow_sum<T, K> scaled_old;
    scaled<T, K>(scaled_old.at, run.beta, narrow_row<out_t, K, W>(y));
    sum.add(scaled_old);
  }
#pragma unroll
  for (int v = 0; v < K; v += W) {
    accumulator<T> word[W];
#pragma unroll
    for (int i = 0; i < W; i++)
      word[i] = sum.at[v + i];
    store_once<out_t, W>(y + v, word);
  }
}

/* Sums and stores a chunk's rows. Returns, in all lanes, the sum of the last row if it does not end in the
 * chunk. */
template <typename T, int K, int W>
__device__ __forceinline__ narrow_sum<T, K> narrow_chunk(const sl_stream_run &run, const sl_chunk &chunk,
                                                         int lane) {
  constexpr int E = NARROW_ENTRIES;
  using in_t = input<T>;
  using acc_t = accumulator<T>;
  const in_t *x = keep((const in_t *)run.x);
  const uint32_t ldx = (uint32_t)(run.ldx * (int64_t)sizeof(in_t)); /* bytes */
  const bool far = run.far_rows > 0;
  const int scales = keep((int)(run.alpha != 1)), old = keep((int)(run.beta != 0));
  const unsigned below = (1u << lane) - 1;
  const int before = (int)(chunk.begin % E); /* number of entries of the previous chunk that the first lane
                                                loads */
  const int count = before + chunk.count;
  const int64_t first = chunk.begin - before;
  const int32_t *col = run.a.col + first;
  const in_t *val = (const in_t *)run.a.val + first;
  const int end = (int)(run.a.entries - first < INT32_MAX ? run.a.entries - first : INT32_MAX);
  int32_t row = chunk.row;
  narrow_sum<T, K> carry, held; /* partial sum of the open row: carry is the same in all lanes; held, if
                                 * `holds`, is spread over the lanes */
  bool holds = false;
  carry.clear();
  held.clear();
  narrow_entries<in_t> next = narrow_load(col, val, lane * E, end);
  for (int at = 0; at < count; at += NARROW_STEP) {
    narrow_entries<in_t> now = next;
    const int mine = at + lane * E;
    const bool edge = at < before || at + NARROW_STEP > count;
    auto outside = [&](int i) { return mine + i < before || mine + i >= count; };
    if (edge)
#pragma unroll
      for (int i = 0; i < E; i++)
        if (outside(i)) {
          now.col.item[i] = 0;
          now.val.item[i] = value<in_t>::narrow(0);
        }
    const in_t *from[E];
#pragma unroll
    for (int i = 0; i < E; i++)
      from[i] = row_at(x, now.col.item[i] & INT32_MAX, ldx);
    if (far)
#pragma unroll
      for (int i = 0; i < E; i++) {
        const int64_t beyond = (now.col.item[i] & INT32_MAX) - run.x_rows;
        if (beyond >= 0)
          from[i] = (const in_t *)run.far + beyond * run.ldfar;
      }
    vector<in_t, K> in[E];
#pragma unroll
    for (int i = 0; i < E; i++) {
      __builtin_assume(__isGlobal(from[i]));
      in[i] = narrow_row<in_t, K, W>(from[i]);
    }
    if (edge) /* entries outside the chunk add 0, whatever X contains */
#pragma unroll
      for (int i = 0; i < E; i++)
        if (outside(i))
#pragma unroll
          for (int v = 0; v < K; v++)
            in[i].item[v] = value<in_t>::narrow(0);
    if (at + NARROW_STEP < count)
      next = narrow_load(col, val, mine + NARROW_STEP, end);
    acc_t weight[E];
#pragma unroll
    for (int i = 0; i < E; i++)
      weight[i] = value<in_t>::widen(now.val.item[i]);
    if (scales)
#pragma unroll
      for (int i = 0; i < E; i++)
        weight[i] = value<in_t>::weight(run.alpha, now.val.item[i]);
    unsigned ends = 0;
#pragma unroll
    for (int i = 0; i < E; i++)
      ends |= (unsigned)(now.col.item[i] >> 31) & 1u << i;
    const unsigned ended = __ballot_sync(~0u, ends != 0);
    if (ended == 0) {
      if (!holds && lane == 0)
        held = carry;
      holds = true;
#pragma unroll
      for (int i = 0; i < E; i++)
        held.add(weight[i], in[i]);
      continue;
    }
    if (holds) {
      held.add_lanes();
      carry = held;
      held.clear();
      holds = false;
    }
    /* Number of rows that end in earlier lanes, and in all lanes. */
    int rows_before = __popc(ended & below), rows_here = __popc(ended);
    const unsigned twice = __ballot_sync(~0u, (ends & (ends - 1)) != 0);
    if (twice != 0) {
      const unsigned thrice = __ballot_sync(~0u, __popc(ends) > 2), all = __ballot_sync(~0u, ends == 15);
      rows_before += __popc(twice & below) + __popc(thrice & below) + __popc(all & below);
      rows_here += __popc(twice) + __popc(thrice) + __popc(all);
    }
    int32_t number[E], at_row = row + rows_before; /* row that each entry ends */
#pragma unroll
    for (int i = 0; i < E; i++)
      if (ends >> i & 1)
        number[i] = row_number(run.a, at_row++);
    narrow_sum<T, K> sum, head;
    sum.clear();
    if (lane == 0)
      sum = carry;
    int32_t head_row = 0;
    bool open = true; /* the current row began before this lane's entries */
#pragma unroll
    for (int i = 0; i < E; i++) {
      sum.add(weight[i], in[i]);
      if (ends >> i & 1) {
        if (open) {
          head = sum;
          head_row = number[i];
        } else {
          narrow_store<T, K, W>(run, old, number[i], sum);
        }
        open = false;
        sum.clear();
      }
    }
    /* Partial sums of open rows: each lane adds the lanes before it, back to the last lane in which a row
     * ended. */
    const unsigned to_here = ended & (below | 1u << lane);
    const int begin = to_here ? 31 - __clz((int)to_here) : 0;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const narrow_sum<T, K> other = sum.from_lane(lane - distance);
      if (lane - distance >= begin)
        sum.add(other);
    }
    const narrow_sum<T, K> open_before = sum.from_lane(lane - 1);
    if (!open) {
      if (lane > 0)
        head.add(open_before);
      narrow_store<T, K, W>(run, old, head_row, head);
    }
    carry = sum.from_lane(31);
    row += rows_here;
  }
  if (holds) {
    held.add_lanes();
    return held;
  }
  return carry;
}

/* Stores the sum of a fragment of a long row. The warp that stores the last one computes Y = beta Y + all
 * fragments, divided among its lanes. */
template <typename T, int K, int W>
__device__ void narrow_finish(const sl_stream_run &run, const sl_chunk &chunk, const narrow_sum<T, K> &sum,
                              int lane) {
  accumulator<T> *partial = (accumulator<T> *)run.a.partial;
  if (lane == 0)
#pragma unroll
    for (int v = 0; v < K; v++)
      partial[(int64_t)chunk.slot * K + v] = sum.at[v];
  const fragments row = fragments_of(run.a, {chunk.slot, chunk.long_row});
  if (!last_of<32>(run.a.finished + chunk.long_row, row.count, lane, ~0u))
    return;
  narrow_sum<T, K> all;
  all.clear();
  for (int32_t p = lane; p < row.count; p += 32)
#pragma unroll
    for (int v = 0; v < K; v++)
      all.at[v] += __ldcg(partial + (row.first + p) * K + v);
  all.add_lanes();
  if (lane == 0)
    narrow_store<T, K, W>(run, run.beta != 0, row.row, all);
}

/* Blocks per multiprocessor for sums of this size, measured on an H200. */
constexpr int narrow_blocks(size_t bytes) {
  return bytes <= 8 ? 8 : bytes <= 16 ? 6 : bytes <= 32 ? 4 : 3;
}

template <typename T, int K, int W>
__global__ void __launch_bounds__(NARROW_BLOCK, narrow_blocks(K * sizeof(accumulator<T>)))
    narrow(const __grid_constant__ sl_stream_run run) {
  constexpr int WARPS = NARROW_BLOCK / 32;
  const int64_t blocks = (run.a.chunks + WARPS - 1) / WARPS;
  if (blockIdx.x >= blocks) {
    clear_rows<T>(run, blockIdx.x - blocks);
    return;
  }
  const int lane = threadIdx.x % 32;
  const int64_t at = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
  if (at >= run.a.chunks)
    return;
  const sl_chunk chunk = chunk_at(run.a.chunk, at);
  if (run.arrivals && chunk.piece > 0) {
    if (lane == 0)
      wait_for_piece(run.arrivals, chunk.piece, run.arrivals->round.value);
    __syncwarp();
  }
  const narrow_sum<T, K> rest = narrow_chunk<T, K, W>(run, chunk, lane);
  if (chunk.slot >= 0)
    narrow_finish<T, K, W>(run, chunk, rest, lane);
}

template <typename T, int K, int W> sley_status launch_narrow(sl_queue *queue, const sl_stream_run &run) {
  constexpr int WARPS = NARROW_BLOCK / 32;
  const int64_t blocks = (run.a.chunks + WARPS - 1) / WARPS + blocks_that_clear(run);
  if (blocks > 0)
    narrow<T, K, W><<<(unsigned)blocks, NARROW_BLOCK, 0, sl_cuda_stream(queue)>>>(run);
  return sl_cuda_launched(queue, "spmm-narrow");
}

/* Returns whether the arrays are aligned for a lane's loads. */
template <typename T> bool narrow_serves(const sl_stream_run &run) {
  constexpr size_t BYTES = NARROW_ENTRIES * sizeof(input<T>);
  return run.k <= SL_NARROW_MOST && !run.a.in_order && run.ldx <= UINT32_MAX / (int64_t)sizeof(input<T>) &&
         (uintptr_t)run.a.col % 16 == 0 && (uintptr_t)run.a.val % (BYTES < 16 ? BYTES : 16) == 0;
}

/* Launches with the widest words that can be loaded and of which rows of K values consist. */
template <typename T, int K> sley_status narrow_of(sl_queue *queue, const sl_stream_run &run) {
  constexpr int MOST = 16 / (int)sizeof(input<T>), W = (K & -K) < MOST ? K & -K : MOST;
  if constexpr (W > 1)
    if (aligned_rows<T, W>(run))
      return launch_narrow<T, K, W>(queue, run);
  return launch_narrow<T, K, 1>(queue, run);
}

template <typename T> sley_status narrow_product(sl_queue *queue, const sl_stream_run &run) {
  SL_TRY(sl_cuda_use(queue->device));
  switch (run.k) {
  case 1:
    return narrow_of<T, 1>(queue, run);
  case 2:
    return narrow_of<T, 2>(queue, run);
  case 3:
    return narrow_of<T, 3>(queue, run);
  case 4:
    return narrow_of<T, 4>(queue, run);
  case 5:
    return narrow_of<T, 5>(queue, run);
  case 6:
    return narrow_of<T, 6>(queue, run);
  case 7:
    return narrow_of<T, 7>(queue, run);
  default:
    return narrow_of<T, 8>(queue, run);
  }
}

} // namespace sley

#endif

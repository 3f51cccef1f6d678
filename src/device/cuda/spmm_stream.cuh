/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM as streams of entries. A group of LANES threads takes a chunk of whole rows and runs through its
 * entries as one stream: each lane holds VEC neighbouring features of the row being summed, each step loads U
 * rows of X before it uses the first, whatever rows of A they belong to, and an entry whose column is marked
 * ends its row. So short rows cost no more than long ones, and many loads are in flight at all times. Wider k
 * than LANES x VEC is done in panels, the group running through its chunk once a panel.
 *
 * RUNS looks for steps in which no row ends, which need no looking at each entry: it pays where rows are
 * long.
 *
 * Every row is summed in stored order by one lane a feature. Only pieces of rows that chunks.c has cut are
 * summed apart; add_pieces then adds them in order. */
#ifndef SLEY_DEVICE_CUDA_SPMM_STREAM_CUH
#define SLEY_DEVICE_CUDA_SPMM_STREAM_CUH

#include <cstdint>

#include "device/cuda/spmm_stream.h"
#include "device/cuda/values.cuh"

namespace sley {

/* Entries of a row from which on steps without a row's end are looked for; from which on narrow products are
 * limited by instructions rather than memory. */
enum { LONG_ROW = 32, VERY_LONG_ROW = 256 };

enum { STREAM_BLOCK = 64, EMPTY_ROWS = 64 /* that a block clears */ };

template <typename T, int VEC>
__device__ __forceinline__ void scaled(accumulator<T> (&acc)[VEC], double beta,
                                       const vector<output<T>, VEC> &y) {
#pragma unroll
  for (int v = 0; v < VEC; v++)
    acc[v] = (accumulator<T>)(beta * (double)value<output<T>>::widen(y.item[v]));
}

/* Rows of Y without entries: Y = beta Y. */
template <typename T> __device__ void clear_rows(const sl_stream_run &run, int64_t block) {
  int64_t first = block * EMPTY_ROWS, count = run.a.empties - first;
  count = (count < EMPTY_ROWS ? count : EMPTY_ROWS) * run.k;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    using Y = value<output<T>>;
    output<T> *y = (output<T> *)run.y + (int64_t)run.a.empty[first + i / run.k] * run.ldy + i % run.k;
    *y = Y::narrow(run.beta == 0 ? 0 : (accumulator<T>)(run.beta * (double)Y::widen(*y)));
  }
}

/* A row's place: both factors are 32 bits wide, which takes one instruction. */
template <typename T> __device__ __forceinline__ T *row_at(T *first, int32_t row, uint32_t stride) {
  return first + (uint64_t)(uint32_t)row * stride;
}

template <typename T, int LANES, int VEC, int U, bool BETA, bool RUNS>
__device__ __forceinline__ void stream_chunk(const sl_stream_run &run, const sl_chunk &chunk, int64_t f,
                                             bool on, int lane, unsigned mask) {
  using acc_t = accumulator<T>;
  using in_t = input<T>;
  using out_t = output<T>;
  const in_t *x = (const in_t *)run.x + (on ? f : 0);
  out_t *y = (out_t *)run.y + f;
  const uint32_t ldx = (uint32_t)run.ldx, ldy = (uint32_t)run.ldy;
  const int32_t *row = run.a.row + chunk.row;
  const int32_t *col = run.a.col + chunk.begin;
  const in_t *val = (const in_t *)run.a.val + chunk.begin;
  const bool piece = chunk.slot >= 0;
  /* The row being summed, and the one after it, whose number and old values are on their way. */
  int rows_left = chunk.rows - 1;
  out_t *out = row_at(y, row[0], ldy);
  int32_t next = row[1];
  acc_t acc[VEC];
  vector<out_t, VEC> old;
#pragma unroll
  for (int v = 0; v < VEC; v++)
    acc[v] = 0;
  if (BETA && !piece && on) {
    scaled<T, VEC>(acc, run.beta, load_plain<out_t, VEC>(out));
    if (rows_left > 0)
      old = load_plain<out_t, VEC>(row_at(y, next, ldy));
  }
  /* A lane's entry of this step and of the next; the next one's is not touched before it is due, for then it
   * has arrived. */
  int32_t my_col = 0, next_col = 0;
  in_t next_val = value<in_t>::narrow(0);
  if (lane < chunk.count) {
    my_col = __ldcs(col + lane);
    next_val = load_once(val + lane);
  }
  for (int e = 0; e < chunk.count; e += LANES) {
    const acc_t my_val = value<in_t>::weight(run.alpha, next_val);
    if (e + LANES + lane < chunk.count) {
      next_col = __ldcs(col + e + LANES + lane);
      next_val = load_once(val + e + LANES + lane);
    }
    const int here = chunk.count - e < LANES ? chunk.count - e : LANES;
    if (RUNS && here == LANES && !__any_sync(mask, my_col < 0)) { /* all of one row, which goes on */
#pragma unroll
      for (int s = 0; s < LANES; s += U) {
        vector<in_t, VEC> in[U];
#pragma unroll
        for (int u = 0; u < U; u++)
          in[u] = load_shared<in_t, VEC>(row_at(x, __shfl_sync(mask, my_col, s + u, LANES), ldx));
#pragma unroll
        for (int u = 0; u < U; u++) {
          const acc_t weight = __shfl_sync(mask, my_val, s + u, LANES);
#pragma unroll
          for (int v = 0; v < VEC; v++)
            acc[v] = multiply_add(weight, widened(in[u], v), acc[v]);
        }
      }
      my_col = next_col;
      next_col = 0;
      continue;
    }
#pragma unroll 1
    for (int s = 0; s < here; s += U) {
      vector<in_t, VEC> in[U];
      int32_t c[U];
#pragma unroll
      for (int u = 0; u < U; u++) {
        c[u] = __shfl_sync(mask, my_col, s + u, LANES);
        in[u] = load_shared<in_t, VEC>(row_at(x, c[u] & INT32_MAX, ldx));
      }
#pragma unroll
      for (int u = 0; u < U; u++) {
        const acc_t weight = __shfl_sync(mask, my_val, s + u, LANES);
        if (s + u < here) {
#pragma unroll
          for (int v = 0; v < VEC; v++)
            acc[v] = multiply_add(weight, widened(in[u], v), acc[v]);
          if (c[u] < 0) {
            if (on)
              store_once<out_t, VEC>(out, acc);
            out = row_at(y, next, ldy);
            next = (++row)[1];
#pragma unroll
            for (int v = 0; v < VEC; v++)
              acc[v] = 0;
            if (BETA && on && rows_left > 0)
              scaled<T, VEC>(acc, run.beta, old);
            if (BETA && on && --rows_left > 0)
              old = load_plain<out_t, VEC>(row_at(y, next, ldy));
          }
        }
      }
    }
    my_col = next_col;
    next_col = 0;
  }
  if (piece && on)
#pragma unroll
    for (int v = 0; v < VEC; v++)
      ((acc_t *)run.a.partial)[chunk.slot * run.k + f + v] = acc[v];
}

template <typename T, int LANES, int VEC, int U, bool BETA, bool RUNS>
__global__ void __launch_bounds__(STREAM_BLOCK) stream(const sl_stream_run run) {
  constexpr int GROUPS = STREAM_BLOCK / LANES;
  const int64_t blocks = (run.a.chunks + GROUPS - 1) / GROUPS;
  if (blockIdx.x >= blocks) {
    clear_rows<T>(run, blockIdx.x - blocks);
    return;
  }
  const int lane = threadIdx.x % LANES;
  const unsigned mask = LANES == 32 ? ~0u : ((1u << LANES % 32) - 1) << threadIdx.x % 32 / LANES * LANES;
  const int64_t at = (int64_t)blockIdx.x * GROUPS + threadIdx.x / LANES;
  if (at >= run.a.chunks)
    return;
  const sl_chunk chunk = run.a.chunk[at];
  for (int64_t f = lane * VEC; f - lane * VEC < run.k; f += LANES * VEC)
    stream_chunk<T, LANES, VEC, U, BETA, RUNS>(run, chunk, f, f < run.k, lane, mask);
}

/* Y = beta Y + the pieces, in order; a block a long row. */
template <typename T> __global__ void add_pieces(const sl_stream_run run) {
  const sl_long_row row = run.a.long_row[blockIdx.x];
  const int32_t end = run.a.long_row[blockIdx.x + 1].first_slot;
  const accumulator<T> *partial = (const accumulator<T> *)run.a.partial;
  for (int64_t f = threadIdx.x; f < run.k; f += blockDim.x) {
    using Y = value<output<T>>;
    output<T> *y = (output<T> *)run.y + (int64_t)row.row * run.ldy + f;
    accumulator<T> acc = run.beta == 0 ? 0 : (accumulator<T>)(run.beta * (double)Y::widen(*y));
    for (int32_t slot = row.first_slot; slot < end; slot++)
      acc += partial[(int64_t)slot * run.k + f];
    *y = Y::narrow(acc);
  }
}

template <typename T, int LANES, int VEC, bool RUNS>
sley_status launch_shape(sl_queue *queue, const sl_stream_run &run) {
  constexpr int GROUPS = STREAM_BLOCK / LANES, U = LANES == 8 ? 8 : 4;
  const int64_t empties = run.beta == 1 ? 0 : run.a.empties;
  const int64_t blocks = (run.a.chunks + GROUPS - 1) / GROUPS + (empties + EMPTY_ROWS - 1) / EMPTY_ROWS;
  if (blocks > 0) {
    if (run.beta == 0)
      stream<T, LANES, VEC, U, false, RUNS>
          <<<(unsigned)blocks, STREAM_BLOCK, 0, sl_cuda_stream(queue)>>>(run);
    else
      stream<T, LANES, VEC, U, true, RUNS><<<(unsigned)blocks, STREAM_BLOCK, 0, sl_cuda_stream(queue)>>>(run);
    SL_TRY(sl_cuda_launched(queue, "spmm-stream"));
  }
  if (run.a.longs == 0)
    return SLEY_OK;
  const unsigned threads = run.k < 256 ? (unsigned)(run.k + 31) / 32 * 32 : 256;
  add_pieces<T><<<(unsigned)run.a.longs, threads, 0, sl_cuda_stream(queue)>>>(run);
  return sl_cuda_launched(queue, "spmm-stream's pieces");
}

template <typename T, int VEC> sley_status launch_lanes(sl_queue *queue, const sl_stream_run &run) {
  if (run.k <= 8 * VEC && run.a.row_entries >= LONG_ROW)
    return launch_shape<T, 8, VEC, true>(queue, run);
  if (run.k <= 8 * VEC)
    return launch_shape<T, 8, VEC, false>(queue, run);
  if (run.k <= 16 * VEC)
    return launch_shape<T, 16, VEC, false>(queue, run);
  return launch_shape<T, 32, VEC, false>(queue, run);
}

/* Whether rows can be read and written VEC values at a time, with work for more than half of `lanes`. */
template <typename T, int VEC> bool fits(const sl_stream_run &run, int lanes) {
  constexpr int64_t BYTES = VEC * sizeof(input<T>), OUT = VEC * sizeof(output<T>);
  return run.k % VEC == 0 && run.k > lanes / 2 * VEC && run.ldx % VEC == 0 && run.ldy % VEC == 0 &&
         (uintptr_t)run.x % BYTES == 0 && (uintptr_t)run.y % (OUT < 16 ? OUT : 16) == 0;
}

/* The widest loads that alignment allows: 16 bytes a lane, then 8, 4 for values of 2, then single values.
 * Narrow products of very long rows have half as many lanes take a row of X, and so have those of 16 bits
 * whose rows are as short as a sector. */
template <typename T> sley_status launch_stream(sl_queue *queue, const sl_stream_run &run) {
  constexpr int BYTES = sizeof(input<T>);
  SL_TRY(sl_cuda_use(queue->device));
  if (run.a.row_entries >= VERY_LONG_ROW && run.k <= 64 / BYTES && fits<T, 16 / BYTES>(run, 4))
    return launch_shape<T, 4, 16 / BYTES, true>(queue, run);
  if (fits<T, 16 / BYTES>(run, 8))
    return launch_lanes<T, 16 / BYTES>(queue, run);
  if constexpr (BYTES < 8)
    if (fits<T, 8 / BYTES>(run, 8))
      return launch_lanes<T, 8 / BYTES>(queue, run);
  if constexpr (BYTES < 4) {
    if (run.k <= 32 / BYTES && fits<T, 8 / BYTES>(run, 4))
      return run.a.row_entries >= LONG_ROW ? launch_shape<T, 4, 8 / BYTES, true>(queue, run)
                                           : launch_shape<T, 4, 8 / BYTES, false>(queue, run);
    if (fits<T, 4 / BYTES>(run, 8))
      return launch_lanes<T, 4 / BYTES>(queue, run);
  }
  return launch_lanes<T, 1>(queue, run);
}

} // namespace sley

#endif

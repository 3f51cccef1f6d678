/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM as streams of entries: the product of Sley's own on NVIDIA GPUs, for every part that is known when
 * it is planned.
 *
 * What limits it. Each entry of A needs one row of X: k values at an address that is as good as random. At
 * the widths of graph networks (k = 16 to 256) the product is limited by the rate of these loads, from the
 * L2 cache or from memory, and that rate is reached only if every multiprocessor has many loads in flight
 * at all times. A kernel that gives each row of A to a warp does not reach it: most rows of a graph are
 * short, so each warp starts a few loads, waits for them, stores a row and starts again. (Narrow products
 * of very long rows are limited by instructions instead: VERY_LONG_ROW.)
 *
 * Work of a group. The host cuts the rows into chunks of about equally many entries (chunks.h). A group of
 * LANES threads, 4 to 32, takes one chunk and reads its entries as one stream, across the ends of rows:
 *   - Each lane holds VEC neighbouring features of the row that is being summed; LANES x VEC features are
 *     one panel. If k is larger, the group reads its chunk once per panel.
 *   - The lanes load LANES entries together, one each, and one block ahead of their use. By shuffles every
 *     lane gets them one after the other.
 *   - Each step loads the rows of X of U entries before it uses the first of them, whichever rows of A the
 *     entries belong to. So short rows cost no more than long ones, and U loads per lane are in flight.
 *   - The sign bit of a column marks the last entry of its row (spmm_stream_mark.cu). After it the sums
 *     are stored, and the next row begins. The number of that row, and for beta != 0 its old values of Y,
 *     were loaded one row ahead.
 * RUNS adds a second, shorter loop for blocks of entries in which no row ends; it pays where rows are
 * long.
 *
 * Addresses. The lane that loads an entry computes where its row of X lies, as a PLACE: the distance from
 * the beginning of X or of the far memory, whichever is lower, in units of the bytes that one lane loads.
 * An X in two memories therefore costs one comparison per entry and lane, not one per load. A PLACE has 32
 * bits if that is enough for both memories, else 64.
 *
 * Order of summation. A whole row is summed in stored order, each feature by one lane, with the roundings
 * that op_spmm.h defines. A row that the host has cut into fragments (chunks.h; never where in_order is set)
 * is summed fragment by fragment into the slots of `partial`. Each group that has written a fragment increments the
 * row's counter in `finished` by an atomic operation; the group that finds the counter complete adds beta
 * Y and the fragments, first to last, stores the row and sets the counter back to 0. Which group that is
 * varies; the order of the additions does not, so the bits repeat.
 *
 * Arrival. Where the rows of the far memory arrive while the kernel runs, a group first waits for the
 * piece of its chunk (pieces.cuh).
 *
 * The shapes (LANES, VEC, U, blocks per multiprocessor) were found by measurement on H200 GPUs. */
#ifndef SLEY_DEVICE_CUDA_SPMM_STREAM_CUH
#define SLEY_DEVICE_CUDA_SPMM_STREAM_CUH

#include <cstdint>

#include "device/cuda/spmm_stream.h"
#include "device/cuda/pieces.cuh"

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

/* Where rows of X lie, in units of what a lane loads: column c at base + c near_stride; from column near on
 * at base + c far_stride + far_at, modulo the range of a PLACE. near_at likewise. */
struct x_places {
  const void *base;
  uint64_t near_at, far_at;
  uint32_t near_stride, far_stride;
  uint32_t near;
};

template <typename PLACE> __device__ __forceinline__ PLACE place_of(const x_places &x, uint32_t col) {
  const bool far = col >= x.near;
  const uint32_t stride = far ? x.far_stride : x.near_stride;
  return (PLACE)col * stride + (PLACE)(far ? x.far_at : x.near_at);
}

/* A row of Y: both factors are 32 bits wide, which takes one instruction. */
template <typename T> __device__ __forceinline__ T *row_at(T *first, int32_t row, uint32_t stride) {
  return first + (uint64_t)(uint32_t)row * stride;
}

/* How a group goes about its stream. MIN_BLOCKS on a multiprocessor keep enough loads in flight: the compiler
 * may take no more registers than that allows, but for what old values and more than 4 sums a lane need. */
template <int LANES_, int VEC_, int U_, int MIN_BLOCKS_, bool RUNS_, typename PLACE_> struct shape {
  static constexpr int LANES = LANES_, VEC = VEC_, U = U_, MIN_BLOCKS = MIN_BLOCKS_;
  static constexpr bool RUNS = RUNS_;
  using PLACE = PLACE_;
  static constexpr int blocks(bool old_values) {
    return MIN_BLOCKS - (old_values ? MIN_BLOCKS / 4 : 0) - (VEC > 4 ? 2 : 0);
  }
};

template <typename T, class S, bool BETA>
__device__ __forceinline__ void stream_chunk(const sl_stream_run &run, const x_places &places,
                                             const sl_chunk &chunk, int64_t f, bool on, int lane,
                                             unsigned mask) {
  constexpr int LANES = S::LANES, VEC = S::VEC, U = S::U;
  using place = typename S::PLACE;
  using acc_t = accumulator<T>;
  using in_t = input<T>;
  using out_t = output<T>;
  const in_t *x = (const in_t *)places.base + (on ? f : 0);
  out_t *y = (out_t *)run.y + f;
  const uint32_t ldy = (uint32_t)run.ldy;
  const int32_t *row = run.a.row + chunk.row;
  const int32_t *col = run.a.col + chunk.begin;
  const in_t *val = (const in_t *)run.a.val + chunk.begin;
  const bool fragment = chunk.slot >= 0;
  /* The row being summed, and the one after it, whose number and old values are on their way. */
  int rows_left = chunk.rows - 1;
  out_t *out = row_at(y, row[0], ldy);
  int32_t next = row[1];
  acc_t acc[VEC];
  vector<out_t, VEC> old;
#pragma unroll
  for (int v = 0; v < VEC; v++)
    acc[v] = 0;
  if (BETA && !fragment && on) {
    scaled<T, VEC>(acc, run.beta, load_plain<out_t, VEC>(out));
    if (rows_left > 0)
      old = load_plain<out_t, VEC>(row_at(y, next, ldy));
  }
  /* A lane's entry of the next step: it is not touched before it is due, for then it has arrived. */
  int32_t next_col = 0;
  in_t next_val = value<in_t>::narrow(0);
  if (lane < chunk.count) {
    next_col = __ldcs(col + lane);
    next_val = load_once(val + lane);
  }
  for (int e = 0; e < chunk.count; e += LANES) {
    const acc_t my_val = value<in_t>::weight(run.alpha, next_val);
    const place my_place = place_of<place>(places, next_col & INT32_MAX);
    const unsigned ends = __ballot_sync(mask, next_col < 0) >> (threadIdx.x % 32 / LANES * LANES);
    next_col = 0;
    if (e + LANES + lane < chunk.count) {
      next_col = __ldcs(col + e + LANES + lane);
      next_val = load_once(val + e + LANES + lane);
    }
    const int here = chunk.count - e < LANES ? chunk.count - e : LANES;
    if (S::RUNS && here == LANES && ends == 0) { /* all of one row, which goes on */
#pragma unroll
      for (int s = 0; s < LANES; s += U) {
        vector<in_t, VEC> in[U];
#pragma unroll
        for (int u = 0; u < U; u++)
          in[u] = load_plain<in_t, VEC>(x + (uint64_t)__shfl_sync(mask, my_place, s + u, LANES) * VEC);
#pragma unroll
        for (int u = 0; u < U; u++) {
          const acc_t weight = __shfl_sync(mask, my_val, s + u, LANES);
#pragma unroll
          for (int v = 0; v < VEC; v++)
            acc[v] = multiply_add(weight, widened(in[u], v), acc[v]);
        }
      }
      continue;
    }
#pragma unroll 1
    for (int s = 0; s < here; s += U) {
      vector<in_t, VEC> in[U];
#pragma unroll
      for (int u = 0; u < U; u++)
        in[u] = load_plain<in_t, VEC>(x + (uint64_t)__shfl_sync(mask, my_place, s + u, LANES) * VEC);
#pragma unroll
      for (int u = 0; u < U; u++) {
        const acc_t weight = __shfl_sync(mask, my_val, s + u, LANES);
        if (s + u < here) {
#pragma unroll
          for (int v = 0; v < VEC; v++)
            acc[v] = multiply_add(weight, widened(in[u], v), acc[v]);
          if (ends >> s & 1u << u) {
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
  }
  if (fragment && on)
#pragma unroll
    for (int v = 0; v < VEC; v++)
      ((acc_t *)run.a.partial)[chunk.slot * run.k + f + v] = acc[v];
}

/* A fragment of a long row is summed: once all are, Y = beta Y + the fragments, in order. */
template <typename T, int LANES>
__device__ void finish_fragment(const sl_stream_run &run, const sl_chunk &chunk, int lane, unsigned mask) {
  using Y = value<output<T>>;
  using acc_t = accumulator<T>;
  const sl_long_row row = run.a.long_row[chunk.long_row];
  const int32_t fragments = run.a.long_row[chunk.long_row + 1].first_slot - row.first_slot;
  unsigned finished = 0;
  __threadfence();
  __syncwarp(mask);
  if (lane == 0)
    finished = atomicAdd(&run.a.finished[chunk.long_row], 1u) + 1;
  if (__shfl_sync(mask, finished, 0, LANES) != (unsigned)fragments)
    return;
  __threadfence();
  if (lane == 0)
    run.a.finished[chunk.long_row] = 0;
  const acc_t *partial = (const acc_t *)run.a.partial + (int64_t)row.first_slot * run.k;
  for (int64_t f = lane; f < run.k; f += LANES) {
    output<T> *y = (output<T> *)run.y + (int64_t)row.row * run.ldy + f;
    acc_t acc = run.beta == 0 ? 0 : (acc_t)(run.beta * (double)Y::widen(*y));
#pragma unroll 8
    for (int32_t p = 0; p < fragments; p++)
      acc += __ldcg(partial + p * run.k + f);
    *y = Y::narrow(acc);
  }
}

template <typename T, class S, bool BETA>
__global__ void __launch_bounds__(STREAM_BLOCK, S::blocks(BETA))
    stream(const sl_stream_run run, const x_places places) {
  constexpr int LANES = S::LANES, GROUPS = STREAM_BLOCK / LANES;
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
  if (run.arrivals && chunk.piece > 0) {
    if (lane == 0)
      wait_for_piece(run.arrivals, chunk.piece, run.arrivals->round.value);
    __syncwarp(mask);
  }
  for (int64_t f = lane * S::VEC; f - lane * S::VEC < run.k; f += LANES * S::VEC)
    stream_chunk<T, S, BETA>(run, places, chunk, f, f < run.k, lane, mask);
  if (chunk.slot >= 0)
    finish_fragment<T, LANES>(run, chunk, lane, mask);
}

/* The places of X's rows in units of VEC values; whether 32 bits reach them. */
template <typename T, int VEC> bool find_places(const sl_stream_run &run, x_places *out) {
  constexpr uint64_t UNIT = sizeof(input<T>) * VEC;
  const uintptr_t x = (uintptr_t)run.x, far = run.far ? (uintptr_t)run.far : x, base = x < far ? x : far;
  const uint64_t ldx = (uint64_t)run.ldx / VEC, ldfar = (uint64_t)run.ldfar / VEC,
                 near = (uint64_t)run.x_rows;
  const uint64_t x_end = (x - base) / UNIT + near * ldx;
  const uint64_t far_end = (far - base) / UNIT + (uint64_t)run.far_rows * ldfar;
  *out = {(const void *)base, (x - base) / UNIT, (far - base) / UNIT - near * ldfar,
          (uint32_t)ldx,      (uint32_t)ldfar,   run.far_rows > 0 ? (uint32_t)near : UINT32_MAX};
  return x_end <= UINT32_MAX && far_end <= UINT32_MAX;
}

template <typename T, class S>
sley_status launch_shape(sl_queue *queue, const sl_stream_run &run, const x_places &places) {
  constexpr int GROUPS = STREAM_BLOCK / S::LANES;
  const int64_t empties = run.beta == 1 ? 0 : run.a.empties;
  const int64_t blocks = (run.a.chunks + GROUPS - 1) / GROUPS + (empties + EMPTY_ROWS - 1) / EMPTY_ROWS;
  if (blocks > 0) {
    if (run.beta == 0)
      stream<T, S, false><<<(unsigned)blocks, STREAM_BLOCK, 0, sl_cuda_stream(queue)>>>(run, places);
    else
      stream<T, S, true><<<(unsigned)blocks, STREAM_BLOCK, 0, sl_cuda_stream(queue)>>>(run, places);
  }
  return sl_cuda_launched(queue, "spmm-stream");
}

/* The numbers were found by measurement on H200s. Beside a pull, which takes registers and threads of its
 * own, fewer groups with more loads each are faster; without one, more groups with fewer. */
template <typename T, int VEC>
sley_status launch_lanes(sl_queue *queue, const sl_stream_run &run, int lanes) {
  x_places places;
  const bool long_rows = run.a.row_entries >= LONG_ROW;
  if (!find_places<T, VEC>(run, &places))
    return launch_shape<T, shape<32, VEC, 4, 8, false, uint64_t>>(queue, run, places);
  if (lanes == 4 && long_rows)
    return launch_shape<T, shape<4, VEC, 4, 14, true, uint32_t>>(queue, run, places);
  if (lanes == 4)
    return launch_shape<T, shape<4, VEC, 4, 14, false, uint32_t>>(queue, run, places);
  if (lanes == 8 && long_rows && run.during_pull)
    return launch_shape<T, shape<8, VEC, 8, 14, true, uint32_t>>(queue, run, places);
  if (lanes == 8 && long_rows)
    return launch_shape<T, shape<8, VEC, 8, 16, true, uint32_t>>(queue, run, places);
  if (lanes == 8)
    return launch_shape<T, shape<8, VEC, 8, 16, false, uint32_t>>(queue, run, places);
  if (lanes == 16 && run.during_pull)
    return launch_shape<T, shape<16, VEC, 8, 16, true, uint32_t>>(queue, run, places);
  if (lanes == 16 && long_rows)
    return launch_shape<T, shape<16, VEC, 4, 16, true, uint32_t>>(queue, run, places);
  if (lanes == 16)
    return launch_shape<T, shape<16, VEC, 4, 20, false, uint32_t>>(queue, run, places);
  return launch_shape<T, shape<32, VEC, 8, 14, false, uint32_t>>(queue, run, places);
}

/* Whether rows can be read and written VEC values at a time, with work for more than half of `lanes`. */
template <typename T, int VEC> bool fits(const sl_stream_run &run, int lanes) {
  constexpr int64_t BYTES = VEC * sizeof(input<T>), OUT = VEC * sizeof(output<T>);
  return run.k % VEC == 0 && run.k > lanes / 2 * VEC && run.ldx % VEC == 0 && run.ldfar % VEC == 0 &&
         run.ldy % VEC == 0 && ((uintptr_t)run.x | (uintptr_t)run.far) % BYTES == 0 &&
         (uintptr_t)run.y % (OUT < 16 ? OUT : 16) == 0;
}

/* The least group that covers k with VEC values a lane, at least 8. */
template <int VEC> int lanes_for(int64_t k) {
  return k <= 8 * VEC ? 8 : k <= 16 * VEC ? 16 : 32;
}

/* The widest loads that alignment allows: 16 bytes a lane, then 8, 4 for values of 2, then single values.
 * Narrow products of very long rows have half as many lanes take a row of X, and so have those of 16 bits
 * whose rows are as short as a sector. */
template <typename T> sley_status launch_stream(sl_queue *queue, const sl_stream_run &run) {
  constexpr int BYTES = sizeof(input<T>), WIDEST = 16 / BYTES;
  SL_TRY(sl_cuda_use(queue->device));
  if (run.a.row_entries >= VERY_LONG_ROW && run.k <= 4 * WIDEST && fits<T, WIDEST>(run, 4))
    return launch_lanes<T, WIDEST>(queue, run, 4);
  if (fits<T, WIDEST>(run, 8))
    return launch_lanes<T, WIDEST>(queue, run, lanes_for<WIDEST>(run.k));
  if constexpr (BYTES < 8)
    if (fits<T, WIDEST / 2>(run, 8))
      return launch_lanes<T, WIDEST / 2>(queue, run, lanes_for<WIDEST / 2>(run.k));
  if constexpr (BYTES < 4) {
    if (run.k <= 2 * WIDEST && fits<T, WIDEST / 2>(run, 4))
      return launch_lanes<T, WIDEST / 2>(queue, run, 4);
    if (fits<T, WIDEST / 4>(run, 8))
      return launch_lanes<T, WIDEST / 4>(queue, run, lanes_for<WIDEST / 4>(run.k));
  }
  return launch_lanes<T, 1>(queue, run, lanes_for<1>(run.k));
}

} // namespace sley

#endif

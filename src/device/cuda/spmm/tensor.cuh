/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM over row windows on Tensor cores (spmm_windows.h; HC-SpMM, sections 4 and 5, generalized).
 *
 * Work of a warp. A chunk is a run of windows; chunks have about equally many slabs. A warp takes a chunk,
 * and of it a panel of TILES x 8 features, and reads the chunk's slabs as one stream, across the ends of
 * windows. Each slab multiplies 16 rows of A with the rows of X of its slots. The bits of a slab are
 * converted to registers once for all tiles; their input is loaded two slabs ahead (columns, bits) and one
 * slab ahead (values of A, rows of X). So short windows cost no more than long ones.
 *
 * Loads of X. In the operand of X, lane 4 g + q holds feature g of a tile, for the slots of its q. The
 * features of a tile may be chosen freely: lane g loads VEC neighbouring features at once, one for each of
 * VEC tiles. In the result, lane 4 g + q holds features 2 q and 2 q + 1 of each tile, for rows g and g + 8.
 * Features are numbered so that the lanes of one g store neighbouring memory in each instruction (block_of).
 *
 * f32. A tf32 operand has 11 significant bits. Each value v is split: v = high + low, with high rounded to
 * nearest. A product is low a high x + high a low x + high a high x, summed by the Tensor core in f32. low is
 * rounded to nearest for A and truncated for X, so the errors are at most 2^-22 |a||x| for the product of
 * both low parts, as much for low a, and 2^-21 |a||x| for low x. The Tensor core truncates when it adds, so
 * the sum of a slab is added to the window's sum by an ordinary addition, rounded to nearest.
 *
 * f32 by tf32 alone (ONCE), for plans that allow it. Each value is rounded to 11 bits and multiplied once;
 * the error is at most 2^-10 + 2^-22 of a product.
 *
 * f16, bf16. Products are exact in f32. The Tensor core adds slabs to the window's sum by itself; each
 * addition has an error of less than 4 roundings. SL_TENSOR_* in spmm_windows.h state the resulting bounds.
 *
 * Infinities and NaNs. If a row has no entry in a slot, 0 is multiplied by X there: a NaN if X is not finite.
 * Splitting large values may overflow too. So an element whose sum is not finite is summed again, entry by
 * entry. All other elements are multiplied by alpha after they are summed.
 *
 * Order of summation. Slots are in the order of columns, and the order within an operation is the hardware's,
 * which is the same each time and for each element, wherever it is in a tile. Long windows are cut into
 * fragments, whose sums are added in order by the warp that finishes last, as in stream.cuh. So the bits
 * repeat, and do not depend on panels. */
#ifndef SLEY_DEVICE_CUDA_SPMM_TENSOR_CUH
#define SLEY_DEVICE_CUDA_SPMM_TENSOR_CUH

#include <cfloat>

#include "device/cuda/places.cuh"
#include "device/cuda/rows/pull_pieces.cuh"
#include "device/cuda/spmm/fragments.cuh"
#include "device/cuda/spmm/spmm_windows.h"
#include "device/cuda/tensor_cores.cuh"
#include "device/cuda/tf32.cuh"

namespace sley {

enum { TENSOR_BLOCK = 128 };

/* The Tensor core operation for each type; registers of A and of X hold PACK values. */
template <typename T> struct tensor_core;

template <> struct tensor_core<float> { static constexpr int SLOTS = 8, PACK = 1; };
template <> struct tensor_core<f16> { static constexpr int SLOTS = 16, PACK = 2; };
template <> struct tensor_core<bf16> { static constexpr int SLOTS = 16, PACK = 2; };

/* The features of a warp: GROUPS groups of 8 blocks of VEC features. For each row of X a lane loads one block
 * of each group. */
template <typename T_, int VEC_, int GROUPS_, bool ONCE_> struct tensor_shape {
  using T = T_;
  static constexpr bool ONCE = ONCE_; /* f32 values are multiplied once, rounded to tf32 */
  using in_t = input<T>;
  static constexpr int VEC = VEC_, GROUPS = GROUPS_, GROUP = 8 * VEC, PANEL = GROUPS * GROUP;
  static constexpr int X_BYTES = VEC * sizeof(in_t), X_WORDS = X_BYTES < 4 ? 1 : X_BYTES / 4;
  static constexpr int SLOTS = tensor_core<in_t>::SLOTS, QUARTER = SLOTS / 4 /* slots of a lane */,
                       BITS = SLOTS / 2 /* bits of a lane */, WORDS = SLOTS / 2 /* words of a slab */;
};

/* Block of a group that contains feature n of its tiles. */
static __device__ __forceinline__ int block_of(int n) {
  return n / 2 + n % 2 * 4;
}

/* A lane's data of a slab before its values are loaded. */
template <class S> struct slab_head {
  vector<int32_t, S::QUARTER> col;
  unsigned bits, first; /* the lane's bits, in the lowest bits; index of their first value */
};

/* VEC neighbouring values of a row of X, as 32-bit registers. */
template <class S> union x_words {
  typename word<S::X_BYTES>::type loaded;
  unsigned bits[S::X_WORDS];
  __device__ x_words() {
#pragma unroll
    for (int i = 0; i < S::X_WORDS; i++)
      bits[i] = 0;
  }
};

template <class S> struct slab_body {
  typename S::in_t a[S::BITS];
  x_words<S> x[S::GROUPS][S::QUARTER];
  bool ends; /* the slab is the last of its window */
};

template <class S>
__device__ __forceinline__ slab_head<S> load_head(const sl_windows &a, uint32_t slab, int lane) {
  constexpr int LANES = 32 / S::BITS; /* lanes of a word */
  slab_head<S> head;
  head.col = load_shared<int32_t, S::QUARTER>(a.col + (uint64_t)slab * S::SLOTS + lane % 4 * S::QUARTER);
  const uint2 word = __ldg((const uint2 *)(a.word + (uint64_t)slab * S::WORDS + lane / LANES));
  const int shift = lane % LANES * S::BITS;
  head.bits = word.x >> shift & ((1u << S::BITS) - 1);
  head.first = word.y + __popc(word.x & ((1u << shift) - 1));
  return head;
}

/* x: address of the lane's first feature of X. Groups from feature `features` on, relative to it, are not
 * loaded; their registers keep earlier values. */
template <class S>
__device__ __forceinline__ void load_body(slab_body<S> &body, const sl_windows &a, const x_places &places,
                                          const typename S::in_t *x, int features, const slab_head<S> &head) {
  using in_t = typename S::in_t;
  body.ends = head.col.item[0] < 0;
#pragma unroll
  for (int s = 0; s < S::QUARTER; s++) {
    const in_t *row = x + place_of<uint64_t>(places, head.col.item[s] & INT32_MAX) * S::VEC;
#pragma unroll
    for (int j = 0; j < S::GROUPS; j++)
      if (j * S::GROUP < features)
        body.x[j][s].loaded = *(const typename word<S::X_BYTES>::type *)(row + j * S::GROUP);
  }
#pragma unroll
  for (int i = 0; i < S::BITS; i++) {
    body.a[i] = value<in_t>::narrow(0);
    if (head.bits >> i & 1) {
      const uint32_t at = head.first + (uint32_t)__popc(head.bits & ((1u << i) - 1));
      body.a[i] = load_shared<in_t, 1>((const in_t *)a.val + at).item[0];
    }
  }
}

/* A lane's sums of a panel of a window: rows lane / 4 and lane / 4 + 8, for VEC neighbouring features at four
 * places per group. */
template <class S> using tile_sums = float[S::GROUPS][S::VEC][4];

/* Adds the slab's product to acc, tile by tile. */
template <class S>
__device__ __forceinline__ void multiply_slab(tile_sums<S> &acc, const slab_body<S> &body,
                                              int panel_features) {
  if constexpr (S::SLOTS == 8 && S::ONCE) {
    unsigned a[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
      a[i] = to_tf32_or_nan(body.a[i]);
#pragma unroll
    for (int j = 0; j < S::GROUPS; j++)
      if (j * S::GROUP < panel_features)
#pragma unroll
        for (int v = 0; v < S::VEC; v++) {
          float sum[4] = {0, 0, 0, 0};
          multiply_tf32(sum, a, to_tf32_or_nan(__uint_as_float(body.x[j][0].bits[v])),
                        to_tf32_or_nan(__uint_as_float(body.x[j][1].bits[v])));
#pragma unroll
          for (int c = 0; c < 4; c++)
            acc[j][v][c] += sum[c];
        }
  } else if constexpr (S::SLOTS == 8) {
    unsigned high[4], low[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const split_value a = split(body.a[i], to_tf32_or_nan(body.a[i]));
      high[i] = a.high;
      low[i] = to_tf32(__uint_as_float(a.low));
    }
#pragma unroll
    for (int j = 0; j < S::GROUPS; j++)
      if (j * S::GROUP < panel_features)
#pragma unroll
        for (int v = 0; v < S::VEC; v++) {
          const split_value x0 = split(__uint_as_float(body.x[j][0].bits[v])),
                            x1 = split(__uint_as_float(body.x[j][1].bits[v]));
          float sum[4] = {0, 0, 0, 0};
          multiply_tf32(sum, low, x0.high, x1.high);
          multiply_tf32(sum, high, x0.low, x1.low);
          multiply_tf32(sum, high, x0.high, x1.high);
#pragma unroll
          for (int c = 0; c < 4; c++)
            acc[j][v][c] += sum[c];
        }
  } else {
    unsigned a[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
      a[i] = (unsigned)body.a[2 * i].bits | (unsigned)body.a[2 * i + 1].bits << 16;
#pragma unroll
    for (int j = 0; j < S::GROUPS; j++)
      if (j * S::GROUP < panel_features)
#pragma unroll
        for (int v = 0; v < S::VEC; v++) {
          /* Feature v of two slots, as one register. */
          auto pair = [&](int slot) {
            return __byte_perm(body.x[j][slot].bits[v / 2], body.x[j][slot + 1].bits[v / 2],
                               v % 2 == 0 ? 0x5410 : 0x7632);
          };
          multiply_pairs<typename S::in_t>(acc[j][v], a, pair(0), pair(2));
        }
  }
}

/* Sums an element of Y again whose sum is not finite, in the documented order except that entries are in the
 * order of slots. */
template <class S>
__device__ __noinline__ float sum_again(const sl_window_run &run, const x_places &places, int64_t window,
                                        int row, int64_t feature, float start) {
  using in_t = typename S::in_t;
  float sum = start;
  for (int64_t slab = run.a.first[window]; slab < run.a.first[window + 1]; slab++)
    for (int slot = 0; slot < S::SLOTS; slot++) {
      const int s = slot % S::QUARTER, half = row / 8, lane = row % 8 * 4 + slot / S::QUARTER;
      const int bit = S::SLOTS == 8 ? half + 2 * s : (half + 2 * (s / 2)) * 2 + s % 2;
      const sl_slab_word word = run.a.word[slab * S::WORDS + lane * S::BITS / 32];
      const unsigned mask = 1u << (lane * S::BITS % 32 + bit);
      if (!(word.bits & mask))
        continue;
      const in_t val = ((const in_t *)run.a.val)[word.first + __popc(word.bits & (mask - 1))];
      const int32_t col = run.a.col[slab * S::SLOTS + slot] & INT32_MAX;
      const in_t *x = (const in_t *)places.base + place_of<uint64_t>(places, col) * S::VEC + feature;
      sum = multiply_add(value<in_t>::weight(run.alpha, val), value<in_t>::widen(*x), sum);
    }
  return sum;
}

/* Stores an element of Y, computed from the sum of A X for it. */
template <class S>
__device__ __noinline__ void finish_element(const sl_window_run &run, const x_places &places, int64_t window,
                                            int row, int64_t feature, float sum) {
  using Y = value<output<typename S::T>>;
  const int32_t to = run.a.row[window * SL_WINDOW_ROWS + row];
  if (to < 0 || feature >= run.k)
    return;
  output<typename S::T> *y = (output<typename S::T> *)run.y + (int64_t)to * run.ldy + feature;
  const float start = run.beta == 0 ? 0 : (float)(run.beta * (double)Y::widen(*y));
  *y = Y::narrow(fabsf(sum) <= FLT_MAX ? value<float>::weight(run.alpha, sum) + start
                                       : sum_again<S>(run, places, window, row, feature, start));
}

/* Stores VEC neighbouring elements of Y, for alpha = 1 and beta = 0, or beta = 1 if `adds`. */
template <class S>
__device__ __forceinline__ void store_block(output<typename S::T> *y, bool adds, float (&sums)[S::VEC]) {
  using out_t = output<typename S::T>;
  if (adds) {
    const vector<out_t, S::VEC> old = load_plain<out_t, S::VEC>(y);
#pragma unroll
    for (int v = 0; v < S::VEC; v++)
      sums[v] += widened(old, v);
  }
  store_once<out_t, S::VEC>(y, sums);
}

/* Calls use(row, feature, sums) for each VEC neighbouring sums; f: the panel's first feature. */
template <class S, class USE>
__device__ __forceinline__ void each_block(const tile_sums<S> &acc, int64_t f, int lane, USE use) {
#pragma unroll
  for (int c = 0; c < 4; c++)
#pragma unroll
    for (int j = 0; j < S::GROUPS; j++) {
      float sums[S::VEC];
#pragma unroll
      for (int v = 0; v < S::VEC; v++)
        sums[v] = acc[j][v][c];
      use(lane / 4 + c / 2 * 8, f + j * S::GROUP + block_of(lane % 4 * 2 + c % 2) * S::VEC, sums);
    }
}

template <class S> __device__ __forceinline__ bool all_finite(const tile_sums<S> &acc) {
  float zero = 0; /* or NaN */
#pragma unroll
  for (int j = 0; j < S::GROUPS; j++)
#pragma unroll
    for (int v = 0; v < S::VEC; v++)
#pragma unroll
      for (int c = 0; c < 4; c++)
        zero = fmaf(acc[j][v][c], 0.0f, zero);
  return zero == 0;
}

/* Stores elements if alpha or beta have other values, or a sum is not finite. */
template <class S>
__device__ __noinline__ void finish_elements(const sl_window_run &run, const x_places &places, int64_t window,
                                             int64_t f, int lane, const float *sums) {
#pragma unroll 1
  for (int i = 0; i < S::GROUPS * S::VEC * 4; i++) {
    const int c = i % 4, v = i / 4 % S::VEC, j = i / 4 / S::VEC;
    finish_element<S>(run, places, window, lane / 4 + c / 2 * 8,
                      f + j * S::GROUP + block_of(lane % 4 * 2 + c % 2) * S::VEC + v, sums[i]);
  }
}

/* The rows of Y for a lane's sums, loaded long before the sums are stored. */
struct window_rows {
  int32_t upper, lower;
  __device__ __forceinline__ window_rows(const sl_windows &a, int64_t window, int lane) {
    const int32_t *rows = a.row + window * SL_WINDOW_ROWS + lane / 4;
    upper = rows[0];
    lower = rows[8];
  }
};

/* Stores a lane's part of a window of Y. */
template <class S>
__device__ __forceinline__ void finish_tile(const sl_window_run &run, const x_places &places, int64_t window,
                                            int64_t f, int lane, const window_rows &rows,
                                            const tile_sums<S> &acc) {
  using out_t = output<typename S::T>;
  if (run.alpha != 1 || (run.beta != 0 && run.beta != 1) || !all_finite<S>(acc)) {
    float sums[S::GROUPS * S::VEC * 4];
#pragma unroll
    for (int i = 0; i < S::GROUPS * S::VEC * 4; i++)
      sums[i] = acc[i / 4 / S::VEC][i / 4 % S::VEC][i % 4];
    finish_elements<S>(run, places, window, f, lane, sums);
    return;
  }
  each_block<S>(acc, f, lane, [&](int row, int64_t feature, float(&sums)[S::VEC]) {
    const int32_t to_row = row < 8 ? rows.upper : rows.lower;
    if (to_row >= 0 && feature < run.k)
      store_block<S>((out_t *)run.y + (int64_t)to_row * run.ldy + feature, run.beta == 1, sums);
  });
}

template <class S>
__device__ __forceinline__ void tensor_chunk(const sl_window_run &run, const x_places &places,
                                             const sl_chunk &chunk, int64_t f, int lane) {
  const int panel_features = keep((int)(run.k - f < S::PANEL ? run.k - f : S::PANEL));
  /* Lanes without features load the first features, and store nothing. */
  const int mine = block_of(lane / 4) * S::VEC;
  const int features = keep(panel_features > mine ? panel_features - mine : 1);
  const typename S::in_t *x =
      keep((const typename S::in_t *)places.base + f + (panel_features > mine ? mine : 0));
  uint32_t slab = (uint32_t)chunk.begin;
  const uint32_t last = slab + (uint32_t)chunk.count - 1;
  int64_t window = chunk.row;
  window_rows rows(run.a, window, lane);
  tile_sums<S> acc;
  auto clear = [&] {
#pragma unroll
    for (int j = 0; j < S::GROUPS; j++)
#pragma unroll
      for (int v = 0; v < S::VEC; v++)
#pragma unroll
        for (int c = 0; c < 4; c++)
          acc[j][v][c] = 0;
  };
  clear();
  slab_body<S> even, odd;
  slab_head<S> head = load_head<S>(run.a, slab, lane);
  load_body<S>(even, run.a, places, x, features, head);
  head = load_head<S>(run.a, slab < last ? slab + 1 : last, lane);
  /* Multiplies slab `now`, after it has started the loads of the next slabs. */
  auto advance = [&](const slab_body<S> &now, slab_body<S> &next) {
    if (slab < last) {
      load_body<S>(next, run.a, places, x, features, head);
      head = load_head<S>(run.a, slab + 1 < last ? slab + 2 : last, lane);
    }
    multiply_slab<S>(acc, now, panel_features);
    if (now.ends && chunk.slot < 0) {
      finish_tile<S>(run, places, window++, f, lane, rows, acc);
      if (slab < last)
        rows = window_rows(run.a, window, lane);
      clear();
    }
    return slab++ < last;
  };
  while (advance(even, odd) && advance(odd, even))
    ;
  if (chunk.slot >= 0) {
    float *partial = (float *)run.a.partial + (int64_t)chunk.slot * SL_WINDOW_ROWS * run.k;
    each_block<S>(acc, f, lane, [&](int row, int64_t feature, const float(&sums)[S::VEC]) {
      for (int v = 0; v < S::VEC && feature < run.k; v++)
        partial[row * run.k + feature + v] = sums[v];
    });
  }
}

/* Adds `count` fragments of an element, one every `stride` slots from slot `first` on. */
__device__ __forceinline__ float add_slots(const sl_window_run &run, int64_t first, int count, int stride,
                                           int row, int64_t feature) {
  const int64_t tile = SL_WINDOW_ROWS * run.k;
  const float *partial = (const float *)run.a.partial + first * tile + row * run.k + feature;
  float sum = 0;
#pragma unroll 4
  for (int p = 0; p < count; p++)
    sum += __ldcg(partial + (int64_t)p * stride * tile);
  return sum;
}

/* Stores a panel of the sums of a fragment of a long window. */
template <class S>
__device__ __noinline__ void finish_window(const sl_window_run &run, const x_places &places,
                                           const fragment_place where, int panel, int lane) {
  const int64_t window = fragments_of(run.a, where).row;
  add_fragments<32>(run.a, where, panel, lane, ~0u, [&](int64_t first, int count, int stride, bool whole) {
    for (int i = lane; i < SL_WINDOW_ROWS * S::PANEL; i += 32) {
      const int row = i / S::PANEL;
      const int64_t feature = (int64_t)panel * S::PANEL + i % S::PANEL;
      if (feature >= run.k)
        continue;
      const float sum = add_slots(run, first, count, stride, row, feature);
      if (whole)
        finish_element<S>(run, places, window, row, feature, sum);
      else
        ((float *)run.a.partial)[(first * SL_WINDOW_ROWS + row) * run.k + feature] = sum;
    }
  });
}

template <class S, int MIN_BLOCKS>
__global__ void __launch_bounds__(TENSOR_BLOCK, MIN_BLOCKS)
    tensor(const __grid_constant__ sl_window_run run, const __grid_constant__ x_places places,
           const unsigned panels) {
  constexpr int WARPS = TENSOR_BLOCK / 32;
  const unsigned blocks = (unsigned)((run.a.chunks + WARPS - 1) / WARPS);
  /* Processes panel after panel, so that rows of X stay in the cache; but chunk after chunk if rows arrive in
   * that order. */
  const unsigned panel = run.arrivals ? blockIdx.x % panels : blockIdx.x / blocks;
  const unsigned block = run.arrivals ? blockIdx.x / panels : blockIdx.x % blocks;
  const int lane = keep((int)(threadIdx.x % 32));
  const int64_t at = (int64_t)block * WARPS + threadIdx.x / 32;
  if (at >= run.a.chunks)
    return;
  const sl_chunk chunk = chunk_at(run.a.chunk, at);
  if (run.arrivals && chunk.piece > 0) {
    if (lane == 0)
      wait_for_piece(run.arrivals, chunk.piece, run.arrivals->round.value);
    __syncwarp();
  }
  tensor_chunk<S>(run, places, chunk, (int64_t)panel * S::PANEL, lane);
  if (chunk.slot >= 0)
    finish_window<S>(run, places, {chunk.slot, chunk.long_row}, (int)panel, lane);
}

template <class S, int MIN_BLOCKS> sley_status launch_tensor(sl_queue *queue, const sl_window_run &run) {
  constexpr int WARPS = TENSOR_BLOCK / 32;
  x_places places;
  find_places<typename S::T, S::VEC>(run, &places);
  const int64_t panels = (run.k + S::PANEL - 1) / S::PANEL;
  const int64_t blocks = (run.a.chunks + WARPS - 1) / WARPS * panels;
  if (blocks > INT32_MAX)
    return sl_fail(SLEY_ERR_OVERFLOW,
                   "a part with %lld entries is too large for %lld columns on one device: "
                   "use more ranks, or fewer columns at a time",
                   (long long)run.a.entries, (long long)run.k);
  tensor<S, MIN_BLOCKS>
      <<<(unsigned)blocks, TENSOR_BLOCK, 0, sl_cuda_stream(queue)>>>(run, places, (unsigned)panels);
  return sl_cuda_launched(queue, "spmm-tensor");
}

/* Returns whether rows can be accessed VEC values at a time. */
template <typename T, int VEC> bool tensor_fits(const sl_window_run &run) {
  return run.k % VEC == 0 && aligned_rows<T, VEC>(run);
}

/* Panels of 32, 64 or 128 features; the widest only if loads are so wide that the registers suffice. */
template <typename T, int VEC, bool ONCE>
sley_status launch_panels(sl_queue *queue, const sl_window_run &run) {
  constexpr int BYTES = VEC * sizeof(input<T>);
  if constexpr (VEC < 8)
    if (run.k <= 32)
      return launch_tensor<tensor_shape<T, VEC, 4 / VEC, ONCE>, 4>(queue, run);
  if constexpr (BYTES >= 8)
    if (run.k > 64 && run.k % 64 != 0)
      return launch_tensor<tensor_shape<T, VEC, 16 / VEC, ONCE>, 3>(queue, run);
  return launch_tensor < tensor_shape<T, VEC, 8 / VEC, ONCE>, BYTES == 2 ? 3 : 4 > (queue, run);
}

/* ONCE: f32 values are rounded to tf32 and multiplied once; see the top of this file. */
template <typename T, bool ONCE> sley_status launch_tensor_of(sl_queue *queue, const sl_window_run &run) {
  SL_TRY(sl_cuda_use(queue->device));
  if constexpr (sizeof(input<T>) == 2)
    if (tensor_fits<T, 8>(run))
      return launch_panels<T, 8, ONCE>(queue, run);
  if (tensor_fits<T, 4>(run))
    return launch_panels<T, 4, ONCE>(queue, run);
  if (tensor_fits<T, 2>(run))
    return launch_panels<T, 2, ONCE>(queue, run);
  return launch_panels<T, 1, ONCE>(queue, run);
}

/* Y has the type of X; if X has 16 bits and run says so, it has the type of sums. */
template <typename T, bool ONCE> sley_status launch_tensor_to(sl_queue *queue, const sl_window_run &run) {
  if constexpr (sizeof(T) == 2)
    if (run.wide_y)
      return launch_tensor_of<wide<T>, ONCE>(queue, run);
  return launch_tensor_of<T, ONCE>(queue, run);
}

} // namespace sley

#endif

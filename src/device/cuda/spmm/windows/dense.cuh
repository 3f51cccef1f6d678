/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM over dense windows (spmm_windows.h), on Tensor cores: each window is multiplied as a dense matrix of
 * its rows times its slots.
 *
 * Work of a block of threads. A block takes a chunk (a window, or a fragment of a long one) and a panel of
 * features, and steps through the chunk's slots, STEP at a time. All operands are copied to shared memory
 * asynchronously: the bits of a step four steps ahead, and by them and by the places of the rows of X, two
 * steps ahead, the rows of X and the values of A, with zeros in between. Neighbouring lanes copy values of
 * neighbouring rows of a slot, which are neighbours in memory; values of 2 bytes, for which there is no
 * asynchronous copy, pass through registers. A warp sums tiles of 16 rows times 8 features (dense_tiles.cuh):
 * each value that it reads from shared memory is used for several tiles, and a row of X is loaded once for
 * all rows of the window.
 *
 * Order of summation. Slots are in the order of columns. In f64 and in 16-bit types, the Tensor core adds the
 * terms of 8 or 16 slots to an element's sum; in f32 it sums 8 slots, each value split into two parts, or
 * rounded to tf32, as in tensor.cuh, and that sum is added to the element's. The order within an operation is
 * the hardware's, which is the same each time and for each element. Fragments of a long window are added
 * first to last, by the block that finishes last. The sum is then multiplied by alpha. So the bits repeat,
 * and depend neither on panels nor on the number of features. The errors are those of tensor.cuh, and in f64,
 * where each term is added with one rounding, within the bound of the documented order.
 *
 * Infinities and NaNs. If a row has no entry in a slot, 0 is multiplied by X there: a NaN if X is not finite.
 * So an element whose sum is not finite is summed again, entry by entry, as in tensor.cuh. */
#ifndef SLEY_DEVICE_CUDA_SPMM_WINDOWS_DENSE_CUH
#define SLEY_DEVICE_CUDA_SPMM_WINDOWS_DENSE_CUH

#include <cfloat>

#include "device/cuda/places.cuh"
#include "device/cuda/rows/pull_pieces.cuh"
#include "device/cuda/shared_memory.cuh"
#include "device/cuda/spmm/fragments.cuh"
#include "device/cuda/spmm/windows/dense_tiles.cuh"

namespace sley {

/* The chunk that a block multiplies: its slots, and the panel's first feature. */
struct dense_range {
  int64_t begin;
  int count;
  int64_t feature;
};

/* A thread's part of each step: of A, one row of slots a_slot, a_slot + THREADS / ROWS and so on; of X, VEC
 * features of slots x_slot, x_slot + THREADS / VECTORS and so on, of which `mine` exist. */
struct dense_part {
  unsigned bit, below; /* the row's bit of a word, and the bits of the rows before it */
  int a_slot, row, x_slot, feature, mine;
};

template <class S> __device__ __forceinline__ dense_part part_of(int thread, int64_t features) {
  const int row = thread % S::ROWS, x_slot = thread / S::VECTORS, feature = thread % S::VECTORS * S::VEC;
  const int64_t left = x_slot < S::STEP ? features - feature : 0;
  const unsigned bit = 1u << row % 32;
  return {bit,
          bit - 1,
          thread / S::ROWS,
          row,
          x_slot,
          feature,
          left < 0 ? 0 : left < S::VEC ? (int)left : S::VEC};
}

/* Copies the words of a step; slots beyond the chunk have no bits. */
template <class S>
__device__ __forceinline__ void copy_words(dense_memory<S> &m, const sl_windows &a, const dense_range &range,
                                           int step) {
  const int thread = (int)threadIdx.x, slot = step * S::STEP + thread / S::WORDS;
  if (thread < S::STEP * S::WORDS) {
    const bool there = slot < range.count;
    const sl_slab_word *from = a.word + (there ? (range.begin + slot) * S::WORDS + thread % S::WORDS : 0);
    copy_ahead<(int)sizeof *from>(&m.word[step % DENSE_WORDS][thread / S::WORDS][thread % S::WORDS], from,
                                  there ? (int)sizeof *from : 0);
  }
}

/* The column of the thread's slot of a step; a slot beyond the chunk has the column of the last one, because
 * what is multiplied by zeros must exist. */
template <class S>
__device__ __forceinline__ int32_t load_column(const sl_windows &a, const dense_range &range, int step) {
  const int slot = step * S::STEP + (int)threadIdx.x;
  return threadIdx.x < S::STEP ? __ldg(a.col + range.begin + (slot < range.count ? slot : range.count - 1))
                               : 0;
}

template <class S>
__device__ __forceinline__ void store_place(dense_memory<S> &m, const x_places &places,
                                            const dense_range &range, int32_t col, int step) {
  if (threadIdx.x < S::STEP)
    m.place[step % DENSE_PLACES][threadIdx.x] = (const typename S::in_t *)places.base +
                                                place_of<uint64_t>(places, (uint32_t)col) * S::VEC +
                                                range.feature;
}

/* Copies the rows of X of a step. Features beyond k keep what was there; their sums are not used. */
template <class S>
__device__ __forceinline__ void copy_rows(dense_memory<S> &m, const dense_part &part, int step, int stage) {
  constexpr int BYTES = S::VEC * S::VALUE, NEXT = S::THREADS / S::VECTORS;
  if constexpr (BYTES >= 4)
    if (part.mine == S::VEC) {
#pragma unroll
      for (int i = 0; i < S::COPIES; i++)
        copy_ahead<BYTES>(&m.x[stage][part.x_slot + i * NEXT][part.feature],
                          m.place[step % DENSE_PLACES][part.x_slot + i * NEXT] + part.feature);
      return;
    }
  if (part.mine > 0)
#pragma unroll 4
    for (int i = 0; i < S::COPIES; i++) {
      const typename S::in_t *from = m.place[step % DENSE_PLACES][part.x_slot + i * NEXT] + part.feature;
      typename S::in_t *to = &m.x[stage][part.x_slot + i * NEXT][part.feature];
      for (int v = 0; v < part.mine; v++)
        to[v] = from[v];
    }
}

/* Where the value of the thread's row is in a slot, if there is one. */
struct dense_cell {
  bool there;
  uint32_t at;
};

template <class S>
__device__ __forceinline__ dense_cell cell_of(const dense_memory<S> &m, const dense_part &part, int step,
                                              int i) {
  const int slot = part.a_slot + i * (S::THREADS / S::ROWS);
  const sl_slab_word word = m.word[step % DENSE_WORDS][slot][part.row / 32];
  return {(word.bits & part.bit) != 0, word.first + __popc(word.bits & part.below)};
}

/* Copies the values of a step, if they have 4 or 8 bytes; zeros where there is no entry. */
template <class S>
__device__ __forceinline__ void copy_cells(dense_memory<S> &m, const typename S::in_t *val,
                                           const dense_part &part, int step, int stage) {
  if constexpr (S::VALUE >= 4)
#pragma unroll
    for (int i = 0; i < S::CELLS; i++) {
      const dense_cell cell = cell_of<S>(m, part, step, i);
      copy_ahead<S::VALUE>(&m.a[stage][part.a_slot + i * (S::THREADS / S::ROWS)][part.row],
                           val + (cell.there ? cell.at : 0), cell.there ? S::VALUE : 0);
    }
}

/* The same for values of 2 bytes: they are loaded to registers, and stored later. */
template <class S> using dense_cells = typename S::in_t[S::CELLS];

template <class S>
__device__ __forceinline__ void load_cells(dense_cells<S> &cells, const dense_memory<S> &m,
                                           const typename S::in_t *val, const dense_part &part, int step) {
  using in_t = typename S::in_t;
  if constexpr (S::VALUE == 2)
#pragma unroll
    for (int i = 0; i < S::CELLS; i++) {
      const dense_cell cell = cell_of<S>(m, part, step, i);
      cells[i] = value<in_t>::narrow(0);
      if (cell.there)
        cells[i] = load_shared<in_t, 1>(val + cell.at).item[0];
    }
}

template <class S>
__device__ __forceinline__ void store_cells(dense_memory<S> &m, const dense_cells<S> &cells,
                                            const dense_part &part, int stage) {
  if constexpr (S::VALUE == 2)
#pragma unroll
    for (int i = 0; i < S::CELLS; i++)
      m.a[stage][part.a_slot + i * (S::THREADS / S::ROWS)][part.row] = cells[i];
}

/* Sums the chunk's part of the panel. When step s begins, its operands are in shared memory and those of step
 * s + 1 are being copied; words up to those of step s + 2 and the places of step s + 2 are in shared memory,
 * and `column` is of step s + 3. */
template <class S>
__device__ __forceinline__ void multiply_range(dense_sums<S> &sums, dense_memory<S> &m,
                                               const sl_window_run &run, const x_places &places,
                                               const dense_place &p, const dense_range &range) {
  const int steps = (range.count + S::STEP - 1) / S::STEP;
  const auto *val = (const typename S::in_t *)run.a.val;
  const dense_part part = part_of<S>((int)threadIdx.x, run.k - range.feature);
  dense_cells<S> cells;
  for (int step = 0; step < DENSE_WORDS; step++)
    copy_words<S>(m, run.a, range, step);
  store_place<S>(m, places, range, load_column<S>(run.a, range, 0), 0);
  store_place<S>(m, places, range, load_column<S>(run.a, range, 1), 1);
  int32_t column = load_column<S>(run.a, range, 2);
  copies_wait_all();
  __syncthreads();
  load_cells<S>(cells, m, val, part, 0);
  for (int step = 0; step < 2; step++) {
    copy_cells<S>(m, val, part, step, step);
    copy_rows<S>(m, part, step, step);
    copies_commit();
  }
  store_cells<S>(m, cells, part, 0);
  __syncthreads();
  store_place<S>(m, places, range, column, 2);
  column = load_column<S>(run.a, range, 3);
  copies_wait<1>();
  __syncthreads();
  int now = 0, next = 1, second = 2; /* stages of steps s, s + 1, s + 2 */
  for (int step = 0; step < steps; step++) {
    if (step + 2 < steps) {
      copy_cells<S>(m, val, part, step + 2, second);
      copy_rows<S>(m, part, step + 2, second);
      copy_words<S>(m, run.a, range, step + 4);
    }
    copies_commit();
    load_cells<S>(cells, m, val, part, step + 1);
    store_place<S>(m, places, range, column, step + 3);
    column = load_column<S>(run.a, range, step + 4);
    multiply_step<S>(sums, m.a[now], m.x[now], p);
    store_cells<S>(m, cells, part, next);
    copies_wait<1>();
    __syncthreads();
    const int free = now;
    now = next;
    next = second;
    second = free;
  }
}

/* Sums an element of Y again whose sum is not finite, in the documented order except that entries are in the
 * order of slots. */
template <class S>
__device__ __noinline__ typename S::sum_t sum_entries(const sl_window_run &run, const x_places &places,
                                                      int64_t window, int row, int64_t feature,
                                                      typename S::sum_t start) {
  using in_t = typename S::in_t;
  typename S::sum_t sum = start;
  for (int64_t slot = run.a.first[window]; slot < run.a.first[window + 1]; slot++) {
    const sl_slab_word word = run.a.word[slot * S::WORDS + row / 32];
    const unsigned mask = 1u << row % 32;
    if (!(word.bits & mask))
      continue;
    const in_t val = ((const in_t *)run.a.val)[word.first + __popc(word.bits & (mask - 1))];
    const in_t *x =
        (const in_t *)places.base + place_of<uint64_t>(places, (uint32_t)run.a.col[slot]) * S::VEC + feature;
    sum = multiply_add(value<in_t>::weight(run.alpha, val), value<in_t>::widen(*x), sum);
  }
  return sum;
}

__device__ __forceinline__ bool is_finite(float v) {
  return fabsf(v) <= FLT_MAX;
}
__device__ __forceinline__ bool is_finite(double v) {
  return fabs(v) <= DBL_MAX;
}

/* Stores an element of Y, computed from the sum of A X for it. */
template <class S>
__device__ __forceinline__ void store_element(const sl_window_run &run, const x_places &places,
                                              int64_t window, int row, int64_t feature,
                                              output<typename S::T> *y, typename S::sum_t sum) {
  using Y = value<output<typename S::T>>;
  using sum_t = typename S::sum_t;
  const sum_t start = run.beta == 0 ? 0 : (sum_t)(run.beta * (double)Y::widen(*y));
  *y = Y::narrow(is_finite(sum) ? value<sum_t>::weight(run.alpha, sum) + start
                                : sum_entries<S>(run, places, window, row, feature, start));
}

/* Stores a thread's sums to the rows of Y. wide: rows of Y can be stored two values at a
 * time. */
template <class S>
__device__ __forceinline__ void finish_rows(const sl_window_run &run, const x_places &places, int64_t window,
                                            const dense_place &p, int64_t panel_feature, bool wide,
                                            dense_sums<S> &sums) {
  using out_t = output<typename S::T>;
  const bool plain = wide && run.alpha == 1 && run.beta == 0;
#pragma unroll
  for (int half = 0; half < 2 * S::TILES_M; half++) {
    const int m = half / 2, c = half % 2 * 2, row = dense_row(p, m, c);
    const int32_t to = __ldg(run.a.row + window * S::ROWS + row);
    if (to < 0)
      continue;
    out_t *y = (out_t *)run.y + (int64_t)to * run.ldy;
#pragma unroll
    for (int n = 0; n < S::TILES_N; n++) {
      const int64_t feature = panel_feature + dense_feature(p, n);
      const typename S::sum_t some[2] = {sums[m][n][c], sums[m][n][c + 1]};
      if (plain && is_finite(some[0]) && is_finite(some[1]) && feature + 2 <= run.k)
        store_once<out_t, 2>(y + feature, some);
      else
#pragma unroll
        for (int j = 0; j < 2; j++)
          if (feature + j < run.k)
            store_element<S>(run, places, window, row, feature + j, y + feature + j, some[j]);
    }
  }
}

/* Address of element (row, feature) of the sums of a fragment. */
template <class S>
__device__ __forceinline__ typename S::sum_t *partial_of(const sl_window_run &run, int64_t slot, int row,
                                                         int64_t feature) {
  return (typename S::sum_t *)run.a.partial + (slot * S::ROWS + row) * run.k + feature;
}

/* Stores the sums of a fragment. Returns whether this block is the last of its window and panel; then sums
 * becomes the sum of all fragments, first to last. */
template <class S>
__device__ __forceinline__ bool join_fragments(const sl_window_run &run, dense_memory<S> &m,
                                               const sl_chunk &chunk, const dense_place &p, int panel,
                                               dense_sums<S> &sums) {
  const fragments all = fragments_of(run.a, fragment_place{chunk.slot, chunk.long_row});
  const int64_t first = (int64_t)panel * S::PANEL;
  auto each = [&](auto use) {
#pragma unroll
    for (int m = 0; m < S::TILES_M; m++)
#pragma unroll
      for (int n = 0; n < S::TILES_N; n++)
#pragma unroll
        for (int c = 0; c < 4; c++) {
          const int64_t feature = first + dense_feature(p, n) + c % 2;
          if (feature < run.k)
            use(sums[m][n][c], dense_row(p, m, c), feature);
        }
  };
  each([&](typename S::sum_t &sum, int row, int64_t feature) {
    __stcg(partial_of<S>(run, chunk.slot, row, feature), sum);
  });
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned *counter = run.a.finished + panel * run.a.counters + chunk.long_row;
    m.last = atomicAdd(counter, 1u) + 1 == (unsigned)all.count;
    if (m.last)
      *counter = 0;
  }
  __syncthreads();
  if (!m.last)
    return false;
  __threadfence();
  each([&](typename S::sum_t &sum, int row, int64_t feature) {
    sum = __ldcg(partial_of<S>(run, all.first, row, feature));
  });
  for (int f = 1; f < all.count; f++)
    each([&](typename S::sum_t &sum, int row, int64_t feature) {
      sum += __ldcg(partial_of<S>(run, all.first + f, row, feature));
    });
  return true;
}

template <class S>
__global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    dense(const __grid_constant__ sl_window_run run, const __grid_constant__ x_places places,
          const unsigned panels, const bool wide) {
  extern __shared__ __align__(16) unsigned char dense_shared[];
  dense_memory<S> &m = *reinterpret_cast<dense_memory<S> *>(dense_shared);
  const int panel = (int)(blockIdx.x % panels);
  const sl_chunk chunk = chunk_at(run.a.chunk, blockIdx.x / panels);
  const dense_place p = dense_place_of<S>((int)threadIdx.x);
  const dense_range range = {chunk.begin, chunk.count, (int64_t)panel * S::PANEL};
  if (run.arrivals && chunk.piece > 0) {
    if (threadIdx.x == 0)
      wait_for_piece(run.arrivals, chunk.piece, run.arrivals->round.value);
    __syncthreads();
  }
  dense_sums<S> sums;
#pragma unroll
  for (int i = 0; i < S::TILES_M * S::TILES_N * 4; i++)
    sums[i / 4 / S::TILES_N][i / 4 % S::TILES_N][i % 4] = 0;
  multiply_range<S>(sums, m, run, places, p, range);
  if (chunk.slot >= 0 && !join_fragments<S>(run, m, chunk, p, panel, sums))
    return;
  finish_rows<S>(run, places, chunk.row, p, range.feature, wide, sums);
}

template <class S> sley_status launch_dense(sl_queue *queue, const sl_window_run &run) {
  x_places places;
  find_places<typename S::T, S::VEC>(run, &places);
  const int64_t panels = (run.k + S::PANEL - 1) / S::PANEL, blocks = run.a.chunks * panels;
  if (blocks > INT32_MAX)
    return sl_fail(SLEY_ERR_OVERFLOW,
                   "a part with %lld entries is too large for %lld columns on one device: "
                   "use more ranks, or fewer columns at a time",
                   (long long)run.a.entries, (long long)run.k);
  constexpr int SHARED = (int)sizeof(dense_memory<S>);
  SL_TRY(grant<dense<S>>(SHARED));
  dense<S><<<(unsigned)blocks, S::THREADS, SHARED, sl_cuda_stream(queue)>>>(run, places, (unsigned)panels,
                                                                            aligned_y<typename S::T, 2>(run));
  return sl_cuda_launched(queue, "spmm-dense");
}

/* A type with as many bytes, for sl_dense_panel. */
template <typename T>
constexpr sley_dtype dense_dtype = sizeof(T) == 8   ? SLEY_F64
                                   : sizeof(T) == 4 ? SLEY_F32
                                                    : SLEY_F16;

template <typename T, bool ONCE, int ROWS, int VEC>
sley_status launch_dense_panels(sl_queue *queue, const sl_window_run &run) {
  switch (sl_dense_panel(dense_dtype<input<T>>, run.k)) {
  case 16:
    return launch_dense<dense_shape<T, ROWS, 16, VEC, ONCE>>(queue, run);
  case 32:
    return launch_dense<dense_shape<T, ROWS, 32, VEC, ONCE>>(queue, run);
  case 64:
    return launch_dense<dense_shape<T, ROWS, 64, VEC, ONCE>>(queue, run);
  default:
    if constexpr (sizeof(input<T>) < 8)
      return launch_dense<dense_shape<T, ROWS, 128, VEC, ONCE>>(queue, run);
    return SLEY_ERR_INTERNAL;
  }
}

template <typename T, bool ONCE, int ROWS>
sley_status launch_dense_rows(sl_queue *queue, const sl_window_run &run) {
  constexpr int WIDEST = 16 / (int)sizeof(input<T>);
  SL_TRY(sl_cuda_use(queue->device));
  if (aligned_x<T, WIDEST>(run))
    return launch_dense_panels<T, ONCE, ROWS, WIDEST>(queue, run);
  if constexpr (WIDEST > 4)
    if (aligned_x<T, 4>(run))
      return launch_dense_panels<T, ONCE, ROWS, 4>(queue, run);
  if constexpr (WIDEST > 2)
    if (aligned_x<T, 2>(run))
      return launch_dense_panels<T, ONCE, ROWS, 2>(queue, run);
  return launch_dense_panels<T, ONCE, ROWS, 1>(queue, run);
}

template <typename T, bool ONCE> sley_status launch_dense_of(sl_queue *queue, const sl_window_run &run) {
  switch (run.a.form.rows) {
  case 16:
    return launch_dense_rows<T, ONCE, 16>(queue, run);
  case 32:
    return launch_dense_rows<T, ONCE, 32>(queue, run);
  default:
    return launch_dense_rows<T, ONCE, 64>(queue, run);
  }
}

/* Y has the type of X; if X has 16 bits and run says so, it has the type of sums. */
template <typename T, bool ONCE> sley_status launch_dense_to(sl_queue *queue, const sl_window_run &run) {
  if constexpr (sizeof(T) == 2)
    if (run.wide_y)
      return launch_dense_of<wide<T>, ONCE>(queue, run);
  return launch_dense_of<T, ONCE>(queue, run);
}

} // namespace sley

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM over dense windows (spmm_windows.h), on CUDA cores: each window is multiplied as a dense matrix of its
 * rows times its slots.
 *
 * Work of a block of threads. A block takes a chunk (a window, or a fragment of a long one) and a panel of
 * features, and steps through the chunk's slots, STEP at a time. For each step the rows of X of its slots are
 * copied to shared memory asynchronously, and the values of A are loaded to registers by their bits and
 * stored to shared memory with zeros in between; both while the step before is multiplied. A thread sums TM
 * rows times TN features in registers: each value that it reads from shared memory is used TN or TM times,
 * and a row of X is loaded once for all rows of the window.
 *
 * Order of summation. An element is one chain of fused multiply-adds, from 0, over the slots of its window in
 * the order of columns; zeros that were filled in add 0 times X. Fragments of a long window are added first
 * to last, by the block that finishes last. The sum is then multiplied by alpha. So the bits repeat, and
 * depend neither on panels nor on the number of features, and errors are within the bound of the documented
 * order.
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
#include "device/cuda/spmm/spmm_windows.h"

namespace sley {

/* The shape of a block's work: ROWS of a window, PANEL features, and VEC neighbouring values of X that are
 * copied at once. */
template <typename T_, int ROWS_, int PANEL_, int VEC_> struct dense_shape {
  using T = T_;
  using in_t = input<T>;
  using sum_t = accumulator<T>;
  static constexpr int ROWS = ROWS_, PANEL = PANEL_, VEC = VEC_, STEP = 16, SUMS = ROWS * PANEL,
                       THREADS = SUMS >= 2048 ? 128 : 64;
  /* The sums of a thread. Its features are groups of LOAD neighbours, which are one load of shared memory. */
  static constexpr int TN = PANEL == 128  ? 8
                            : SUMS <= 256 ? 2
                                          : 4,
                       TM = SUMS / (THREADS * TN), WIDEST = 16 / (int)sizeof(in_t),
                       LOAD = TN < WIDEST ? TN : WIDEST, GROUPS = TN / LOAD,
                       LOAD_A = TM < WIDEST ? TM : WIDEST;
  /* Blocks of a multiprocessor, so that the sums stay in registers. */
  static constexpr int BLOCKS = THREADS == 64 ? 8 : TM * TN * (int)sizeof(sum_t) >= 256 ? 3 : 4;
  /* Threads side by side: COLUMNS along the features, of which LANES in a warp. */
  static constexpr int COLUMNS = PANEL / TN, LANES = COLUMNS < 8 ? COLUMNS : 8, WARPS = COLUMNS / LANES;
  static constexpr int CELLS = STEP * ROWS / THREADS, /* values of A that a thread fills in a step */
      COPIES = STEP * PANEL / VEC / THREADS,          /* copies of a thread in a step */
      WORDS = ROWS > 32 ? ROWS / 32 : 1;              /* of a slot */
  static_assert(TM * TN * THREADS == SUMS && TM * (32 / LANES) * (THREADS / 32 / WARPS) == ROWS,
                "threads cover the sums");
  static_assert(COPIES >= 1 && CELLS >= 1 && 32 % CELLS == 0, "threads cover a step");
};

template <class S> struct dense_memory {
  alignas(16) typename S::in_t a[2][S::STEP][S::ROWS];
  alignas(16) typename S::in_t x[2][S::STEP][S::PANEL];
  int32_t col[2][S::STEP];
  bool last;
};

template <class S> using dense_sums = typename S::sum_t[S::TM][S::TN];

/* A thread's place: its first row, and its first feature in each group. */
struct dense_place {
  int row, feature;
};

template <class S> __device__ __forceinline__ dense_place dense_place_of(int thread) {
  const int warp = thread / 32, lane = thread % 32;
  const int column = warp % S::WARPS * S::LANES + lane % S::LANES,
            row = warp / S::WARPS * (32 / S::LANES) + lane / S::LANES;
  return {row * S::TM, column * S::LOAD};
}

/* Feature n of a thread's, within the panel. */
template <class S> __device__ __forceinline__ int dense_feature(const dense_place &p, int n) {
  return n / S::LOAD * (S::COLUMNS * S::LOAD) + p.feature + n % S::LOAD;
}

/* The chunk that a block multiplies: its slots, and the panel's first feature. */
struct dense_range {
  int64_t begin;
  int count;
  int64_t feature;
};

/* Copies the rows of X of a step to shared memory; zeros beyond the chunk's slots and beyond k. */
template <class S>
__device__ __forceinline__ void copy_rows(dense_memory<S> &m, const sl_window_run &run,
                                          const x_places &places, const dense_range &range, int step) {
  using in_t = typename S::in_t;
  constexpr int VECTORS = S::PANEL / S::VEC, BYTES = S::VEC * (int)sizeof(in_t);
  const int left = range.count - step * S::STEP;
  const int64_t features = run.k - range.feature;
#pragma unroll
  for (int i = 0; i < S::COPIES; i++) {
    const int at = threadIdx.x + i * S::THREADS, slot = at / VECTORS, feature = at % VECTORS * S::VEC;
    const in_t *row = (const in_t *)places.base +
                      place_of<uint64_t>(places, (uint32_t)m.col[step % 2][slot]) * S::VEC + range.feature;
    const int64_t there = slot < left ? features - feature : 0;
    in_t *to = &m.x[step % 2][slot][feature];
    if (there >= S::VEC)
      copy_ahead<BYTES>(to, row + feature);
    else
#pragma unroll
      for (int v = 0; v < S::VEC; v++)
        if (v < there)
          copy_ahead<(int)sizeof(in_t)>(to + v, row + feature + v);
        else
          to[v] = value<in_t>::narrow(0);
  }
}

/* A thread's cells of a step are neighbouring rows of one slot. */
template <class S> struct dense_cells {
  typename S::in_t value[S::CELLS];
  unsigned bits, first;
  int32_t col; /* of slot `thread` of the step */
};

/* Loads the bits of a step, and its columns; slots beyond the chunk have no bits. */
template <class S>
__device__ __forceinline__ void load_bits(dense_cells<S> &cells, const sl_windows &a,
                                          const dense_range &range, int step) {
  const int at = threadIdx.x * S::CELLS, slot = step * S::STEP + at / S::ROWS, row = at % S::ROWS;
  cells.bits = 0;
  if (slot < range.count) {
    const uint2 word = __ldg((const uint2 *)(a.word + (range.begin + slot) * S::WORDS + row / 32));
    const int shift = row % 32;
    cells.bits = S::CELLS < 32 ? word.x >> shift & ((1u << S::CELLS % 32) - 1) : word.x;
    cells.first = word.y + __popc(word.x & ((1u << shift) - 1));
  }
  if (threadIdx.x < S::STEP) {
    const int own = step * S::STEP + threadIdx.x;
    cells.col = __ldg(a.col + range.begin + (own < range.count ? own : range.count - 1));
  }
}

template <class S> __device__ __forceinline__ void load_cells(dense_cells<S> &cells, const sl_windows &a) {
  using in_t = typename S::in_t;
#pragma unroll
  for (int i = 0; i < S::CELLS; i++) {
    cells.value[i] = value<in_t>::narrow(0);
    if (cells.bits >> i & 1)
      cells.value[i] =
          load_shared<in_t, 1>((const in_t *)a.val + cells.first + __popc(cells.bits & ((1u << i) - 1)))
              .item[0];
  }
}

template <class S>
__device__ __forceinline__ void store_cells(dense_memory<S> &m, const dense_cells<S> &cells, int step) {
  using in_t = typename S::in_t;
  constexpr int WIDTH = S::CELLS < S::WIDEST ? S::CELLS : S::WIDEST;
  const int at = threadIdx.x * S::CELLS;
  in_t *to = &m.a[step % 2][at / S::ROWS][at % S::ROWS];
#pragma unroll
  for (int i = 0; i < S::CELLS; i += WIDTH) {
    packed<in_t, WIDTH> all;
#pragma unroll
    for (int j = 0; j < WIDTH; j++)
      all.values.item[j] = cells.value[i + j];
    *(typename word<WIDTH * sizeof(in_t)>::type *)(to + i) = all.bits;
  }
}

template <class S> __device__ __forceinline__ void store_columns(dense_memory<S> &m, int32_t col, int step) {
  if (threadIdx.x < S::STEP)
    m.col[step % 2][threadIdx.x] = col;
}

/* COUNT neighbouring values of shared memory, LOAD at a time, widened. */
template <typename in_t, int LOAD, int COUNT, typename sum_t>
__device__ __forceinline__ void read_shared(const in_t *from, int apart, sum_t (&out)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; i += LOAD) {
    packed<in_t, LOAD> all;
    all.bits = *(const typename word<LOAD * sizeof(in_t)>::type *)(from + i / LOAD * apart);
#pragma unroll
    for (int j = 0; j < LOAD; j++)
      out[i + j] = value<in_t>::widen(all.values.item[j]);
  }
}

template <class S>
__device__ __forceinline__ void multiply_step(dense_sums<S> &sums, const dense_memory<S> &m,
                                              const dense_place &p, int buffer) {
#pragma unroll 8
  for (int s = 0; s < S::STEP; s++) {
    typename S::sum_t a[S::TM], x[S::TN];
    read_shared<typename S::in_t, S::LOAD_A>(&m.a[buffer][s][p.row], S::LOAD_A, a);
    read_shared<typename S::in_t, S::LOAD>(&m.x[buffer][s][p.feature], S::COLUMNS * S::LOAD, x);
#pragma unroll
    for (int i = 0; i < S::TM; i++)
#pragma unroll
      for (int j = 0; j < S::TN; j++)
        sums[i][j] = multiply_add(a[i], x[j], sums[i][j]);
  }
}

/* Sums the chunk's part of the panel. */
template <class S>
__device__ __forceinline__ void multiply_range(dense_sums<S> &sums, dense_memory<S> &m,
                                               const sl_window_run &run, const x_places &places,
                                               const dense_place &p, const dense_range &range) {
  const int steps = (range.count + S::STEP - 1) / S::STEP;
  dense_cells<S> cells;
  load_bits<S>(cells, run.a, range, 0);
  store_columns<S>(m, cells.col, 0);
  load_cells<S>(cells, run.a);
  __syncthreads();
  copy_rows<S>(m, run, places, range, 0);
  store_cells<S>(m, cells, 0);
  load_bits<S>(cells, run.a, range, 1);
  store_columns<S>(m, cells.col, 1);
  copies_wait_all();
  __syncthreads();
  for (int step = 0; step < steps; step++) {
    const bool more = step + 1 < steps;
    if (more) {
      copy_rows<S>(m, run, places, range, step + 1);
      load_cells<S>(cells, run.a);
      load_bits<S>(cells, run.a, range, step + 2);
    }
    multiply_step<S>(sums, m, p, step % 2);
    if (more) {
      store_cells<S>(m, cells, step + 1);
      store_columns<S>(m, cells.col, step + 2);
      copies_wait_all();
    }
    __syncthreads();
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

/* Stores a thread's sums to the rows of Y. wide: rows of Y can be stored LOAD values at a time. */
template <class S>
__device__ __forceinline__ void finish_rows(const sl_window_run &run, const x_places &places, int64_t window,
                                            const dense_place &p, int64_t panel_feature, bool wide,
                                            dense_sums<S> &sums) {
  using out_t = output<typename S::T>;
  const bool plain = wide && run.alpha == 1 && run.beta == 0;
#pragma unroll
  for (int i = 0; i < S::TM; i++) {
    const int32_t to = __ldg(run.a.row + window * S::ROWS + p.row + i);
    if (to < 0)
      continue;
    out_t *y = (out_t *)run.y + (int64_t)to * run.ldy;
#pragma unroll
    for (int g = 0; g < S::GROUPS; g++) {
      const int64_t feature = panel_feature + dense_feature<S>(p, g * S::LOAD);
      typename S::sum_t some[S::LOAD];
      bool finite = true;
#pragma unroll
      for (int j = 0; j < S::LOAD; j++) {
        some[j] = sums[i][g * S::LOAD + j];
        finite &= is_finite(some[j]);
      }
      if (plain && finite && feature + S::LOAD <= run.k)
        store_once<out_t, S::LOAD>(y + feature, some);
      else
#pragma unroll
        for (int j = 0; j < S::LOAD; j++)
          if (feature + j < run.k)
            store_element<S>(run, places, window, p.row + i, feature + j, y + feature + j, some[j]);
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
    for (int i = 0; i < S::TM; i++)
#pragma unroll
      for (int j = 0; j < S::TN; j++) {
        const int64_t feature = first + dense_feature<S>(p, j);
        if (feature < run.k)
          use(sums[i][j], p.row + i, feature);
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
  __shared__ dense_memory<S> m;
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
  for (int i = 0; i < S::TM; i++)
#pragma unroll
    for (int j = 0; j < S::TN; j++)
      sums[i][j] = 0;
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
  dense<S><<<(unsigned)blocks, S::THREADS, 0, sl_cuda_stream(queue)>>>(
      run, places, (unsigned)panels, aligned_y<typename S::T, S::LOAD>(run));
  return sl_cuda_launched(queue, "spmm-dense");
}

template <typename T> constexpr sley_dtype dense_dtype = sizeof(T) == 8 ? SLEY_F64 : SLEY_F32;

template <typename T, int ROWS, int VEC>
sley_status launch_dense_panels(sl_queue *queue, const sl_window_run &run) {
  switch (sl_dense_panel(dense_dtype<input<T>>, run.k)) {
  case 16:
    return launch_dense<dense_shape<T, ROWS, 16, VEC>>(queue, run);
  case 32:
    return launch_dense<dense_shape<T, ROWS, 32, VEC>>(queue, run);
  case 64:
    return launch_dense<dense_shape<T, ROWS, 64, VEC>>(queue, run);
  default:
    if constexpr (sizeof(input<T>) < 8)
      return launch_dense<dense_shape<T, ROWS, 128, VEC>>(queue, run);
    return SLEY_ERR_INTERNAL;
  }
}

template <typename T, int ROWS> sley_status launch_dense_rows(sl_queue *queue, const sl_window_run &run) {
  constexpr int WIDEST = 16 / (int)sizeof(input<T>);
  SL_TRY(sl_cuda_use(queue->device));
  return aligned_x<T, WIDEST>(run) ? launch_dense_panels<T, ROWS, WIDEST>(queue, run)
                                   : launch_dense_panels<T, ROWS, 1>(queue, run);
}

template <typename T> sley_status launch_dense_of(sl_queue *queue, const sl_window_run &run) {
  switch (run.a.form.rows) {
  case 16:
    return launch_dense_rows<T, 16>(queue, run);
  case 32:
    return launch_dense_rows<T, 32>(queue, run);
  default:
    return launch_dense_rows<T, 64>(queue, run);
  }
}

} // namespace sley

#endif

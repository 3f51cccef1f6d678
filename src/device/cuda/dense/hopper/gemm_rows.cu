/* SPDX-License-Identifier: Apache-2.0 */
/* C = A op(B) with many rows of A, by split values (split_values.cuh). A small kernel splits B and stores it in
 * the workspace in its layout for shared memory. Then each block of threads holds some whole columns of B in
 * its shared memory, and its warpgroups, independently of each other, process A in tiles of 64 rows: each
 * warp copies its 16 rows of the next panels of A to shared memory ahead of their use.
 *
 * The terms of a panel may have any order that A and B share. Terms 4 t + s and 16 + 4 t + s, t < 4, belong
 * to step s, so that a lane loads terms of all four steps by 16 bytes. */
#include "device/cuda/dense/hopper/split_values.cuh"

namespace {

using namespace sley;

enum {
  MOST_GROUPS = 3,
  WARP_ROWS = 16,
  COPY_BYTES = WARP_ROWS * PANEL * 4, /* bytes of a panel's copy, per warp */
  AHEAD = 4,                          /* copies per warp */
  SPLIT_THREADS = 256,
  STEPS = PANEL / 8
};

/* The term of a panel at position `place` of its line. */
__device__ __forceinline__ int term_at(int place) {
  const int step = place / 8, column = place % 8;
  return column < 4 ? 4 * column + step : 16 + 4 * (column - 4) + step;
}

/* Splits op(B) into `panels` panels of N columns each; one thread per four terms of a column. */
template <int N>
__global__ void __launch_bounds__(SPLIT_THREADS) split_columns(const sl_gemm_args a, int panels, char *out) {
  const int64_t tiles = (a.n + N - 1) / N, pieces = tiles * panels * N * 8;
  const float *const b = static_cast<const float *>(a.b);
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * SPLIT_THREADS + threadIdx.x; i < pieces;
       i += static_cast<int64_t>(gridDim.x) * SPLIT_THREADS) {
    const int column = static_cast<int>(i % N), sixteen = static_cast<int>(i / N % 8);
    const int64_t panel = i / (N * 8), col = panel / panels * N + column, first = panel % panels * PANEL;
    float v[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const int64_t term = first + term_at(4 * sixteen + j);
      v[j] = col >= a.n || term >= a.k ? 0 : a.transpose_b ? b[col * a.ldb + term] : b[term * a.ldb + col];
    }
    store_split<N>(out + panel * 2 * N * 128, column, sixteen, v);
  }
}

/* Position of a warpgroup: tile of 64 rows, and panel of these rows. */
struct place {
  int tile, panel;
};

__device__ __forceinline__ place after(place at, int panels, int step) {
  return at.panel + 1 < panels ? place{at.tile, at.panel + 1} : place{at.tile + step, 0};
}

/* Position, in a warp's copy of a panel, of 16 bytes of a row. Lanes that load at the same time, from two
 * rows, use different banks. */
__device__ __forceinline__ int copy_place(int row, int sixteen) {
  return row * PANEL + (sixteen ^ row % 2 * 4) * 4;
}

/* Starts to copy the warp's rows of a panel. wide: rows begin at multiples of 16 bytes. */
__device__ __forceinline__ void copy_panel(const sl_gemm_args &a, bool wide, place at, float *to) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t first =
      static_cast<int64_t>(at.tile) * GROUP_ROWS + threadIdx.x % GROUP_THREADS / 32 * WARP_ROWS;
  const int rows = static_cast<int>(min(a.m - first, int64_t{WARP_ROWS})),
            terms = static_cast<int>(a.k) - at.panel * PANEL;
  const float *from = static_cast<const float *>(a.a) + first * a.lda + at.panel * PANEL;
  if (rows <= 0)
    return;
  if (wide) {
    const int sixteen = lane % 8, there = max(0, min(terms - 4 * sixteen, 4));
    from += lane / 8 * a.lda + (there ? 4 * sixteen : 0);
#pragma unroll
    for (int i = 0; i < WARP_ROWS / 4; i++, from += 4 * a.lda)
      copy_ahead<16>(to + copy_place(lane / 8 + 4 * i, sixteen), from,
                     lane / 8 + 4 * i < rows ? 4 * there : 0);
    return;
  }
  from += lane < terms ? lane : 0;
#pragma unroll 4
  for (int row = 0; row < WARP_ROWS; row++, from += a.lda)
    copy_ahead<4>(to + copy_place(row, lane / 4) + lane % 4, from, row < rows && lane < terms ? 4 : 0);
}

/* Loads from the warp's copy the terms that this lane multiplies, and splits them. */
__device__ __forceinline__ void split_copy(const float *copy, split_terms (&terms)[STEPS]) {
  const int row = static_cast<int>(threadIdx.x) % 32 / 4, sixteen = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const float4 four =
        *reinterpret_cast<const float4 *>(copy + copy_place(row + i % 2 * 8, sixteen + i / 2 * 4));
    set_term(terms[0], i, four.x);
    set_term(terms[1], i, four.y);
    set_term(terms[2], i, four.z);
    set_term(terms[3], i, four.w);
  }
}

/* The end of the computation of a sum v: alpha v + beta old + bias, times slope if that is negative. */
struct ending {
  float alpha, beta, slope;
  bool pairs; /* pairs of values at even columns of C, and of a gate, lie at multiples of 8 bytes */
  const float *bias;
};

/* Bit mask of a lane's values of one row for which the gate is above 0, where the gradient of relu is 1;
 * elsewhere it is 0. gate: address of the first. */
template <int N> __device__ __forceinline__ uint32_t open_gates(const float *gate, bool pairs, int cols) {
  float2 y[N / 8];
#pragma unroll
  for (int j = 0; j < N / 8; j++)
    if (pairs && 8 * j + 1 < cols)
      y[j] = *reinterpret_cast<const float2 *>(gate + 8 * j);
    else
      y[j] = make_float2(8 * j < cols ? gate[8 * j] : 0.0f, 8 * j + 1 < cols ? gate[8 * j + 1] : 0.0f);
  uint32_t open = 0;
#pragma unroll
  for (int j = 0; j < N / 8; j++)
    open |= static_cast<uint32_t>(y[j].x > 0) << 2 * j | static_cast<uint32_t>(y[j].y > 0) << (2 * j + 1);
  return open;
}

/* v if the gate is open; else v times 0, which keeps its sign and NaNs (SL_OP_ACTIVATE_GRAD). */
__device__ __forceinline__ float gated(float v, uint32_t open, int i) {
  return v * static_cast<float>(open >> i & 1);
}

__device__ __forceinline__ float finish(const ending &e, float v, float old, float bias) {
  v = fmaf(e.beta, old, e.alpha * v) + bias;
  return v < 0 ? fmaf(e.slope, v, 0.0f) : v;
}

/* Stores a lane's values of one row from address `to` on, of which `cols` columns exist. bias: bias of these
 * columns. gate: with GATED, the output of the activation for these values. */
template <int N, int HALF, bool GATED>
__device__ __forceinline__ void store_row(const ending &e, float *to, const float *gate, int cols,
                                          const float *bias, const float (&d)[N / 2]) {
  uint32_t open = 0;
  if constexpr (GATED)
    open = open_gates<N>(gate, e.pairs, cols);
  float old[N / 4] = {};
  if (e.beta != 0)
#pragma unroll
    for (int i = 0; i < N / 4; i++)
      if (i / 2 * 8 + i % 2 < cols)
        old[i] = to[i / 2 * 8 + i % 2];
#pragma unroll
  for (int j = 0; j < N / 8; j++) {
    const float2 b = *reinterpret_cast<const float2 *>(bias + 8 * j);
    float x = finish(e, d[4 * j + 2 * HALF], old[2 * j], b.x),
          y = finish(e, d[4 * j + 2 * HALF + 1], old[2 * j + 1], b.y);
    if constexpr (GATED) {
      x = gated(x, open, 2 * j);
      y = gated(y, open, 2 * j + 1);
    }
    if (e.pairs && 8 * j + 1 < cols) {
      *reinterpret_cast<float2 *>(to + 8 * j) = make_float2(x, y);
    } else {
      if (8 * j < cols)
        to[8 * j] = x;
      if (8 * j + 1 < cols)
        to[8 * j + 1] = y;
    }
  }
}

/* Stores a warpgroup's tile, in columns from `first` on. */
template <int N, bool GATED>
__device__ __forceinline__ void store_tile(const sl_gemm_args &a, const ending &e, int tile, int first,
                                           const float *bias, float (&d)[N / 2]) {
  const int64_t row = static_cast<int64_t>(tile) * GROUP_ROWS + threadIdx.x % GROUP_THREADS / 32 * WARP_ROWS +
                      threadIdx.x % 32 / 4;
  const int across = static_cast<int>(threadIdx.x) % 4 * 2, cols = static_cast<int>(a.n) - first - across;
  float *const to = static_cast<float *>(a.c) + row * a.ldc + first + across;
  const float *const gate = GATED ? static_cast<const float *>(a.gate) + row * a.ldgate + first + across : to;
  remake_nan(a, row, first + across, 0, a.k, d);
  if (row < a.m)
    store_row<N, 0, GATED>(e, to, gate, cols, bias + across, d);
  if (row + 8 < a.m)
    store_row<N, 1, GATED>(e, to + 8 * a.ldc, gate + 8 * a.ldgate, cols, bias + across, d);
}

template <int N, bool GATED>
__global__ void __launch_bounds__(MOST_GROUPS *GROUP_THREADS, 1)
    rows_times(const __grid_constant__ sl_gemm_args a, const __grid_constant__ ending e, int panels,
               const char *split, bool wide) {
  extern __shared__ __align__(1024) char columns[];
  __shared__ float bias[N];
  const int bytes = panels * 2 * N * 128, first = static_cast<int>(blockIdx.y) * N;
  const uint4 *const from = reinterpret_cast<const uint4 *>(split + static_cast<int64_t>(blockIdx.y) * bytes);
  const int groups = static_cast<int>(blockDim.x) / GROUP_THREADS,
            step = static_cast<int>(gridDim.x) * groups,
            tiles = static_cast<int>((a.m + GROUP_ROWS - 1) / GROUP_ROWS);
  place now = {static_cast<int>(blockIdx.x) * groups + static_cast<int>(threadIdx.x) / GROUP_THREADS, 0},
        ahead = now;
  float *const copies = reinterpret_cast<float *>(columns + bytes + threadIdx.x / 32 * AHEAD * COPY_BYTES);
  const auto copy = [&](int number) {
    copy_panel(a, wide, ahead, copies + number % AHEAD * (WARP_ROWS * PANEL));
    copies_commit();
    ahead = after(ahead, panels, step);
  };
  for (int number = 0; number < AHEAD - 1; number++)
    copy(number);
  for (int i = static_cast<int>(threadIdx.x); i < bytes / 16; i += static_cast<int>(blockDim.x))
    reinterpret_cast<uint4 *>(columns)[i] = from[i];
  if (threadIdx.x < N)
    bias[threadIdx.x] =
        e.bias && first + static_cast<int>(threadIdx.x) < a.n ? e.bias[first + threadIdx.x] : 0;
  panels_stored();
  __syncthreads();
  float d[N / 2];
  for (int number = 0; now.tile < tiles; number++, now = after(now, panels, step)) {
    split_terms terms[STEPS];
    copies_wait<AHEAD - 2>();
    __syncwarp();
    split_copy(copies + number % AHEAD * (WARP_ROWS * PANEL), terms);
    products_begin();
    multiply_split<N>(d, terms, split_panel<N>(columns + now.panel * 2 * N * 128), now.panel > 0);
    products_commit();
    copy(number + AHEAD - 1);
    products_wait();
    if (now.panel == panels - 1)
      store_tile<N, GATED>(a, e, now.tile, first, bias, d);
  }
  copies_wait<0>();
}

bool has_pairs(const void *at, int64_t ld) {
  return ld % 2 == 0 && reinterpret_cast<uintptr_t>(at) % 8 == 0;
}

template <int N, bool GATED> sley_status launch(sl_queue *queue, const sl_gemm_args *a, char *split) {
  const int panels = static_cast<int>((a->k + PANEL - 1) / PANEL);
  const int64_t processors = sl_cuda_processors(queue), across = (a->n + N - 1) / N,
                tiles = (a->m + GROUP_ROWS - 1) / GROUP_ROWS,
                pieces = (across * panels * N * 8 + SPLIT_THREADS - 1) / SPLIT_THREADS;
  const ending e = {static_cast<float>(a->alpha), static_cast<float>(a->beta),
                    GATED || a->act == SLEY_NO_ACTIVATION ? 1
                    : a->act == SLEY_RELU                 ? 0
                                                          : static_cast<float>(a->slope),
                    has_pairs(a->c, a->ldc) && (!GATED || has_pairs(a->gate, a->ldgate)),
                    static_cast<const float *>(a->bias)};
  int64_t blocks = (processors + across - 1) / across, groups = (tiles + blocks - 1) / blocks;
  groups = groups < MOST_GROUPS ? groups : MOST_GROUPS;
  blocks = blocks < (tiles + groups - 1) / groups ? blocks : (tiles + groups - 1) / groups;
  const int64_t bytes = static_cast<int64_t>(panels) * 2 * N * 128 + groups * 4 * AHEAD * COPY_BYTES;
  SL_TRY((grant<rows_times<N, GATED>>(bytes)));
  split_columns<N>
      <<<static_cast<unsigned>(pieces), SPLIT_THREADS, 0, sl_cuda_stream(queue)>>>(*a, panels, split);
  SL_TRY(sl_cuda_launched(queue, "splitting columns"));
  rows_times<N, GATED>
      <<<dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(across)),
         static_cast<unsigned>(groups * GROUP_THREADS), static_cast<size_t>(bytes), sl_cuda_stream(queue)>>>(
          *a, e, panels, split, has_wide_rows(a->a, a->lda));
  return sl_cuda_launched(queue, "rows times columns");
}

} // namespace

sley_status sl_cuda_gemm_rows(sl_queue *queue, const sl_gemm_args *a) {
  void *split;
  SL_TRY(sl_cuda_workspace(queue, &split));
  return with_width(sl_cuda_gemm_width(a->n, sl_cuda_gemm_fits(a->k)), [&](auto n) {
    enum { N = decltype(n)::value };
    char *const to = static_cast<char *>(split);
    return a->gate ? launch<N, true>(queue, a, to) : launch<N, false>(queue, a, to);
  });
}

/* SPDX-License-Identifier: Apache-2.0 */
/* C = A^T B with many rows of A and B, by split values (split_values.cuh). A block of threads sums some of the
 * rows for up to 128 x 128 values of C; another kernel adds these sums in the order of the rows.
 *
 * Panels of 32 rows are copied to shared memory ahead of their use. The threads split A into registers, where
 * the product needs it, and B into shared memory, column by column: the next panel while the Tensor cores
 * multiply the current one.
 *
 * Tensor cores truncate when they add, always towards zero. So a sum starts again after some panels, and the
 * sums of panels are added separately.
 *
 * Sums of columns of B: a thread that splits some terms of a column also adds them in double, always the same
 * terms of each panel. A block adds its threads' sums of a column; add_sums adds the blocks' sums. */
#include "device/cuda/dense/column_sums.cuh"
#include "device/cuda/dense/hopper/split_values.cuh"

namespace {

using namespace sley;

enum {
  GROUPS = 2,
  THREADS = GROUPS * GROUP_THREADS,
  ACROSS = GROUPS * GROUP_ROWS,
  STRIDE = ACROSS + 8, /* floats between rows of A in shared memory: 4 rows of 8 values use 32 banks */
  STEPS = PANEL / 8,
  AHEAD = 4, /* copied panels in shared memory */
  PANELS_APART = 8,
  LEAST_ROWS = PANEL * PANELS_APART,
  ADD_COLS = 32,
  ADD_GROUPS = 8
};

/* Layout of shared memory: two split panels of B, then AHEAD copies of rows of A and B. */
template <int N> struct room {
  enum { SPLIT = 2 * N * 128, COPY = PANEL * (STRIDE + N) * 4, BYTES = 2 * SPLIT + AHEAD * COPY };
  char *memory;
  __device__ char *split(int number) const {
    return memory + number % 2 * SPLIT;
  }
  __device__ float *left(int number) const {
    return reinterpret_cast<float *>(memory + 2 * SPLIT + number % AHEAD * COPY);
  }
  __device__ float *right(int number) const {
    return left(number) + PANEL * STRIDE;
  }
};

/* The work of a block of threads: rows [begin, end) of A and B, for columns of A from `down` on and columns
 * of B from `across` on. */
struct part {
  int64_t begin, end, down, across;
  bool wide_a, wide_b; /* whether rows begin at multiples of 16 bytes */
};

/* Threads that copy a row of `pieces` pieces. */
constexpr int threads_for(int pieces) {
  return pieces > 64 ? 128 : pieces > 32 ? 64 : pieces > 16 ? 32 : pieces > 8 ? 16 : pieces > 4 ? 8 : 4;
}

/* Copies PANEL rows of COLS columns, of which `rows` and `cols` exist. */
template <int VALUES, int COLS, int TO_STRIDE>
__device__ __forceinline__ void copy_rows(float *to, const float *from, int64_t ld, int64_t rows,
                                          int64_t cols) {
  constexpr int FOR_ROW = threads_for(COLS / VALUES), AT_ONCE = THREADS / FOR_ROW;
  const int down = static_cast<int>(threadIdx.x) / FOR_ROW,
            across = static_cast<int>(threadIdx.x) % FOR_ROW * VALUES,
            there = across >= cols           ? 0
                    : cols - across < VALUES ? static_cast<int>(cols) - across
                                             : VALUES,
            left = rows < PANEL ? static_cast<int>(rows) : PANEL;
  if (across >= COLS || down >= PANEL) /* threads without work */
    return;
  from += down * ld + across;
  to += down * TO_STRIDE + across;
#pragma unroll 4
  for (int row = 0; row < PANEL; row += AT_ONCE, from += AT_ONCE * ld)
    copy_ahead<4 * VALUES>(to + row * TO_STRIDE, from, down + row < left ? 4 * there : 0);
}

/* Starts to copy panel `number` of the part, if it exists. */
template <int N>
__device__ __forceinline__ void fetch(const sl_gemm_args &a, const part &p, const room<N> &memory,
                                      int number) {
  const int64_t row = p.begin + static_cast<int64_t>(number) * PANEL, rows = p.end - row;
  if (rows > 0) {
    const float *const left = static_cast<const float *>(a.a) + row * a.lda + p.down,
                       *const right = static_cast<const float *>(a.b) + row * a.ldb + p.across;
    if (p.wide_a)
      copy_rows<4, ACROSS, STRIDE>(memory.left(number), left, a.lda, rows, a.m - p.down);
    else
      copy_rows<1, ACROSS, STRIDE>(memory.left(number), left, a.lda, rows, a.m - p.down);
    if (p.wide_b)
      copy_rows<4, N, N>(memory.right(number), right, a.ldb, rows, a.n - p.across);
    else
      copy_rows<1, N, N>(memory.right(number), right, a.ldb, rows, a.n - p.across);
  }
  copies_commit();
}

/* Splits the lane's terms of A of panel `number`, which must have arrived. */
template <int N>
__device__ __forceinline__ void split_left(const room<N> &memory, int number, split_terms (&terms)[STEPS]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float *const left = memory.left(number) + lane % 4 * STRIDE + threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
  for (int step = 0; step < STEPS; step++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      set_term(terms[step], i, left[(8 * step + i / 2 * 4) * STRIDE + i % 2 * 8]);
}

/* Pieces of a panel of B, 4 terms of a column each, that a thread splits. */
template <int N> constexpr int PIECES = (N * 8 + THREADS - 1) / THREADS;

/* Splits the thread's pieces of B; with SUMS, adds the terms of piece i to sums[i]. */
template <int N, bool SUMS>
__device__ __forceinline__ void split_right(const room<N> &memory, int number, double (&sums)[PIECES<N>]) {
  const float *const right = memory.right(number);
  char *const panel = memory.split(number);
#pragma unroll
  for (int i = 0; i < PIECES<N>; i++) {
    const int piece = i * THREADS + static_cast<int>(threadIdx.x), column = piece % N, four = piece / N;
    if (N * 8 % THREADS != 0 && piece >= N * 8)
      break;
    const float *const from = right + 4 * four * N + column;
    const float v[4] = {from[0], from[N], from[2 * N], from[3 * N]};
    store_split<N>(panel, column, four, v);
    if constexpr (SUMS)
#pragma unroll
      for (int j = 0; j < 4; j++)
        sums[i] += static_cast<double>(v[j]);
  }
}

/* Stores the block's sums of `cols` columns. shared: memory that is no longer used. */
template <int N>
__device__ __forceinline__ void store_column_sums(double *shared, const double (&sums)[PIECES<N>], int cols,
                                                  double *to) {
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < PIECES<N>; i++)
    if (i * THREADS + thread < N * 8)
      shared[i * THREADS + thread] = sums[i];
  __syncthreads();
  if (thread >= N || thread >= cols)
    return;
  double sum = 0;
  for (int four = 0; four < 8; four++)
    sum += shared[four * N + thread];
  to[thread] = sum;
}

/* column_sums: with SUMS, receives n doubles for each block of rows. */
template <int N, bool SUMS>
__global__ void __launch_bounds__(THREADS, 1)
    sum_rows(const __grid_constant__ sl_gemm_args a, int64_t rows_each, bool wide_a, bool wide_b, float *sums,
             double *column_sums) {
  extern __shared__ __align__(1024) char memory_[];
  const room<N> memory = {memory_};
  const int64_t begin = blockIdx.x * rows_each;
  const part p = {begin,
                  min(begin + rows_each, a.k),
                  static_cast<int64_t>(blockIdx.y) * ACROSS,
                  static_cast<int64_t>(blockIdx.z) * N,
                  wide_a,
                  wide_b};
  const int panels = static_cast<int>((p.end - p.begin + PANEL - 1) / PANEL);
  const bool works = p.down + threadIdx.x / GROUP_THREADS * GROUP_ROWS < a.m;
  float d[N / 2], sum[N / 2] = {};
  double of_pieces[PIECES<N>] = {};
  for (int number = 0; number < AHEAD; number++)
    fetch(a, p, memory, number);
  copies_wait<AHEAD - 1>();
  __syncthreads();
  split_right<N, SUMS>(memory, 0, of_pieces);
  for (int number = 0; number < panels; number++) {
    split_terms terms[STEPS];
    split_left(memory, number, terms);
    panels_stored();
    copies_wait<AHEAD - 2>();
    __syncthreads();
    if (works) {
      products_begin();
      multiply_split<N>(d, terms, split_panel<N>(memory.split(number)), number % PANELS_APART > 0);
      products_commit();
    }
    fetch(a, p, memory, number + AHEAD);
    if (number + 1 < panels)
      split_right<N, SUMS>(memory, number + 1, of_pieces);
    products_wait();
    if (number % PANELS_APART == PANELS_APART - 1 || number + 1 == panels)
#pragma unroll
      for (int i = 0; i < N / 2; i++)
        sum[i] += d[i];
  }
  if constexpr (SUMS)
    if (blockIdx.y == 0)
      store_column_sums<N>(reinterpret_cast<double *>(memory_), of_pieces,
                           static_cast<int>(min(a.n - p.across, int64_t{N})),
                           column_sums + blockIdx.x * a.n + p.across);
  if (!works)
    return;
  const int64_t row = p.down + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4,
                col = p.across + threadIdx.x % 4 * 2;
  remake_nan(a, row, col, p.begin, p.end, sum);
  sums += blockIdx.x * a.m * a.n;
#pragma unroll
  for (int i = 0; i < N / 2; i++)
    if (held_row(row, i) < a.m && held_col(col, i) < a.n)
      sums[held_row(row, i) * a.n + held_col(col, i)] = sum[i];
}

/* Adds the sums of all parts. A block of threads computes ADD_COLS values of C: each of ADD_GROUPS groups
 * adds some of a value's sums, and the first group adds the results. */
__global__ void __launch_bounds__(ADD_COLS *ADD_GROUPS)
    add_parts(const sl_gemm_args a, int parts, const float *sums) {
  __shared__ double of_group[ADD_GROUPS][ADD_COLS];
  const int lane = static_cast<int>(threadIdx.x) % ADD_COLS, group = static_cast<int>(threadIdx.x) / ADD_COLS,
            each = (parts + ADD_GROUPS - 1) / ADD_GROUPS;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * ADD_COLS + lane, all = a.m * a.n;
  double sum = 0;
#pragma unroll 8
  for (int p = group * each; p < min((group + 1) * each, parts); p++)
    sum += i < all ? static_cast<double>(__ldg(sums + p * all + i)) : 0;
  of_group[group][lane] = sum;
  __syncthreads();
  if (group > 0 || i >= all)
    return;
  for (int g = 1; g < ADD_GROUPS; g++)
    sum += of_group[g][lane];
  finish_at<float>(a, i / a.n, i % a.n, static_cast<float>(sum));
}

/* In the workspace the sums of columns precede the sums of the product. */
template <int N, bool SUMS> sley_status launch(sl_queue *queue, const sl_gemm_args *a, void *workspace) {
  enum { BYTES = room<N>::BYTES };
  const int64_t down = (a->m + ACROSS - 1) / ACROSS, across = (a->n + N - 1) / N;
  const int64_t wanted = (sl_cuda_processors(queue) + down * across - 1) / (down * across),
                fit = sl_cuda_gemm_parts(a->m, a->n, SUMS), most = wanted < fit ? wanted : fit;
  int64_t rows_each = (a->k + most - 1) / most;
  rows_each = (rows_each + LEAST_ROWS - 1) / LEAST_ROWS * LEAST_ROWS;
  const int64_t parts = (a->k + rows_each - 1) / rows_each;
  double *const column_sums = static_cast<double *>(workspace);
  float *const sums = reinterpret_cast<float *>(column_sums + (SUMS ? parts * a->n : 0));
  SL_TRY((grant<sum_rows<N, SUMS>>(BYTES)));
  sum_rows<N, SUMS>
      <<<dim3(static_cast<unsigned>(parts), static_cast<unsigned>(down), static_cast<unsigned>(across)),
         THREADS, BYTES, sl_cuda_stream(queue)>>>(*a, rows_each, has_wide_rows(a->a, a->lda),
                                                  has_wide_rows(a->b, a->ldb), sums, column_sums);
  SL_TRY(sl_cuda_launched(queue, "sums over rows"));
  add_parts<<<static_cast<unsigned>((a->m * a->n + ADD_COLS - 1) / ADD_COLS), ADD_COLS * ADD_GROUPS, 0,
              sl_cuda_stream(queue)>>>(*a, static_cast<int>(parts), sums);
  if constexpr (SUMS)
    add_sums<<<dense_sum_blocks(a->n), DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(
        parts, a->n, column_sums, store_column<float>{static_cast<float *>(a->column_sums)});
  return sl_cuda_launched(queue, "adding sums over rows");
}

} // namespace

sley_status sl_cuda_gemm_sums(sl_queue *queue, const sl_gemm_args *a) {
  void *workspace;
  SL_TRY(sl_cuda_workspace(queue, &workspace));
  return with_width(sl_cuda_gemm_width(a->n, SL_CUDA_GEMM_WIDEST), [&](auto n) {
    enum { N = decltype(n)::value };
    return a->column_sums ? launch<N, true>(queue, a, workspace) : launch<N, false>(queue, a, workspace);
  });
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Rows with bitmaps of columns in shared memory, one block of threads per row. A bitmap covers a range of
 * columns; B's rows ascend, so the entries in a range are found by bisection. The products of 256 entries of
 * A are numbered consecutively and cut into units of 128, which warps take in turn. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_SPGEMM_DENSE_CUH
#define SLEY_DEVICE_CUDA_SPGEMM_SPGEMM_DENSE_CUH

#include "device/cuda/spgemm/spgemm_rows.cuh"
#include "device/cuda/spgemm/warp_turns.cuh"

namespace sley {

enum {
  DENSE_ROW_THREADS = 256,
  DENSE_ROW_WARPS = DENSE_ROW_THREADS / SPGEMM_WARP,
  DENSE_ROW_BLOCKS = 4, /* blocks per multiprocessor; registers and named barriers do not suffice for more */
  UNIT_STEPS = 4,       /* steps of a warp through a unit's products */
  UNIT = UNIT_STEPS * SPGEMM_WARP,
  BITMAP_WORD = 64 /* columns whose rank is counted together */
};

extern __shared__ uint4 spgemm_shared[];

/* Number of columns that a bitmap covers. */
SL_ANYWHERE int64_t dense_range(int64_t cols) {
  const int64_t whole = (cols + BITMAP_WORD - 1) / BITMAP_WORD * BITMAP_WORD;
  return whole < SL_SPGEMM_RANGE ? whole : SL_SPGEMM_RANGE;
}

/* A block's shared memory. Products before[i] to before[i + 1] - 1 belong to staged entry i of A; product n
 * uses entry start[i] + n of B. */
template <class S> struct dense_space {
  int64_t *before;   /* DENSE_ROW_THREADS + 1 elements */
  int64_t *start;    /* DENSE_ROW_THREADS elements */
  int64_t *found;    /* messages between threads: DENSE_ROW_WARPS + 2 elements */
  S *a;              /* values of the staged entries */
  S *sum;            /* sums of the window */
  unsigned *bits;    /* columns that have entries */
  unsigned *allowed; /* columns of the mask; only with a mask */
  unsigned *rank;    /* number of entries before each word of the bitmap */
  int64_t range;
};

/* Bytes of the space for counting, and bytes without the sums. */
SL_ANYWHERE int64_t dense_count_bytes(int64_t range, bool masked) {
  return (3 * DENSE_ROW_THREADS + DENSE_ROW_WARPS + 4) * 8 + range / 8 * (masked ? 2 : 1);
}

SL_ANYWHERE int64_t dense_bytes(int64_t range, bool masked) {
  const int64_t words = range / BITMAP_WORD;
  return dense_count_bytes(range, masked) + (words + words % 2) * 4;
}

template <class S> __device__ __forceinline__ dense_space<S> dense_space_of(const sl_cuda_spgemm &p) {
  dense_space<S> s;
  int64_t *at = reinterpret_cast<int64_t *>(spgemm_shared);
  s.range = dense_range(p.cols);
  s.before = at;
  s.start = s.before + DENSE_ROW_THREADS + 1;
  s.found = s.start + DENSE_ROW_THREADS;
  s.a = reinterpret_cast<S *>(s.found + DENSE_ROW_WARPS + 3); /* the number of words before it is even */
  s.bits = reinterpret_cast<unsigned *>(s.found + DENSE_ROW_WARPS + 3 + DENSE_ROW_THREADS);
  s.allowed = s.bits + s.range / 32;
  s.rank = p.mask_rowptr ? s.allowed + s.range / 32 : s.allowed;
  const int64_t words = s.range / BITMAP_WORD;
  s.sum = reinterpret_cast<S *>(s.rank + words + words % 2);
  return s;
}

__device__ __forceinline__ int64_t warp_sum_until(int64_t v) {
#pragma unroll
  for (int d = 1; d < SPGEMM_WARP; d *= 2) {
    const long long other = __shfl_up_sync(ALL_LANES, static_cast<long long>(v), d);
    v += lane_of_thread() >= d ? other : 0;
  }
  return v;
}

/* Returns the sum over all earlier threads, and in *total the sum over all threads. Waits for the block;
 * found must not be written until the block has waited again. */
__device__ __forceinline__ int64_t block_sum_before(int64_t v, int64_t *found, int64_t *total) {
  const int warp = static_cast<int>(threadIdx.x) / SPGEMM_WARP;
  const int64_t until = warp_sum_until(v);
  if (lane_of_thread() == SPGEMM_WARP - 1)
    found[warp] = until;
  __syncthreads();
  int64_t before = until - v, all = 0;
#pragma unroll
  for (int w = 0; w < DENSE_ROW_WARPS; w++) {
    before += w < warp ? found[w] : 0;
    all += found[w];
  }
  *total = all;
  return before;
}

/* Columns [first, last) are processed; whole: these are all columns. */
struct column_bounds {
  int64_t first, last;
  bool whole;
};

/* The staged entry to which product n belongs. */
__device__ __forceinline__ int staged_entry(const int64_t *before, int64_t n) {
  int i = 0;
#pragma unroll
  for (int step = DENSE_ROW_THREADS / 2; step > 0; step /= 2)
    i += before[i + step] <= n ? step : 0;
  return i;
}

/* The entry of a unit's first product; only: all products of the unit belong to it. */
struct unit_entry {
  int first;
  bool only;

  __device__ __forceinline__ int of(const int64_t *before, int64_t n) const {
    return only ? first : staged_entry(before, n);
  }
};

__device__ __forceinline__ unit_entry entry_of_unit(const int64_t *before, int64_t unit, int64_t total) {
  const int64_t end = unit * UNIT + UNIT < total ? unit * UNIT + UNIT : total;
  const int first = staged_entry(before, unit * UNIT);
  return {first, end <= before[first + 1]};
}

/* Processes all products of the row within the bounds, DENSE_ROW_THREADS entries of A at a time: calls
 * each(unit, units, products) for each unit by one warp, unit u by warp u % DENSE_ROW_WARPS. Called by the
 * whole block; ends with a barrier. */
template <class T, bool VALUES, class S, class RING, class EACH>
__device__ __forceinline__ void take_products(const sl_cuda_spgemm &p, const RING &ring, int64_t row,
                                              column_bounds bounds, const dense_space<S> &s, EACH each) {
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t end = p.a_rowptr[row + 1];
  for (int64_t e = p.a_rowptr[row]; e < end; e += DENSE_ROW_THREADS) {
    int64_t first = 0, last = 0, total;
    S a = 0;
    if (e + thread < end) {
      const int64_t k = a_column(p, e + thread);
      first = p.b_rowptr[k];
      last = p.b_rowptr[k + 1];
      if (!bounds.whole) {
        first = first_from(p.b_col, first, last, bounds.first);
        last = first_from(p.b_col, first, last, bounds.last);
      }
      if (VALUES)
        a = value_at<T>(ring, p.a_val, e + thread);
    }
    const int64_t before = block_sum_before(last - first, s.found, &total);
    s.before[thread] = before;
    if (thread == 0)
      s.before[DENSE_ROW_THREADS] = total;
    s.start[thread] = first - before;
    if (VALUES)
      s.a[thread] = a;
    __syncthreads();
    const int64_t units = (total + UNIT - 1) / UNIT;
    for (int64_t u = thread / SPGEMM_WARP; u < units; u += DENSE_ROW_WARPS)
      each(u, units, total);
    __syncthreads();
  }
}

/* ---- the bitmap */

__device__ __forceinline__ bool has_bit(const unsigned *bits, int64_t c) {
  return bits[c / 32] >> (c % 32) & 1;
}

__device__ __forceinline__ void set_bit(unsigned *bits, int64_t c) {
  if (!has_bit(bits, c))
    atomicOr(bits + c / 32, 1u << (c % 32));
}

/* Clears the bitmap and sets the mask's columns from c0 on, if there is a mask. Ends with a barrier of the
 * block. */
template <class S>
__device__ __forceinline__ void begin_bits(const sl_cuda_spgemm &p, int64_t row, int64_t c0,
                                           const dense_space<S> &s) {
  for (int64_t w = threadIdx.x; w < s.range / 32; w += DENSE_ROW_THREADS) {
    s.bits[w] = 0;
    if (p.mask_rowptr)
      s.allowed[w] = 0;
  }
  __syncthreads();
  if (!p.mask_rowptr)
    return;
  for (int64_t e = p.mask_rowptr[row] + threadIdx.x; e < p.mask_rowptr[row + 1]; e += DENSE_ROW_THREADS) {
    const int64_t c = p.mask_col[e] - c0;
    if (c >= 0 && c < s.range)
      set_bit(s.allowed, c);
  }
  __syncthreads();
}

/* Sets the bits of the row's columns from c0 on. Ends with a barrier of the block. */
template <class S>
__device__ __forceinline__ void mark_columns(const sl_cuda_spgemm &p, int64_t row, int64_t c0,
                                             const dense_space<S> &s) {
  const semiring<float, false> ring = {SLEY_PLUS_PAIR};
  begin_bits(p, row, c0, s);
  take_products<float, false>(p, ring, row, {c0, c0 + s.range, s.range >= p.cols}, s,
                              [&](int64_t unit, int64_t, int64_t total) {
                                const unit_entry entry = entry_of_unit(s.before, unit, total);
#pragma unroll
                                for (int j = 0; j < UNIT_STEPS; j++) {
                                  const int64_t n = unit * UNIT + j * SPGEMM_WARP + lane_of_thread();
                                  if (n >= total)
                                    continue;
                                  const int64_t c = p.b_col[s.start[entry.of(s.before, n)] + n] - c0;
                                  if (!p.mask_rowptr || has_bit(s.allowed, c))
                                    set_bit(s.bits, c);
                                }
                              });
}

template <class S>
__device__ __forceinline__ unsigned long long bitmap_word(const dense_space<S> &s, int64_t w) {
  return reinterpret_cast<const unsigned long long *>(s.bits)[w];
}

/* Computes the ranks of the words; returns the number of set bits. Each warp reads a stretch of the bitmap
 * twice. Ends with a barrier of the block. */
template <class S> __device__ __forceinline__ int64_t rank_words(const dense_space<S> &s) {
  const int64_t words = s.range / BITMAP_WORD, each = (words + DENSE_ROW_WARPS - 1) / DENSE_ROW_WARPS;
  const int64_t begin = threadIdx.x / SPGEMM_WARP * each, end = begin + each < words ? begin + each : words;
  const int lane = lane_of_thread();
  int64_t own = 0, total;
  for (int64_t w = begin + lane; w < end; w += SPGEMM_WARP)
    own += __popcll(bitmap_word(s, w));
  int64_t before = block_sum_before(own, s.found, &total);
  before = __shfl_sync(ALL_LANES, static_cast<long long>(before), 0); /* set bits in words of earlier warps */
  for (int64_t w = begin + lane; w - lane < end; w += SPGEMM_WARP) {
    const int mine = w < end ? __popcll(bitmap_word(s, w)) : 0, until = sum_until<SPGEMM_WARP>(mine);
    if (w < end)
      s.rank[w] = static_cast<unsigned>(before + until - mine);
    before += __shfl_sync(ALL_LANES, until, SPGEMM_WARP - 1);
  }
  __syncthreads();
  return total;
}

static __global__ void __launch_bounds__(DENSE_ROW_THREADS)
    count_dense_rows(const sl_cuda_spgemm p, const uint32_t *list) {
  const dense_space<float> s = dense_space_of<float>(p);
  const int64_t row = list[blockIdx.x];
  int64_t own = 0, total;
  for (int64_t c0 = 0; c0 < p.cols; c0 += s.range) {
    mark_columns(p, row, c0, s);
    for (int64_t w = threadIdx.x; w < s.range / 32;
         w += DENSE_ROW_THREADS) /* the same division as in begin_bits */
      own += __popc(s.bits[w]);
  }
  block_sum_before(own, s.found, &total);
  if (threadIdx.x == 0)
    p.c_rowptr[row + 1] = total;
}

/* ---- the sums of a window: entries of the bitmap with ranks [low, high) */

struct rank_window {
  int64_t low, high;
};

/* The column, relative to the bitmap's first, of the entry of this rank in word w. */
__device__ __forceinline__ int64_t column_in_word(unsigned long long bits, int64_t w, int64_t rank) {
  for (; rank > 0; rank--)
    bits &= bits - 1;
  return w * BITMAP_WORD + __ffsll(static_cast<long long>(bits)) - 1;
}

/* The columns from the window's first entry to its last. Ends with a barrier of the block. */
template <class S>
__device__ __forceinline__ column_bounds bounds_of_window(const dense_space<S> &s, int64_t c0,
                                                          rank_window r) {
  int64_t *ends = s.found + DENSE_ROW_WARPS;
  for (int64_t w = threadIdx.x; w < s.range / BITMAP_WORD; w += DENSE_ROW_THREADS) {
    const unsigned long long bits = bitmap_word(s, w);
    const int64_t from = s.rank[w], until = from + __popcll(bits);
    if (from <= r.low && r.low < until)
      ends[0] = column_in_word(bits, w, r.low - from);
    if (from <= r.high - 1 && r.high - 1 < until)
      ends[1] = column_in_word(bits, w, r.high - 1 - from);
  }
  __syncthreads();
  return {c0 + ends[0], c0 + ends[1] + 1, false};
}

/* A warp's unit of products before they are added to the sums. */
template <class S> struct unit_products {
  unsigned slot[UNIT_STEPS];
  S val[UNIT_STEPS];
  bool there[UNIT_STEPS];
  unsigned turn[UNIT_STEPS], last[UNIT_STEPS]; /* for lanes with the same slot: this lane's turn, and the
                                                * number of the last turn */
  bool apart;                                  /* all slots differ; turn and last are not set */
};

/* For a unit of one entry: returns whether two neighbours have the same column; otherwise all columns
 * differ. */
__device__ __forceinline__ bool has_repeats(const int32_t (&col)[UNIT_STEPS]) {
  const bool is_last = lane_of_thread() == SPGEMM_WARP - 1;
  bool repeats = false;
#pragma unroll
  for (int j = 0; j < UNIT_STEPS; j++) {
    const int32_t beside = __shfl_down_sync(ALL_LANES, col[j], 1);
    const int32_t after = j + 1 < UNIT_STEPS ? __shfl_sync(ALL_LANES, col[(j + 1) % UNIT_STEPS], 0) : -1;
    repeats |= col[j] >= 0 && col[j] == (is_last ? after : beside);
  }
  return __any_sync(ALL_LANES, repeats);
}

/* Sets the turns of lanes with the same slot. */
template <class S> __device__ __forceinline__ void find_turns(unit_products<S> &u) {
  const int lane = lane_of_thread();
#pragma unroll
  for (int j = 0; j < UNIT_STEPS; j++) {
    const unsigned peers = __match_any_sync(ALL_LANES, u.there[j] ? u.slot[j] : ~static_cast<unsigned>(lane));
    u.turn[j] = u.there[j] ? __popc(peers & ((1u << lane) - 1)) : 0;
    u.last[j] = __reduce_max_sync(ALL_LANES, u.turn[j]);
  }
}

template <class T, class S, class RING>
__device__ __forceinline__ unit_products<S> look_up(const sl_cuda_spgemm &p, const RING &ring, int64_t c0,
                                                    const dense_space<S> &s, rank_window r, int64_t unit,
                                                    int64_t total) {
  unit_products<S> u;
  int32_t col[UNIT_STEPS]; /* relative to c0; -1: no product */
  const unit_entry entry = entry_of_unit(s.before, unit, total);
#pragma unroll
  for (int j = 0; j < UNIT_STEPS; j++) {
    const int64_t n = unit * UNIT + j * SPGEMM_WARP + lane_of_thread();
    u.there[j] = n < total;
    u.slot[j] = 0;
    u.val[j] = 0;
    col[j] = -1;
    if (!u.there[j])
      continue;
    const int from = entry.of(s.before, n);
    const int64_t at = s.start[from] + n;
    const int32_t c = static_cast<int32_t>(p.b_col[at] - c0);
    const unsigned long long bits = bitmap_word(s, c / BITMAP_WORD), bit = 1ull << (c % BITMAP_WORD);
    col[j] = c;
    u.there[j] = (bits & bit) != 0; /* otherwise the mask does not have the column */
    u.slot[j] = static_cast<unsigned>(s.rank[c / BITMAP_WORD] + __popcll(bits & (bit - 1)) - r.low);
    u.val[j] = ring.product(s.a[from], value_at<T>(ring, p.b_val, at));
  }
  u.apart = entry.only && !has_repeats(col);
  if (!u.apart)
    find_turns(u);
  return u;
}

template <class S, class RING>
__device__ __forceinline__ void add_unit(const RING &ring, S *sum, const unit_products<S> &u) {
  if (u.apart) {
    S so_far[UNIT_STEPS];
#pragma unroll
    for (int j = 0; j < UNIT_STEPS; j++)
      so_far[j] = u.there[j] ? sum[u.slot[j]] : S(0);
#pragma unroll
    for (int j = 0; j < UNIT_STEPS; j++)
      if (u.there[j])
        sum[u.slot[j]] = ring.add(so_far[j], u.val[j]);
    return;
  }
#pragma unroll
  for (int j = 0; j < UNIT_STEPS; j++)
    for (unsigned turn = 0; turn <= u.last[j]; turn++) {
      if (u.there[j] && u.turn[j] == turn)
        sum[u.slot[j]] = ring.add(sum[u.slot[j]], u.val[j]);
      __syncwarp();
    }
}

/* Computes the sums of the window in order: units are added one after the other. Ends with a barrier of the
 * block. */
template <class T, class S, class RING>
__device__ __forceinline__ void sum_window(const sl_cuda_spgemm &p, const RING &ring, int64_t row, int64_t c0,
                                           column_bounds bounds, const dense_space<S> &s, rank_window r) {
  for (int64_t i = threadIdx.x; i < r.high - r.low; i += DENSE_ROW_THREADS)
    s.sum[i] = ring.first();
  __syncthreads();
  take_products<T, true>(p, ring, row, bounds, s, [&](int64_t unit, int64_t units, int64_t total) {
    const int warp = static_cast<int>(threadIdx.x) / SPGEMM_WARP;
    const unit_products<S> u = look_up<T>(p, ring, c0, s, r, unit, total);
    if (unit > 0)
      turn_await(warp);
    add_unit(ring, s.sum, u);
    if (unit + 1 < units)
      turn_give((warp + 1) % DENSE_ROW_WARPS);
  });
}

/* Writes the window's entries to C, from entry `at` on; the memory of the sums is reused for the columns.
 * Ends with a barrier of the block. */
template <class T, class S>
__device__ __forceinline__ void put_window(const sl_cuda_spgemm &p, int64_t c0, const dense_space<S> &s,
                                           rank_window r, int64_t at) {
  int32_t *col = reinterpret_cast<int32_t *>(s.sum);
  for (int64_t i = threadIdx.x; i < r.high - r.low; i += DENSE_ROW_THREADS)
    put_value<T>(p, at + i, s.sum[i]);
  __syncthreads();
  for (int64_t w = threadIdx.x; w < s.range / BITMAP_WORD; w += DENSE_ROW_THREADS) {
    unsigned long long bits = bitmap_word(s, w);
    for (int64_t i = s.rank[w] - r.low; bits != 0 && i < r.high - r.low; i++, bits &= bits - 1)
      if (i >= 0)
        col[i] = static_cast<int32_t>(c0 + w * BITMAP_WORD + __ffsll(static_cast<long long>(bits)) - 1);
  }
  __syncthreads();
  for (int64_t i = threadIdx.x; i < r.high - r.low; i += DENSE_ROW_THREADS)
    put_column(p, at + i, col[i]);
  __syncthreads();
}

/* `parts` blocks compute a row; each computes a window of `window` entries of the row. */
template <class T, bool TIMES>
__global__ void __launch_bounds__(DENSE_ROW_THREADS, DENSE_ROW_BLOCKS)
    make_dense_rows(const sl_cuda_spgemm p, const uint32_t *list, unsigned parts, int64_t window) {
  using S = typename value<T>::sum;
  const semiring<S, TIMES> ring = {p.semiring};
  const dense_space<S> s = dense_space_of<S>(p);
  const int64_t row = list[blockIdx.x / parts], at = p.c_rowptr[row], entries = p.c_rowptr[row + 1] - at;
  const int64_t low = blockIdx.x % parts * window, high = low + window < entries ? low + window : entries;
  if (low >= entries)
    return;
  int64_t passed = 0; /* number of entries before the range */
  for (int64_t c0 = 0; c0 < p.cols && passed < high; c0 += s.range) {
    mark_columns(p, row, c0, s);
    const int64_t total = rank_words(s);
    const rank_window r = {low > passed ? low - passed : 0, high - passed < total ? high - passed : total};
    if (r.low < r.high) {
      column_bounds bounds = {c0, c0 + s.range, s.range >= p.cols};
      if (r.high - r.low < total)
        bounds = bounds_of_window(s, c0, r);
      sum_window<T>(p, ring, row, c0, bounds, s, r);
      put_window<T>(p, c0, s, r, at + passed + r.low);
    }
    passed += total;
  }
}

} // namespace sley

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Rows with hash tables in shared memory, one warp and one table per row. The warp processes 32 products at a
 * time in order. The positions of columns in the table depend on timing, but the sums do not: lanes with the
 * same column add in turn. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_HASH_CUH
#define SLEY_DEVICE_CUDA_SPGEMM_HASH_CUH

#include "device/cuda/spgemm/spgemm_rows.cuh"
#include "device/cuda/spgemm/spgemm_sort.cuh"

namespace sley {

enum {
  HASH_WARPS = 4,
  HASH_THREADS = HASH_WARPS * SPGEMM_WARP,
  SMALL_TABLE = 512 /* slots of the largest table whose columns are sorted in registers */
};

extern __shared__ uint4 spgemm_shared[];

/* A warp's table. An empty slot has key -1. present: with a mask, whose columns are inserted first, one bit
 * for each slot that has received a product. */
template <class S> struct hash_table {
  S *sum; /* sums of the slots; NULL if entries are only counted */
  int32_t *key;
  unsigned *present;
  unsigned slots; /* a power of two, at least 32 */

  __device__ __forceinline__ unsigned home(int32_t col) const {
    return (static_cast<unsigned>(col) * 2654435769u >> 7) & (slots - 1);
  }
};

/* Bytes of a table, a multiple of 8. */
SL_ANYWHERE int64_t hash_bytes(int64_t slots, int64_t sum_bytes) {
  return slots * (sum_bytes + static_cast<int64_t>(sizeof(int32_t))) + slots / 8;
}

template <class S> __device__ __forceinline__ hash_table<S> table_of_warp(unsigned slots, int64_t sum_bytes) {
  char *at = reinterpret_cast<char *>(spgemm_shared) +
             static_cast<int64_t>(threadIdx.x / SPGEMM_WARP) * hash_bytes(slots, sum_bytes);
  hash_table<S> t;
  t.sum = sum_bytes > 0 ? reinterpret_cast<S *>(at) : nullptr;
  t.key = reinterpret_cast<int32_t *>(at + slots * sum_bytes);
  t.present = reinterpret_cast<unsigned *>(t.key + slots);
  t.slots = slots;
  return t;
}

/* Returns the column's slot and inserts the column if it has none; *is_new: whether it was inserted. */
template <class S>
__device__ __forceinline__ unsigned slot_for(const hash_table<S> &t, int32_t col, bool *is_new) {
  *is_new = false;
  for (unsigned slot = t.home(col);; slot = (slot + 1) & (t.slots - 1)) {
    int32_t held = *static_cast<volatile int32_t *>(t.key + slot);
    if (held == -1) {
      held = atomicCAS(t.key + slot, -1, col);
      *is_new = held == -1;
      if (*is_new)
        return slot;
    }
    if (held == col)
      return slot;
  }
}

/* Returns the column's slot, or t.slots if it has none. */
template <class S> __device__ __forceinline__ unsigned slot_of(const hash_table<S> &t, int32_t col) {
  for (unsigned slot = t.home(col);; slot = (slot + 1) & (t.slots - 1)) {
    const int32_t held = t.key[slot];
    if (held == col)
      return slot;
    if (held == -1)
      return t.slots;
  }
}

/* Clears the table, and inserts the columns of the mask's row. */
template <class S, class RING>
__device__ __forceinline__ void begin_table(const sl_cuda_spgemm &p, const RING &ring, int64_t row,
                                            const hash_table<S> &t) {
  const int lane = lane_of_thread();
  for (unsigned s = lane; s < t.slots; s += SPGEMM_WARP) {
    t.key[s] = -1;
    if (t.sum)
      t.sum[s] = ring.first();
    if (s < t.slots / SPGEMM_WARP)
      t.present[s] = 0;
  }
  __syncwarp();
  if (!p.mask_rowptr)
    return;
  for (int64_t e = p.mask_rowptr[row] + lane; e < p.mask_rowptr[row + 1]; e += SPGEMM_WARP) {
    bool is_new;
    slot_for(t, p.mask_col[e], &is_new);
  }
  __syncwarp();
}

/* Processes the row's products: calls each(slot, is there, product) for 32 products at a time, by all lanes.
 * Returns the number of slots that this lane has inserted (with a mask: bits of present that it has set). */
template <class T, bool VALUES, class S, class RING, class EACH>
__device__ __forceinline__ int take_row(const sl_cuda_spgemm &p, const RING &ring, int64_t row,
                                        const hash_table<S> &t, EACH each) {
  const int lane = lane_of_thread();
  const int64_t end = p.a_rowptr[row + 1];
  int filled = 0;
  for (int64_t e = p.a_rowptr[row]; e < end; e += SPGEMM_WARP) {
    const auto g = take_entries<T, SPGEMM_WARP, VALUES>(p, ring, e + lane, end);
    const int total = __shfl_sync(ALL_LANES, g.until, SPGEMM_WARP - 1);
    for (int n = 0; n < total; n += SPGEMM_WARP) {
      auto d = draw_product<T, SPGEMM_WARP, VALUES>(p, ring, g, n + lane, n + lane < total);
      unsigned slot = 0;
      bool is_new = false;
      if (d.there && !p.mask_rowptr) {
        slot = slot_for(t, d.col, &is_new);
      } else if (d.there) {
        slot = slot_of(t, d.col);
        d.there = slot < t.slots;
        const unsigned bit = 1u << (slot % SPGEMM_WARP);
        is_new = d.there && !(atomicOr(t.present + slot / SPGEMM_WARP, bit) & bit);
      }
      filled += is_new;
      each(slot, d.there, d.val);
    }
  }
  return filled;
}

static __global__ void __launch_bounds__(HASH_THREADS)
    count_hash_rows(const sl_cuda_spgemm p, const uint32_t *list, unsigned rows, unsigned slots) {
  const semiring<float, false> ring = {SLEY_PLUS_PAIR};
  const int64_t row = row_of_lanes<HASH_THREADS, SPGEMM_WARP>(list, rows);
  if (row < 0)
    return;
  const hash_table<float> t = table_of_warp<float>(slots, 0);
  begin_table(p, ring, row, t);
  const int filled = take_row<float, false>(p, ring, row, t, [](unsigned, bool, float) {});
  const int until = sum_until<SPGEMM_WARP>(filled);
  if (lane_of_thread() == SPGEMM_WARP - 1)
    p.c_rowptr[row + 1] = until;
}

/* Adds products to their slots; lanes with the same slot add in order. Called by all lanes of a warp. */
template <class S, class RING>
__device__ __forceinline__ void add_in_order(const RING &ring, S *sum, unsigned slot, bool there, S val) {
  const int lane = lane_of_thread();
  const unsigned peers = __match_any_sync(ALL_LANES, there ? slot : ~static_cast<unsigned>(lane));
  const unsigned turn = there ? __popc(peers & ((1u << lane) - 1)) : 0,
                 last = __reduce_max_sync(ALL_LANES, turn);
  for (unsigned r = 0; r <= last; r++) {
    if (there && turn == r)
      sum[slot] = ring.add(sum[slot], val);
    __syncwarp();
  }
}

/* Moves the entries to the front of the table; returns their number. */
template <class S> __device__ __forceinline__ unsigned pack_table(const hash_table<S> &t, bool masked) {
  const int lane = lane_of_thread();
  unsigned count = 0;
  for (unsigned s = lane; s < t.slots; s += SPGEMM_WARP) {
    const int32_t key = t.key[s];
    const S sum = t.sum[s];
    const bool there = masked ? t.present[s / SPGEMM_WARP] >> lane & 1 : key != -1;
    const unsigned ballot = __ballot_sync(ALL_LANES, there); /* all lanes read before any lane writes */
    if (there) {
      const unsigned to = count + __popc(ballot & ((1u << lane) - 1)); /* <= s */
      t.key[to] = key;
      t.sum[to] = sum;
    }
    count += __popc(ballot);
    __syncwarp();
  }
  return count;
}

/* Puts two entries of the table in order. */
template <class S> __device__ __forceinline__ void order_two(const hash_table<S> &t, unsigned i, unsigned j) {
  const int32_t a = t.key[i], b = t.key[j];
  if (a <= b)
    return;
  const S other = t.sum[i];
  t.key[i] = b;
  t.key[j] = a;
  t.sum[i] = t.sum[j];
  t.sum[j] = other;
}

/* Sorts the first `count` entries, at the front of the table, by the network of spgemm_sort.cuh. */
template <class S> __device__ __forceinline__ void sort_table(const hash_table<S> &t, unsigned count) {
  const unsigned lane = lane_of_thread();
  unsigned width = 2;
  while (width < count)
    width *= 2;
  for (unsigned i = count + lane; i < width; i += SPGEMM_WARP)
    t.key[i] = INT32_MAX;
  __syncwarp();
  for (unsigned size = 2; size <= width; size *= 2) {
    for (unsigned n = lane; n < width / 2; n += SPGEMM_WARP) { /* the first with the last, the second with the
                                                                * last but one, and so on */
      const unsigned within = n & (size / 2 - 1), begin = (n - within) * 2;
      order_two(t, begin + within, begin + size - 1 - within);
    }
    __syncwarp();
    for (unsigned step = size / 4; step > 0; step /= 2) {
      for (unsigned n = lane; n < width / 2; n += SPGEMM_WARP) {
        const unsigned within = n & (step - 1), begin = (n - within) * 2;
        order_two(t, begin + within, begin + within + step);
      }
      __syncwarp();
    }
  }
}

/* Writes the table's entries to C, from entry `at` on, after sorting them in shared memory. */
template <class T, class S>
__device__ __forceinline__ void put_table(const sl_cuda_spgemm &p, const hash_table<S> &t, int64_t at) {
  const unsigned count = pack_table(t, p.mask_rowptr != nullptr);
  sort_table(t, count);
  for (unsigned i = lane_of_thread(); i < count; i += SPGEMM_WARP) {
    put_column(p, at + i, t.key[i]);
    put_value<T>(p, at + i, t.sum[i]);
  }
}

/* Does the same for a table of 32 EACH slots: columns are sorted in registers, combined with the numbers of
 * their slots in 32 bits. */
template <class T, int EACH, class S>
__device__ __forceinline__ void put_small_table(const sl_cuda_spgemm &p, const hash_table<S> &t, int64_t at) {
  constexpr unsigned SLOTS = EACH * SPGEMM_WARP;
  const int lane = lane_of_thread();
  unsigned key[EACH], count = 0;
#pragma unroll
  for (int r = 0; r < EACH; r++) {
    const unsigned slot = r * SPGEMM_WARP + lane;
    const int32_t col = t.key[slot];
    const bool there = p.mask_rowptr ? t.present[r] >> lane & 1 : col != -1;
    key[r] = there ? static_cast<unsigned>(col) * SLOTS + slot : UINT32_MAX;
    count += __popc(__ballot_sync(ALL_LANES, there));
  }
  __syncwarp(); /* all lanes read before any lane writes */
  sort_keys<SLOTS>(key);
#pragma unroll
  for (int r = 0; r < EACH; r++)
    reinterpret_cast<unsigned *>(t.key)[lane * EACH + r] = key[r];
  __syncwarp();
  for (unsigned i = lane; i < count; i += SPGEMM_WARP) {
    const unsigned sorted = reinterpret_cast<const unsigned *>(t.key)[i];
    put_column(p, at + i, static_cast<int32_t>(sorted / SLOTS));
    put_value<T>(p, at + i, t.sum[sorted % SLOTS]);
  }
}

/* Returns whether put_small_table supports a table of `slots` slots. */
SL_ANYWHERE bool is_small_table(int64_t cols, int64_t slots) {
  return slots <= SMALL_TABLE && cols < (INT64_C(1) << 32) / slots;
}

/* EACH: as in put_small_table, slots / 32; 0: the table is not small. */
template <class T, bool TIMES, int EACH>
__global__ void __launch_bounds__(HASH_THREADS)
    make_hash_rows(const sl_cuda_spgemm p, const uint32_t *list, unsigned rows, unsigned slots) {
  using S = typename value<T>::sum;
  const semiring<S, TIMES> ring = {p.semiring};
  const int64_t row = row_of_lanes<HASH_THREADS, SPGEMM_WARP>(list, rows);
  if (row < 0)
    return;
  const hash_table<S> t = table_of_warp<S>(slots, sizeof(S));
  begin_table(p, ring, row, t);
  take_row<T, true>(p, ring, row, t,
                    [&](unsigned slot, bool there, S val) { add_in_order(ring, t.sum, slot, there, val); });
  __syncwarp();
  if constexpr (EACH > 0)
    put_small_table<T, EACH>(p, t, p.c_rowptr[row]);
  else
    put_table<T>(p, t, p.c_rowptr[row]);
}

} // namespace sley

#endif

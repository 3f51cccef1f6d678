/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks (chunks.h) on the device: how a chunk is loaded; for rows that are cut into fragments, which group
 * adds the sums, and in which order. */
#ifndef SLEY_DEVICE_CUDA_SPMM_FRAGMENTS_CUH
#define SLEY_DEVICE_CUDA_SPMM_FRAGMENTS_CUH

#include <cstdint>

#include "device/cuda/cuda.h"

extern "C" {
#include "device/chunks.h"
}

namespace sley {

/* Loads a chunk with two loads. */
__device__ __forceinline__ sl_chunk chunk_at(const sl_chunk *chunks, int64_t at) {
  static_assert(sizeof(sl_chunk) == 2 * sizeof(int4), "a chunk is two words of 16 bytes");
  union {
    int4 word[2];
    sl_chunk chunk;
  } got;
  const int4 *from = (const int4 *)(chunks + at);
  got.word[0] = __ldg(from);
  got.word[1] = __ldg(from + 1);
  return got.chunk;
}

/* The fragments of a long row: `count` sums from slot `first` on, for row `row` of Y. */
struct fragments {
  int32_t row;
  int64_t first;
  int32_t count;
};

/* Identifies the fragment of a long row that a chunk holds. */
struct fragment_place {
  int32_t slot, long_row;
};

template <class MATRIX>
__device__ __forceinline__ fragments fragments_of(const MATRIX &a, const fragment_place &where) {
  const sl_long_row *row = a.long_row + where.long_row;
  return {row[0].row, row[0].first_slot, row[1].first_slot - row[0].first_slot};
}

/* Called by a group of lanes after it has written sums. Returns whether it is the last of the `groups` groups
 * that use this counter. The last group resets the counter to 0, and sees the sums that the others have
 * written. */
template <int LANES> __device__ bool last_of(unsigned *counter, int groups, int lane, unsigned mask) {
  unsigned finished = 0;
  __threadfence();
  __syncwarp(mask);
  if (lane == 0)
    finished = atomicAdd(counter, 1u) + 1;
  if (__shfl_sync(mask, finished, __ffs((int)mask) - 1) != (unsigned)groups)
    return false;
  __threadfence();
  if (lane == 0)
    *counter = 0;
  return true;
}

/* Called by LANES lanes after they have written the sums of a fragment, for the features of one panel. The
 * last group to finish among the fragments of a block of fragments adds their sums, first to last; the last
 * among the row's blocks adds the blocks' sums. add(first, count, step, whole) adds `count` sums, one every
 * `step` slots from slot `first` on. If whole is set, the result is the row's; else it goes to slot
 * `first`. */
template <int LANES, class MATRIX, class ADD>
__device__ __forceinline__ void add_fragments(const MATRIX &a, const fragment_place &where, int panel,
                                              int lane, unsigned mask, ADD add) {
  constexpr int GROUP = SL_FRAGMENT_GROUP;
  const fragments row = fragments_of(a, where);
  const int group = (int)(where.slot - row.first) / GROUP, groups = (row.count + GROUP - 1) / GROUP;
  const int here = row.count - group * GROUP < GROUP ? row.count - group * GROUP : GROUP;
  unsigned *counter = a.finished + panel * a.counters;
  if (!last_of<LANES>(counter + a.longs + row.first / GROUP + where.long_row + group, here, lane, mask))
    return;
  add(row.first + group * GROUP, here, 1, groups == 1);
  if (groups > 1 && last_of<LANES>(counter + where.long_row, groups, lane, mask))
    add(row.first, groups, GROUP, true);
}

} // namespace sley

#endif

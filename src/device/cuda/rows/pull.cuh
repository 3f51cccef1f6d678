/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of pulls of halos: whole rows of equal length, 16 bytes at a time. */
#ifndef SLEY_DEVICE_CUDA_ROWS_PULL_CUH
#define SLEY_DEVICE_CUDA_ROWS_PULL_CUH

#include "device/cuda/rows/pull_pieces.cuh"

namespace sley {

/* Maximum number of entries of one pull, so that 32-bit indices do not overflow. */
constexpr int64_t PLAIN_ENTRIES = INT64_C(1) << 31;

/* Rows to pull: `vectors` times 16 bytes each. */
struct plain_rows {
  const sl_pull_entry *list;
  char *dst;
  int64_t dst_stride;
  unsigned count, vectors;
};

union entry_word {
  ulonglong2 word;
  sl_pull_entry entry;
};

__device__ __forceinline__ void load_words(const plain_rows &p, unsigned first, unsigned groups,
                                           ulonglong2 (&out)[PULL_AHEAD]) {
#pragma unroll
  for (int u = 0; u < PULL_AHEAD; u++)
    if (first + u * groups < p.count)
      out[u] = __ldcs(reinterpret_cast<const ulonglong2 *>(p.list + first + u * groups));
}

/* Stores so that the lines leave the L2 cache first: a halo is larger than the cache, and the product's own
 * rows of X are used more often. */
__device__ __forceinline__ void store_first(uint4 *to, uint4 v) {
  constexpr uint64_t EVICT_FIRST =
      0x12f0000000000000; /* createpolicy.fractional.L2::evict_first.b64 p, 1.0 */
  asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to), "r"(v.x), "r"(v.y),
               "r"(v.z), "r"(v.w), "l"(EVICT_FIRST)
               : "memory");
}

/* A warp's share of a step: the rows still to be moved, none, one or several. */
struct row_move {
  const uint4 *src[PULL_AHEAD];
  uint4 *to[PULL_AHEAD];
  unsigned rows; /* rows of this thread, starting with the first */
  uint4 moved[PULL_AHEAD];
  __device__ __forceinline__ void load(unsigned v) {
#pragma unroll
    for (unsigned u = 0; u < PULL_AHEAD; u++)
      if (u < rows)
        moved[u] = __ldcg(src[u] + v);
  }
  __device__ __forceinline__ void store(unsigned v) {
#pragma unroll
    for (unsigned u = 0; u < PULL_AHEAD; u++)
      if (u < rows)
        store_first(to[u] + v, moved[u]);
  }
};

/* Called by all threads of the grid together. from(entry) returns the address of its row. While the rows of a
 * step are loaded, the entries of the next step are loaded too, and the rows of the previous step are
 * reported, so that the necessary fence costs no time. */
template <class From>
__device__ __forceinline__ void pull_rows(const plain_rows &p, const From &from, int group_log,
                                          piece_watch watch) {
  const unsigned lanes = 1u << group_log, lane = threadIdx.x & (lanes - 1);
  const unsigned thread = blockIdx.x * THREADS + threadIdx.x, groups = gridDim.x * THREADS >> group_log;
  const unsigned mine = thread >> group_log, warps_first = (thread & ~31u) >> group_log;
  ulonglong2 next[PULL_AHEAD];
  load_words(p, mine, groups, next);
  for (unsigned done = 0; warps_first + done < p.count; done += groups * PULL_AHEAD) {
    row_move move = {};
#pragma unroll
    for (unsigned u = 0; u < PULL_AHEAD; u++)
      if (mine + done + u * groups < p.count) {
        entry_word e;
        e.word = next[u];
        move.src[u] = reinterpret_cast<const uint4 *>(from(e.entry));
        move.to[u] = reinterpret_cast<uint4 *>(p.dst + e.entry.dst_row * p.dst_stride);
        move.rows = u + 1;
      }
    load_words(p, mine + done + groups * PULL_AHEAD, groups, next);
    if (lane < p.vectors)
      move.load(lane);
    watch.passed(warps_first + done);
    if (lane < p.vectors)
      move.store(lane);
    for (unsigned v = lane + lanes; v < p.vectors; v += lanes) {
      move.load(v);
      move.store(v);
    }
  }
  watch.passed(INT64_MAX);
}

} // namespace sley

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Moves rows in a kernel.
 *
 * A group of lanes takes a row at a time; its size is a power of two that a row fills. Several rows are
 * loaded before the first is stored, so that enough loads are in flight. The rows of a pull are far away: the
 * entries of the next step are requested before waiting for the rows of the current one, so that a step costs
 * only the latency of its rows. Rows longer than a fragment are cut; blocks with the same blockIdx.y take the
 * same fragments. If rows are long and few, as in a message that is one row, each group takes fragments.
 * Loads and stores are as wide as all addresses and sizes allow. */
#ifndef SLEY_DEVICE_CUDA_ROWS_ROWS_CUH
#define SLEY_DEVICE_CUDA_ROWS_ROWS_CUH

#include "device/cuda/cuda.h"
#include "device/cuda/values.cuh"

namespace sley {

/* Blocks of a pull: enough loads in flight to fill the links, and no more, because more would delay the loads
 * of a product that runs beside it. About a third of the multiprocessors hold one block each. Bulk copies
 * through shared memory (cp.async.bulk), one warp per block, are no alternative: on two H200s a
 * multiprocessor loads 1.6 GB/s of rows of 128 bytes and 2.5 GB/s of rows of 256 bytes, so that nearly all of
 * them are needed to fill a link. Nor are copy engines: packed by their owner and copied piece by piece, rows
 * of 128 to 512 bytes come at 110 to 210 GB/s. */
inline int64_t pull_blocks(const sl_queue *queue, bool unhurried) {
  return queue->device->figures.fill[unhurried ? SL_FILL_FEW_PULL_BLOCKS : SL_FILL_PULL_BLOCKS];
}

/* Rows of a group in flight. */
constexpr int PULL_AHEAD = 2;
static_assert(PULL_AHEAD == 2 || PULL_AHEAD == 4, "rows of a group in flight");

enum { THREADS = 512, ROWS_AHEAD = 4, FRAGMENT_BYTES = 8192, FRAGMENTS_MOST = 65535 };

/* One row to move. */
struct job {
  const char *src;
  char *dst;
  int64_t bytes;
};

struct listed {
  static constexpr int AHEAD = ROWS_AHEAD;
  static constexpr bool ASKS_EARLY = false;
  struct entry {
    int64_t src, dst;
  };
  sl_rows_args a;
  __device__ entry load(int64_t i) const {
    return {a.src_rows ? a.src_rows[i] : a.src_first + i, a.dst_rows ? a.dst_rows[i] : a.dst_first + i};
  }
  __device__ job at(const entry &e) const {
    return {static_cast<const char *>(a.src) + e.src * a.src_stride,
            static_cast<char *>(a.dst) + e.dst * a.dst_stride, a.bytes};
  }
};

struct pulled {
  static constexpr int AHEAD = PULL_AHEAD;
  static constexpr bool ASKS_EARLY = true;
  using entry = sl_pull_entry;
  const sl_pull_entry *list;
  char *dst;
  int64_t dst_stride;
  sl_pull_source source[SL_PULL_SOURCES];
  __device__ entry load(int64_t i) const {
    union {
      ulonglong2 word;
      entry e;
    } both;
    both.word = __ldcs(reinterpret_cast<const ulonglong2 *>(list + i));
    return both.e;
  }
  __device__ job at(const entry &e) const {
    const sl_pull_source &s = source[e.source];
    return {static_cast<const char *>(s.src) + e.src_row * s.stride,
            dst + e.dst_row * dst_stride + s.dst_offset, s.bytes};
  }
};

/* Combines a loaded value with the stored value: the loaded value replaces it. */
template <class V> struct replace {
  using stored = V;
  static constexpr bool reads_dst = false;
  __device__ static V join(V, V moved) {
    return moved;
  }
};

/* Adds; 16-bit values are added in f32 and rounded. */
template <class V, class T> struct add {
  using stored = V;
  static constexpr bool reads_dst = true;
  __device__ static V join(V old, V moved) {
    union {
      V v;
      T t[sizeof(V) / sizeof(T)];
    } a, b;
    a.v = old;
    b.v = moved;
    for (unsigned i = 0; i < sizeof(V) / sizeof(T); i++)
      a.t[i] = value<T>::narrow(value<T>::widen(a.t[i]) + value<T>::widen(b.t[i]));
    return a.v;
  }
};

/* Loads the entries of a step, or fewer if fewer are left. */
template <class Rows>
__device__ void load_entries(const Rows &rows, int64_t first, int64_t end, int64_t groups,
                             typename Rows::entry *out) {
#pragma unroll
  for (int u = 0; u < Rows::AHEAD; u++)
    if (first + u * groups < end)
      out[u] = rows.load(first + u * groups);
}

/* A watch that does nothing: nobody waits for the progress of a move. */
struct unwatched {
  __device__ void passed(int64_t) {
  }
};

/* Like move_rows, for few long rows: all groups of the grid take fragments in turn, so that none is idle.
 * Fragments are taken round-robin over the rows, so that rows in different memories come over all links at
 * once. A kernel contains only one of the two loops, because both together need more registers than either.
 */
template <class V, class Join, class Rows>
__device__ void move_fragments(const Rows &rows, int64_t count, int64_t fragments, int group_log) {
  using W = typename Join::stored;
  constexpr int AHEAD = 4;
  constexpr int64_t fragment_vectors = FRAGMENT_BYTES / sizeof(V);
  const int lanes = 1 << group_log, lane = threadIdx.x & (lanes - 1);
  const int64_t block = static_cast<int64_t>(blockIdx.y) * gridDim.x + blockIdx.x;
  const int64_t mine = (block * THREADS + threadIdx.x) >> group_log;
  const int64_t groups = (static_cast<int64_t>(gridDim.x) * gridDim.y * THREADS) >> group_log;
  for (int64_t first = mine; first < count * fragments; first += groups * AHEAD) {
    const V *src[AHEAD];
    W *dst[AHEAD];
    int left[AHEAD], most = 0;
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
      const int64_t item = first + u * groups, row = item % count, fragment = item / count;
      left[u] = 0;
      if (fragment >= fragments)
        continue;
      const job j = rows.at(rows.load(row));
      const int64_t vectors = j.bytes / static_cast<int64_t>(sizeof(V)) - fragment * fragment_vectors;
      src[u] = reinterpret_cast<const V *>(j.src) + fragment * fragment_vectors;
      dst[u] = reinterpret_cast<W *>(j.dst) + fragment * fragment_vectors;
      left[u] = static_cast<int>(vectors < 0 ? 0 : vectors < fragment_vectors ? vectors : fragment_vectors);
      most = left[u] > most ? left[u] : most;
    }
    for (int v = lane; v < most; v += lanes) {
      V moved[AHEAD];
#pragma unroll
      for (int u = 0; u < AHEAD; u++)
        if (v < left[u])
          moved[u] = __ldcg(src[u] + v);
#pragma unroll
      for (int u = 0; u < AHEAD; u++)
        if (v < left[u])
          dst[u][v] = Join::join(Join::reads_dst ? dst[u][v] : W(), moved[u]);
    }
  }
}

/* Moves rows; called by all threads of a grid of (blocks, fragments at a time). Rows::AHEAD rows are loaded
 * before the first is stored. V and Join::stored have equally many values. Every warp, with all lanes
 * together, reports its progress to the watch: the entry up to which it has moved its share. */
template <class V, class Join, class Rows, class Watch>
__device__ void move_rows(const Rows &rows, int64_t count, int64_t fragments, int group_log, Watch watch) {
  using W = typename Join::stored;
  constexpr int AHEAD = Rows::AHEAD;
  const int lanes = 1 << group_log, lane = threadIdx.x & (lanes - 1);
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
  const int64_t groups = (static_cast<int64_t>(gridDim.x) * THREADS) >> group_log;
  const int64_t mine = thread >> group_log, warps_first = (thread & ~INT64_C(31)) >> group_log;
  constexpr int64_t fragment_vectors = FRAGMENT_BYTES / sizeof(V);
  for (int64_t fragment = blockIdx.y; fragment < fragments; fragment += gridDim.y) {
    typename Rows::entry entry[AHEAD];
    if (Rows::ASKS_EARLY)
      load_entries(rows, mine, count, groups, entry);
    for (int64_t done = 0; warps_first + done < count; done += groups * AHEAD) {
      const int64_t first = mine + done;
      const V *src[AHEAD];
      W *dst[AHEAD];
      int left[AHEAD], most = 0;
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        left[u] = 0;
        if (first + u * groups >= count)
          continue;
        const job j = rows.at(Rows::ASKS_EARLY ? entry[u] : rows.load(first + u * groups));
        const int64_t vectors = j.bytes / static_cast<int64_t>(sizeof(V)) - fragment * fragment_vectors;
        src[u] = reinterpret_cast<const V *>(j.src) + fragment * fragment_vectors;
        dst[u] = reinterpret_cast<W *>(j.dst) + fragment * fragment_vectors;
        left[u] = static_cast<int>(vectors < 0 ? 0 : vectors < fragment_vectors ? vectors : fragment_vectors);
        most = left[u] > most ? left[u] : most;
      }
      if (Rows::ASKS_EARLY)
        load_entries(rows, first + groups * AHEAD, count, groups, entry);
      for (int v = lane; v < most; v += lanes) {
        V moved[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
          if (v < left[u])
            moved[u] = __ldcg(src[u] + v);
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
          if (v < left[u])
            dst[u][v] = Join::join(Join::reads_dst ? dst[u][v] : W(), moved[u]);
      }
      if (fragment + gridDim.y >= fragments)
        watch.passed(warps_first + done + groups * AHEAD);
    }
  }
  watch.passed(INT64_MAX);
}

/* Smallest group that a row of `vectors` vectors fills, as a power of two. */
inline __host__ __device__ int group_log_for(int64_t vectors) {
  int log = 0;
  while (log < 5 && (1 << log) < vectors)
    log++;
  return log;
}

/* Number of blocks for `work` groups of lanes, at most `most`. */
inline unsigned blocks_for(int64_t work, int group_log, int64_t most) {
  const int64_t groups = THREADS >> group_log, blocks = (work + groups - 1) / groups;
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

/* The grid for `count` rows of at most `bytes` bytes, moved in vectors of `width` bytes, `ahead` rows per
 * group at a time, in about `most` blocks. */
struct move_grid {
  dim3 blocks;
  int64_t fragments;
  int group_log;
};
inline move_grid grid_of(int64_t count, int64_t bytes, int width, int ahead, int64_t most) {
  move_grid g = {dim3(1), (bytes + FRAGMENT_BYTES - 1) / FRAGMENT_BYTES, group_log_for(bytes / width)};
  const unsigned across = g.fragments < 1                ? 1
                          : g.fragments < FRAGMENTS_MOST ? static_cast<unsigned>(g.fragments)
                                                         : FRAGMENTS_MOST;
  const unsigned y = most < across ? static_cast<unsigned>(most) : across;
  const unsigned x = blocks_for((count + ahead - 1) / ahead, g.group_log, (most + y - 1) / y);
  g.blocks = dim3(x > 0 ? x : 1, y);
  return g;
}

/* Returns whether move_fragments is better than move_rows, which keeps only one group of a block busy per
 * row. */
inline bool are_few(int64_t count, int64_t bytes) {
  return count < THREADS / 32 && bytes > FRAGMENT_BYTES;
}

/* Widest access that an address or size, or the bitwise or of several, allows. */
inline __host__ __device__ int width_of(uint64_t bits) {
  return bits % 16 == 0 ? 16 : bits % 8 == 0 ? 8 : bits % 4 == 0 ? 4 : bits % 2 == 0 ? 2 : 1;
}

} // namespace sley

#endif

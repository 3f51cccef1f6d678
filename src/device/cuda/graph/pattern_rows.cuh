/* SPDX-License-Identifier: Apache-2.0 */
/* How the operations of graph networks divide the rows of a pattern among groups of lanes.
 *
 * A group of 4 to 32 lanes takes a part of a row: the features of one head, or as many of them as the group's
 * lanes hold. Consecutive groups take consecutive parts, so that a warp reads neighbouring heads of the same
 * rows. All groups of a warp continue as long as the longest, because a shuffle by all lanes is one
 * instruction. If a row's parts would leave groups of a warp idle, and rows are long enough on average,
 * several groups (ways) share a row: rows of different lengths in a warp then cost less, and more of a row's
 * loads are in flight.
 *
 * A block takes neighbouring rows; each warp takes a few of them in turn. Blocks start in the order of rows.
 * So the rows in progress at any time are near each other. If neighbouring rows name the same rows of
 * operands, as in graphs with communities, these are found in the L2 cache.
 *
 * Data needed before a row's first operand can be loaded is loaded while earlier rows are processed: the
 * start of the row after the next, and the next row's first columns (rows_ahead).
 *
 * Long rows. A long row would keep its group busy long after the others have finished. So the first blocks of
 * the grid take one long row each (sl_pattern lists them), or some of its heads, with all of their warps:
 * each group has a contiguous share of the entries. The other blocks skip these rows. Both cases are in one
 * kernel, so that the code for a task exists once.
 *
 * Order of summation. Shares follow from the row's length, the shape of groups and the pattern's mean row
 * length, which is the same on all ranks. Sums of shares are added as a tree within a warp, then warp after
 * warp. So bits repeat, whichever rank has a row. */
#ifndef SLEY_DEVICE_CUDA_GRAPH_PATTERN_ROWS_CUH
#define SLEY_DEVICE_CUDA_GRAPH_PATTERN_ROWS_CUH

#include <cstdint>

#include "device/cuda/cuda.h"
#include "device/cuda/values.cuh"
#include "device/pattern.h"

namespace sley {

enum { GRAPH_THREADS = 256, GRAPH_WARPS = GRAPH_THREADS / 32 };

/* Most rows, or parts of rows, that a group takes in turn. */
enum { GRAPH_TURNS = 8 };

/* Rows of operands that a group loads before it uses the first. */
enum { GRAPH_AHEAD = 4 };

/* How rows are divided. A warp takes `at_once` parts of a long row at a time, a power of two not above its
 * number of groups; the remaining factor of groups is shares of each part. A row has fewer than 2^31 entries,
 * as patterns by columns require. */
struct graph_cut {
  const int64_t *rowptr;
  const int32_t *col, *long_row, *listed; /* the same as in the pattern */
  int64_t rows, parts;                    /* rows to be worked on; parts per row */
  int64_t chunks;                         /* chunks of a long row: parts / at_once, rounded up */
  int longest;                            /* rows with more entries are long */
  int lanes, at_once;
  int ways, ways_log2; /* groups of a warp that share a part of a short row, a power of two */
  int long_items;      /* chunks of all long rows: one block for each */
  int long_base;       /* the same as in the pattern */
  int turns;           /* rows or parts that each group of the other blocks takes in turn */
  unsigned blocks;     /* blocks of the grid */
};

/* A group's next work: the entries [begin, begin + count) of a row, for a part of the row. */
struct graph_task {
  int64_t begin;
  int row, part;
  int count, before, whole; /* entries of the task, of the row before the task, of the whole row */
  int most;                 /* largest count in the warp */
  int32_t first;            /* column of the task's entry with the lane's number */
  int apart;                /* distance of lanes that hold the same features in groups that share the row */
  bool on, joint;           /* on: there is a task; joint: all groups of the block share the row */
  bool stores;              /* the group stores the row's results */
};

__device__ __forceinline__ int largest_in_warp(int value, int lanes) {
  for (int distance = lanes; distance < 32; distance *= 2) {
    const int other = __shfl_xor_sync(~0u, value, distance);
    value = other > value ? other : value;
  }
  return value;
}

__device__ __forceinline__ int64_t quotient(int64_t a, int64_t b) {
  if (b == 1)
    return a;
  return ((a | b) >> 32) == 0 ? static_cast<int64_t>(static_cast<uint32_t>(a) / static_cast<uint32_t>(b))
                              : a / b;
}

__device__ __forceinline__ int entries_of(const graph_cut &cut, int row) {
  return static_cast<int>(__ldg(cut.rowptr + row + 1) - __ldg(cut.rowptr + row));
}

/* Sets the task's row and all of its entries. */
__device__ __forceinline__ void whole_row(const graph_cut &cut, int row, graph_task *t) {
  t->row = row;
  t->begin = __ldg(cut.rowptr + row);
  t->whole = entries_of(cut, row);
}

/* Entries [before, before + count) of a row: share number `share` of the ways. Every share but the last is a
 * multiple of GRAPH_AHEAD entries. */
__device__ __forceinline__ void share_of_ways(const graph_cut &cut, int share, int whole, int *before,
                                              int *count) {
  const int each = ((whole + (GRAPH_AHEAD << cut.ways_log2) - 1) >> cut.ways_log2) & -GRAPH_AHEAD;
  *before = min(share * each, whole);
  *count = min(each, whole - *before);
}

__device__ __forceinline__ int32_t first_column(const graph_cut &cut, int64_t begin, int count) {
  const int lane = static_cast<int>(threadIdx.x) & (cut.lanes - 1);
  return lane < count ? __ldcs(cut.col + begin + lane) : 0;
}

/* Cuts a task of a whole row to share number `share` of the block's `shares`. */
__device__ __forceinline__ void cut_row(const graph_cut &cut, int share, int shares, graph_task *t) {
  t->before = static_cast<int>(static_cast<int64_t>(t->whole) * share / shares);
  t->count = static_cast<int>(static_cast<int64_t>(t->whole) * (share + 1) / shares) - t->before;
  t->begin += t->before;
  t->first = first_column(cut, t->begin, t->count);
  t->apart = cut.lanes * cut.at_once;
  t->stores = share == 0;
  t->joint = true;
}

/* Loads the starts of a group's next rows ahead of their use. */
class rows_ahead {
  int64_t begin = 0, after_begin = 0; /* start of the next row, and of the one after it, which is still being
                                       * loaded */
  int whole = 0, after_end = 0;       /* low bits, which suffice for the number of entries */
  int32_t first = 0;                  /* still being loaded */

public:
  /* Moves on by one row. `row` is the row after the next one; -1: there is none. */
  __device__ __forceinline__ void advance(const graph_cut &cut, int share, int row) {
    int before, count;
    begin = after_begin;
    whole = after_end - static_cast<int>(after_begin);
    share_of_ways(cut, share, whole, &before, &count);
    first = first_column(cut, begin + before, count);
    after_begin = after_end = 0;
    if (row >= 0) {
      after_begin = __ldg(cut.rowptr + row);
      after_end = __ldg(reinterpret_cast<const int *>(cut.rowptr + row + 1));
    }
  }
  /* Sets the task to the next row. */
  __device__ __forceinline__ void take(const graph_cut &cut, int share, int row, int apart,
                                       graph_task *t) const {
    t->row = row;
    t->whole = whole;
    share_of_ways(cut, share, whole, &t->before, &t->count);
    t->begin = begin + t->before;
    t->first = first;
    t->apart = apart;
    t->stores = share == 0;
    t->joint = false;
  }
};

/* Completes a task: sets no entries if it is off, and the largest count of the warp. */
__device__ __forceinline__ void finish_task(const graph_cut &cut, graph_task *t) {
  if (!t->on) {
    t->count = t->whole = 0;
    t->stores = false;
  }
  t->most = largest_in_warp(t->count, cut.lanes);
}

/* Place of the lane's group in the block: for a joint task, the share of the group and the number
 * of shares; and the part that the group processes, of the parts that are processed at once. */
struct graph_place {
  int share, shares, part;
  __device__ __forceinline__ explicit graph_place(const graph_cut &cut) {
    const int groups = 32 / cut.lanes, of_warp = groups / cut.at_once;
    const int group = static_cast<int>(threadIdx.x % 32) / cut.lanes;
    share = static_cast<int>(threadIdx.x / 32) * of_warp + group / cut.at_once;
    shares = GRAPH_WARPS * of_warp;
    part = group % cut.at_once;
  }
};

/* The only task of a block that has a long row. */
__device__ __forceinline__ void long_task(const graph_cut &cut, graph_task *t) {
  const int item = static_cast<int>(quotient(blockIdx.x, cut.chunks)),
            part = static_cast<int>(blockIdx.x - item * cut.chunks) * cut.at_once;
  const graph_place place(cut);
  t->on = part + place.part < cut.parts;
  t->part = t->on ? part + place.part : part;
  whole_row(cut, __ldg(cut.long_row + item) - cut.long_base, t);
  cut_row(cut, place.share, place.shares, t);
  finish_task(cut, t);
}

/* The tasks of a block, in turn, in a grid of cut.blocks blocks. Items are the block's parts of rows,
 * numbered from its first. */
class graph_tasks {
  int at, end; /* items of the warp and of the block; in a block with a long row, at is 0 until its task has
                * begun */
  int first_row, first_part; /* first_row: index in the list of rows, if there is one */
  rows_ahead ahead;

  /* Parts of rows that the warp, and the block, process at a time. */
  static __device__ __forceinline__ int of_warp(const graph_cut &cut) {
    return 32 / (cut.lanes << cut.ways_log2);
  }
  static __device__ __forceinline__ int of_block(const graph_cut &cut) {
    return GRAPH_WARPS * of_warp(cut);
  }
  static __device__ __forceinline__ int group(const graph_cut &cut) {
    return static_cast<int>(threadIdx.x % 32) / cut.lanes;
  }
  static __device__ __forceinline__ int share(const graph_cut &cut) {
    return group(cut) & (cut.ways - 1);
  }
  /* item_from: the group's item when the warp is at `from`. rows_before: number of rows of the block before
   * an item's row. */
  static __device__ __forceinline__ int item_from(const graph_cut &cut, int from) {
    return from + (group(cut) >> cut.ways_log2);
  }
  __device__ __forceinline__ int rows_before(const graph_cut &cut, int item) const {
    return cut.parts == 1 ? item : (first_part + item) / static_cast<int>(cut.parts);
  }
  /* The block's part of the list of rows in shared memory, if it fits. */
  static constexpr int LIST_ROOM = 512;
  static __device__ __forceinline__ int *list_room() {
    __shared__ int room[LIST_ROOM];
    return room;
  }
  __device__ __forceinline__ void load_list(const graph_cut &cut) const {
    if (!cut.listed)
      return;
    const int last = rows_before(cut, end - 1);
    for (int i = static_cast<int>(threadIdx.x); i <= last && i < LIST_ROOM; i += GRAPH_THREADS)
      list_room()[i] = __ldg(cut.listed + first_row + i);
    __syncthreads();
  }
  /* Returns the number of row `before` of the block. */
  __device__ __forceinline__ int row_at(const graph_cut &cut, int before) const {
    if (!cut.listed)
      return first_row + before;
    return before < LIST_ROOM ? list_room()[before] : __ldg(cut.listed + first_row + before);
  }
  /* Returns the row of the group when the warp is at `from`; -1: no row. */
  __device__ __forceinline__ int row_from(const graph_cut &cut, int from) const {
    const int item = item_from(cut, from);
    if (item >= end)
      return -1;
    return row_at(cut, rows_before(cut, item));
  }

  __device__ __forceinline__ bool next_short_task(const graph_cut &cut, graph_task *t) {
    if (at >= end)
      return false;
    const int own = item_from(cut, at), item = own < end ? own : at, before = rows_before(cut, item);
    t->on = own < end;
    t->part = first_part + item - before * static_cast<int>(cut.parts);
    ahead.take(cut, share(cut), row_at(cut, before), cut.lanes, t);
    t->on = t->on && t->whole <= cut.longest;
    finish_task(cut, t);
    at += of_block(cut);
    ahead.advance(cut, share(cut), row_from(cut, at + of_block(cut)));
    return true;
  }

public:
  __device__ __forceinline__ explicit graph_tasks(const graph_cut &cut) : at(0), end(0) {
    if (static_cast<int>(blockIdx.x) < cut.long_items)
      return;
    const int each = of_block(cut) * cut.turns;
    const int64_t first = static_cast<int64_t>(blockIdx.x - cut.long_items) * each,
                  left = cut.rows * cut.parts - first;
    end = static_cast<int>(left < each ? left : each);
    first_row = static_cast<int>(quotient(first, cut.parts));
    first_part = static_cast<int>(first - first_row * cut.parts);
    at = static_cast<int>(threadIdx.x / 32) * of_warp(cut);
    load_list(cut);
    ahead.advance(cut, share(cut), row_from(cut, at));
    ahead.advance(cut, share(cut), row_from(cut, at + of_block(cut)));
  }
  __device__ __forceinline__ bool next(const graph_cut &cut, graph_task *t) {
    if (static_cast<int>(blockIdx.x) >= cut.long_items)
      return next_short_task(cut, t);
    if (at > 0)
      return false;
    at = 1;
    long_task(cut, t);
    return true;
  }
};

/* Returns whether several groups share the task's row; the same in the whole warp. */
__device__ __forceinline__ bool is_shared(const graph_cut &cut, const graph_task &t) {
  return t.joint || cut.ways > 1;
}

/* Lanes that hold values of the same features lie `apart` lanes apart, up to this distance. */
__device__ __forceinline__ int shared_lanes(const graph_cut &cut, const graph_task &t) {
  return t.joint ? 32 : t.apart << cut.ways_log2;
}

/* Joins the values of a task's shares, lane by lane; all groups that share the row receive the result. Called
 * by all threads of the warp, for a joint task of the block. room: shared memory for M x GRAPH_THREADS
 * values. */
template <int M, class A, class Join>
__device__ __forceinline__ void join_shares(const graph_cut &cut, const graph_task &t, A (&value)[M], A *room,
                                            Join join) {
  for (int distance = t.apart; distance < shared_lanes(cut, t); distance *= 2)
#pragma unroll
    for (int m = 0; m < M; m++)
      value[m] = join(value[m], __shfl_xor_sync(~0u, value[m], distance));
  if (!t.joint)
    return;
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int m = 0; m < M; m++)
    room[m * GRAPH_THREADS + threadIdx.x] = value[m];
  __syncthreads();
#pragma unroll
  for (int m = 0; m < M; m++) {
    value[m] = room[m * GRAPH_THREADS + lane];
    for (int warp = 1; warp < GRAPH_WARPS; warp++)
      value[m] = join(value[m], room[m * GRAPH_THREADS + warp * 32 + lane]);
  }
  __syncthreads();
}

template <int M, class A>
__device__ __forceinline__ void add_shares(const graph_cut &cut, const graph_task &t, A (&value)[M],
                                           A *room) {
  join_shares(cut, t, value, room, [](A a, A b) { return a + b; });
}

__device__ __forceinline__ float larger(float a, float b) {
  return fmaxf(a, b);
}
__device__ __forceinline__ double larger(double a, double b) {
  return fmax(a, b);
}

template <class A>
__device__ __forceinline__ A largest_of_shares(const graph_cut &cut, const graph_task &t, A value, A *room) {
  A one[1] = {value};
  join_shares(cut, t, one, room, [](A a, A b) { return larger(a, b); });
  return one[0];
}

/* Sum, and maximum, over the lanes of a group. */
template <class A> __device__ __forceinline__ A sum_of_group(A value, int lanes) {
  for (int distance = 1; distance < lanes; distance *= 2)
    value += __shfl_xor_sync(~0u, value, distance);
  return value;
}
template <class A> __device__ __forceinline__ A largest_of_group(A value, int lanes) {
  for (int distance = 1; distance < lanes; distance *= 2)
    value = larger(value, __shfl_xor_sync(~0u, value, distance));
  return value;
}

/* Lanes of a long row's parts that a warp processes at once. LANES_OF_LINES: few lanes, so that a row is
 * divided among several blocks, but enough for whole lines of memory. LANES_OF_ENTRIES: all lanes, if entries
 * are contiguous. */
enum { LANES_OF_LINES = 8, LANES_OF_ENTRIES = 32 };

inline void set_at_once(graph_cut *cut, int lanes) {
  cut->at_once = 1;
  while (cut->at_once < lanes / cut->lanes && cut->at_once < cut->parts)
    cut->at_once *= 2;
  cut->chunks = (cut->parts + cut->at_once - 1) / cut->at_once;
}

/* Sets the number of groups that share a row's part: groups that would be idle, as long as each has enough
 * entries on average to load GRAPH_AHEAD at once. */
inline void set_ways(graph_cut *cut, int64_t mean_entries) {
  int64_t used = cut->lanes; /* lanes, if the number of parts is rounded up to a power of two */
  while (used < 32 && used < cut->lanes * cut->parts)
    used *= 2;
  while (used * cut->ways < 32 && mean_entries >= 2 * cut->ways * GRAPH_AHEAD) {
    cut->ways *= 2;
    cut->ways_log2++;
  }
}

/* Sets the number of turns: as few as give each multiprocessor a few blocks, but enough not to exceed the
 * largest grid. */
inline void set_blocks(const sl_queue *queue, int most_turns, graph_cut *cut) {
  const int64_t at_a_time = GRAPH_THREADS / (cut->lanes * cut->ways), most = INT32_MAX / 2,
                few = 4 * static_cast<int64_t>(sl_cuda_processors(queue)),
                all = (cut->rows * cut->parts + at_a_time - 1) / at_a_time;
  int64_t turns = all / few < most_turns ? all / few : most_turns;
  if (turns < 1)
    turns = 1;
  if (all / turns >= most)
    turns = all / most + 1;
  cut->turns = static_cast<int>(turns);
  cut->blocks = static_cast<unsigned>(cut->long_items + (all + turns - 1) / turns);
}

inline void set_long_rows(const sl_pattern &p, graph_cut *cut) {
  if (p.long_rows == 0 || p.long_rows > INT32_MAX / 2 / cut->chunks)
    return;
  cut->longest = SL_LONG_ROW;
  cut->long_row = p.long_row;
  cut->long_items = static_cast<int>(p.long_rows * cut->chunks);
  cut->long_base = static_cast<int>(p.long_base);
}

inline graph_cut cut_of(const sl_pattern &p, int64_t parts, int lanes) {
  graph_cut cut = {};
  cut.rowptr = p.rowptr;
  cut.col = p.col;
  cut.listed = p.listed;
  cut.rows = sl_pattern_work_rows(&p);
  cut.parts = parts;
  cut.longest = INT32_MAX;
  cut.lanes = lanes;
  cut.ways = 1;
  return cut;
}

/* Divides rows among groups of `lanes` lanes and blocks. in_order: no row is shared. */
inline graph_cut cut_rows(const sl_queue *queue, const sl_pattern &p, int64_t parts, int lanes, int at_once,
                          bool in_order) {
  graph_cut cut = cut_of(p, parts, lanes);
  set_at_once(&cut, at_once);
  if (!in_order) {
    set_ways(&cut, p.mean_entries);
    set_long_rows(p, &cut);
  }
  set_blocks(queue, GRAPH_TURNS, &cut);
  return cut;
}

} // namespace sley

#endif

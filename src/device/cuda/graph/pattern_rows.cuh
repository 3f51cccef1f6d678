/* SPDX-License-Identifier: Apache-2.0 */
/* How the operations of graph networks share the rows of a pattern among groups of lanes.
 *
 * A group of 4 to 32 lanes takes a part of a row: the features of one head, or what the group's lanes hold of
 * them. Consecutive groups take consecutive parts, so that a warp reads neighbouring heads of the same rows.
 * All groups of a warp go on as long as the longest: shuffles of all lanes are one instruction. Where a row's
 * parts leave groups of a warp idle, and rows are long enough on average, several groups (ways) share a row:
 * rows of a warp that differ in length then cost less, and more of a row's loads are in flight.
 *
 * A block takes neighbouring rows, a few of each warp one after the other, and blocks begin in the order of
 * rows. So the rows that are worked on at a time are near each other, and where that means that they name the
 * same rows of operands, as in graphs with communities, these are found in the L2 cache.
 *
 * What is known of a row before its first operand can be loaded, where it begins and its first columns, is
 * loaded while the rows before it are worked on: where the row after the next begins, and the next row's
 * columns (rows_ahead).
 *
 * Long rows. A group would take long for them, and the kernel would wait for it. So the first blocks of the
 * grid take a long row each (sl_pattern lists them), or some of its heads, with all of their warps: each
 * group has a contiguous share of the entries. The other blocks leave these rows out. Both are one kernel, in
 * which what is done with a task stands once.
 *
 * Order of summation. Shares follow from the row's length, the shape of groups and the pattern's mean, which
 * is the same on all ranks. Sums of shares are added as a tree within a warp, then warp after warp. So bits
 * repeat, whatever rank has a row. */
#ifndef SLEY_DEVICE_CUDA_GRAPH_PATTERN_ROWS_CUH
#define SLEY_DEVICE_CUDA_GRAPH_PATTERN_ROWS_CUH

#include <cstdint>

#include "device/cuda/cuda.h"
#include "device/cuda/values.cuh"
#include "device/pattern.h"

namespace sley {

enum { GRAPH_THREADS = 256, GRAPH_WARPS = GRAPH_THREADS / 32 };

/* Rows, or parts of rows, that a group takes one after the other, where there are many. */
enum { GRAPH_TURNS = 8 };

/* Rows of operands that a group loads before it uses the first of them. */
enum { GRAPH_AHEAD = 4 };

/* How rows are cut. Of a long row a warp takes `at_once` parts, a power of two that its groups suffice for,
 * with as many shares as groups are left for each. A row has fewer than 2^31 entries, as those of patterns
 * by columns are numbered. */
struct graph_cut {
  const int64_t *rowptr;
  const int32_t *col, *long_row, *listed; /* listed: as the pattern's */
  int64_t rows, parts;                    /* rows to be worked on; parts of each */
  int64_t chunks;                         /* of a long row: parts / at_once, rounded up */
  int longest;                            /* rows of more entries are long */
  int lanes, at_once;
  int ways, ways_log2; /* groups of a warp that share a part of a row that is not long, a power of two */
  int long_items;      /* chunks of long rows: so many blocks take one each */
  int long_base;       /* as the pattern's */
  int turns;           /* of each group of the other blocks */
  unsigned blocks;     /* of the grid */
};

/* What a group does next: the entries begin <= j < begin + count of a row, for a part of it. */
struct graph_task {
  int64_t begin;
  int row, part;
  int count, before, whole; /* entries of the task, of the row before them, of the row */
  int most;                 /* the largest count in the warp */
  int32_t first;            /* the lane's column among the first entries of the task, as many as lanes */
  int apart;                /* lanes between those of the same features in groups that share the row */
  bool on, joint;           /* whether there is a task; whether the groups of the block share the row */
  bool stores;              /* whether the group stores the row's results */
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

/* The row of a task and its entries, all of them. */
__device__ __forceinline__ void whole_row(const graph_cut &cut, int row, graph_task *t) {
  t->row = row;
  t->begin = __ldg(cut.rowptr + row);
  t->whole = entries_of(cut, row);
}

/* Entries [before, before + count) of a row: share number `share` of those of the ways. All but the last have
 * as many as are loaded at once, or a multiple. */
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

/* Cuts a task of a whole row to share number `share` of `shares` of the block. */
__device__ __forceinline__ void cut_row(const graph_cut &cut, int share, int shares, graph_task *t) {
  t->before = static_cast<int>(static_cast<int64_t>(t->whole) * share / shares);
  t->count = static_cast<int>(static_cast<int64_t>(t->whole) * (share + 1) / shares) - t->before;
  t->begin += t->before;
  t->first = first_column(cut, t->begin, t->count);
  t->apart = cut.lanes * cut.at_once;
  t->stores = share == 0;
  t->joint = true;
}

/* The rows that a group takes next, one after the other. */
class rows_ahead {
  int64_t begin = 0, after_begin = 0; /* of the next row, of the one after it; the second is on its way */
  int whole = 0, after_end = 0;       /* low bits, which suffice for the number of entries */
  int32_t first = 0;                  /* on its way */

public:
  /* The row after the next becomes the next; after it comes `row`, of -1 none. */
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
  /* Makes the next row the task's. */
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

/* Without entries where it is off; and how long the warp goes on. */
__device__ __forceinline__ void finish_task(const graph_cut &cut, graph_task *t) {
  if (!t->on) {
    t->count = t->whole = 0;
    t->stores = false;
  }
  t->most = largest_in_warp(t->count, cut.lanes);
}

/* Which group of the warp this is; of a joint task, which share it has and of which of the parts at once. */
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

/* The tasks of a block, one after the other, of a grid of cut.blocks. Its parts of rows are counted from its
 * first. */
class graph_tasks {
  int at, end; /* of the warp, of the block; of a block that has a long row: at is 0 until it has begun */
  int first_row, first_part; /* first_row: its place in the list, if there is one */
  rows_ahead ahead;

  /* Parts of rows that the warp, and the block, take at a time. */
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
  /* The group's item where the warp is at `from`; the rows before that of an item, and its row's parts. */
  static __device__ __forceinline__ int item_from(const graph_cut &cut, int from) {
    return from + (group(cut) >> cut.ways_log2);
  }
  __device__ __forceinline__ int rows_before(const graph_cut &cut, int item) const {
    return cut.parts == 1 ? item : (first_part + item) / static_cast<int>(cut.parts);
  }
  /* The listed rows of the block, as many as it has room for. */
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
  /* Row number `before` of the block. */
  __device__ __forceinline__ int row_at(const graph_cut &cut, int before) const {
    if (!cut.listed)
      return first_row + before;
    return before < LIST_ROOM ? list_room()[before] : __ldg(cut.listed + first_row + before);
  }
  /* The group's row there; -1: none. */
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

/* Whether groups share the task's row. The same in all of a warp. */
__device__ __forceinline__ bool is_shared(const graph_cut &cut, const graph_task &t) {
  return t.joint || cut.ways > 1;
}

/* The lanes of a warp whose values are of the same features: those `apart` lanes apart, up to this many. */
__device__ __forceinline__ int shared_lanes(const graph_cut &cut, const graph_task &t) {
  return t.joint ? 32 : t.apart << cut.ways_log2;
}

/* Joins the values of the shares of a task, lane by lane, in all groups that share its row. All threads of
 * the warp, of a joint task of the block. room: M x GRAPH_THREADS values of shared memory. */
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

/* Sum and maximum over the lanes of a group. */
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

/* Of long rows a warp takes so many lanes' parts at once: few, so that a row goes to several blocks, but
 * lines of memory; or, where entries are read side by side, all that it can. */
enum { LANES_OF_LINES = 8, LANES_OF_ENTRIES = 32 };

inline void set_at_once(graph_cut *cut, int lanes) {
  cut->at_once = 1;
  while (cut->at_once < lanes / cut->lanes && cut->at_once < cut->parts)
    cut->at_once *= 2;
  cut->chunks = (cut->parts + cut->at_once - 1) / cut->at_once;
}

/* Groups of a warp that share a row's part: those that its parts leave idle, as far as each then has entries
 * to load at once on average. */
inline void set_ways(graph_cut *cut, int64_t mean_entries) {
  int64_t used = cut->lanes; /* lanes, with parts a power of two */
  while (used < 32 && used < cut->lanes * cut->parts)
    used *= 2;
  while (used * cut->ways < 32 && mean_entries >= 2 * cut->ways * GRAPH_AHEAD) {
    cut->ways *= 2;
    cut->ways_log2++;
  }
}

/* As few turns as leave a few blocks for each multiprocessor, or as many blocks as there may be. */
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

/* How rows are cut for groups of `lanes` lanes, and into how many blocks. in_order: no row is shared. */
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

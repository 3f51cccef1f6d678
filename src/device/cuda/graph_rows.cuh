/* SPDX-License-Identifier: Apache-2.0 */
/* How the operations of graph networks share the rows of a pattern among groups of lanes.
 *
 * A group of 4 to 32 lanes takes a part of a row: the features of one head, or what the group's lanes hold of
 * them. Consecutive groups take consecutive parts, so that a warp reads neighbouring heads of the same rows.
 * All groups of a warp go on as long as the longest: shuffles of all lanes are one instruction.
 *
 * Long rows. A group would take long for them, and the kernel would wait for it. So the first blocks of the
 * grid look for rows of more than GRAPH_LONG entries, in every blocks-th row, and a block takes such a row
 * with all of its warps, or some of its heads: each group has a contiguous share of the entries. The other
 * blocks leave these rows out. Both are one kernel, in which what is done with a task stands once; the long
 * rows begin first, and next to each other they go to different blocks, also where rows are sorted by length.
 *
 * Order of summation. Shares follow from the row's length and the shape of groups. Sums of shares are added
 * as a tree within a warp, then warp after warp. So bits repeat. */
#ifndef SLEY_DEVICE_CUDA_GRAPH_ROWS_CUH
#define SLEY_DEVICE_CUDA_GRAPH_ROWS_CUH

#include <cstdint>

#include "device/cuda/cuda.h"
#include "device/cuda/values.cuh"

namespace sley {

enum { GRAPH_THREADS = 256, GRAPH_WARPS = GRAPH_THREADS / 32, GRAPH_LONG = 256 };

/* How rows are cut. Of a long row a warp takes `at_once` parts, a power of two that its groups suffice for,
 * with as many shares as groups are left for each. A row has fewer than 2^31 entries, as those of patterns
 * by columns are numbered. */
struct graph_cut {
  const int64_t *rowptr;
  int64_t rows, parts; /* parts: of a row */
  int64_t chunks;      /* of a long row: parts / at_once, rounded up */
  int longest;         /* rows of more entries are long */
  int lanes, at_once;
  int long_blocks;
};

/* What a group does next: the entries begin <= j < begin + count of a row, for a part of it. */
struct graph_task {
  int64_t row, part, begin;
  int count, before, whole; /* entries of the task, of the row before them, of the row */
  int most;                 /* the largest count in the warp */
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

__device__ __forceinline__ int entries_of(const graph_cut &cut, int64_t row) {
  return static_cast<int>(__ldg(cut.rowptr + row + 1) - __ldg(cut.rowptr + row));
}

/* The row of a task and its entries, all of them. */
__device__ __forceinline__ void whole_row(const graph_cut &cut, int64_t row, graph_task *t) {
  t->row = row;
  t->begin = __ldg(cut.rowptr + row);
  t->whole = t->count = entries_of(cut, row);
  t->before = 0;
  t->joint = false;
}

/* Cuts a task of a whole row to share number `share` of `shares`. */
__device__ __forceinline__ void cut_row(int share, int shares, graph_task *t) {
  t->before = static_cast<int>(static_cast<int64_t>(t->whole) * share / shares);
  t->count = static_cast<int>(static_cast<int64_t>(t->whole) * (share + 1) / shares) - t->before;
  t->begin += t->before;
  t->stores = share == 0;
  t->joint = true;
}

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
  int group, share, shares, part;
  __device__ __forceinline__ explicit graph_place(const graph_cut &cut) {
    const int groups = 32 / cut.lanes, ways = groups / cut.at_once;
    group = static_cast<int>(threadIdx.x % 32) / cut.lanes;
    share = static_cast<int>(threadIdx.x / 32) * ways + group / cut.at_once;
    shares = GRAPH_WARPS * ways;
    part = group % cut.at_once;
  }
};

/* How far a block is with its long rows: in shared memory, since most blocks have none. */
struct long_state {
  unsigned found[GRAPH_WARPS], left; /* which of the rows that were looked at last are long; of word `word` */
  int word;
  int64_t looked; /* items looked at */
};

/* Before the first call of next_long(). */
__device__ __forceinline__ void begin_long(long_state *state) {
  if (threadIdx.x == 0) {
    state->left = 0;
    state->word = GRAPH_WARPS - 1;
    state->looked = 0;
  }
  __syncthreads();
}

/* The next item of a long row among items first, first + step, ..., `count` of them; whether there is one. A
 * row has `each` items, one after the other. All threads of the block, which have the same state. */
__device__ __forceinline__ bool next_long(const graph_cut &cut, long_state *state, int64_t first,
                                          int64_t step, int64_t count, int64_t each, int64_t *item) {
  unsigned left = state->left;
  int word = state->word;
  int64_t looked = state->looked;
  while (left == 0) {
    if (++word == GRAPH_WARPS) {
      if (looked >= count)
        return false;
      const int64_t at = looked + threadIdx.x;
      const unsigned these =
          __ballot_sync(~0u, at < count && entries_of(cut, quotient(first + at * step, each)) > cut.longest);
      __syncthreads();
      if (threadIdx.x % 32 == 0)
        state->found[threadIdx.x / 32] = these;
      __syncthreads();
      looked += GRAPH_THREADS;
      word = 0;
    }
    left = state->found[word];
  }
  *item = first + (looked - GRAPH_THREADS + word * 32 + __ffs(static_cast<int>(left)) - 1) * step;
  __syncthreads();
  if (threadIdx.x == 0) {
    state->left = left & (left - 1);
    state->word = word;
    state->looked = looked;
  }
  __syncthreads();
  return true;
}

/* The tasks of a grid of grid_of() blocks, one after the other. */
class graph_tasks {
  long_state *state;
  int64_t at;

  __device__ __forceinline__ bool next_short_task(const graph_cut &cut, graph_task *t) {
    const int64_t items = cut.rows * cut.parts;
    if (at >= items)
      return false;
    const int64_t item = at + graph_place(cut).group;
    t->on = item < items;
    const int64_t mine = t->on ? item : at, row = quotient(mine, cut.parts);
    t->part = mine - row * cut.parts;
    whole_row(cut, row, t);
    t->on = t->on && t->whole <= cut.longest;
    t->stores = true;
    finish_task(cut, t);
    at += static_cast<int64_t>(gridDim.x - cut.long_blocks) * (GRAPH_THREADS / cut.lanes);
    return true;
  }
  __device__ __forceinline__ bool next_long_task(const graph_cut &cut, graph_task *t) {
    const int64_t count = (cut.rows * cut.chunks - blockIdx.x + cut.long_blocks - 1) / cut.long_blocks;
    int64_t item;
    if (!next_long(cut, state, blockIdx.x, cut.long_blocks, count, cut.chunks, &item))
      return false;
    const int64_t row = quotient(item, cut.chunks), part = (item - row * cut.chunks) * cut.at_once;
    const graph_place place(cut);
    t->on = part + place.part < cut.parts;
    t->part = t->on ? part + place.part : part;
    whole_row(cut, row, t);
    cut_row(place.share, place.shares, t);
    finish_task(cut, t);
    return true;
  }

public:
  __device__ __forceinline__ graph_tasks(const graph_cut &cut, long_state *memory) : state(memory) {
    if (static_cast<int>(blockIdx.x) < cut.long_blocks)
      begin_long(state);
    const int64_t warp =
        (static_cast<int64_t>(blockIdx.x) - cut.long_blocks) * GRAPH_WARPS + threadIdx.x / 32;
    at = warp * (32 / cut.lanes);
  }
  __device__ __forceinline__ bool next(const graph_cut &cut, graph_task *t) {
    return at < 0 ? next_long_task(cut, t) : next_short_task(cut, t);
  }
};

/* Joins the values of the shares of a joint task, lane by lane, in all of its groups. All threads of the
 * block. room: M x GRAPH_THREADS values of shared memory. */
template <int M, class A, class Join>
__device__ __forceinline__ void join_shares(const graph_cut &cut, A (&value)[M], A *room, Join join) {
  for (int distance = cut.lanes * cut.at_once; distance < 32; distance *= 2)
#pragma unroll
    for (int m = 0; m < M; m++)
      value[m] = join(value[m], __shfl_xor_sync(~0u, value[m], distance));
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
__device__ __forceinline__ void add_shares(const graph_cut &cut, A (&value)[M], A *room) {
  join_shares(cut, value, room, [](A a, A b) { return a + b; });
}

__device__ __forceinline__ float larger(float a, float b) {
  return fmaxf(a, b);
}
__device__ __forceinline__ double larger(double a, double b) {
  return fmax(a, b);
}

template <class A> __device__ __forceinline__ A largest_of_shares(const graph_cut &cut, A value, A *room) {
  A one[1] = {value};
  join_shares(cut, one, room, [](A a, A b) { return larger(a, b); });
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

/* How rows are cut for groups of `lanes` lanes. in_order: no row is long. */
inline graph_cut cut_rows(const sl_queue *queue, const sl_pattern &p, int64_t parts, int lanes, int at_once,
                          bool in_order) {
  graph_cut cut = {p.rowptr, p.rows, parts, 1, in_order ? INT32_MAX : GRAPH_LONG, lanes, 1, 0};
  set_at_once(&cut, at_once);
  const int64_t some = 4 * static_cast<int64_t>(sl_cuda_processors(queue)),
                wanted = (p.rows * cut.chunks + 31) / 32;
  if (!in_order)
    cut.long_blocks = static_cast<int>(wanted < some ? wanted : some);
  return cut;
}

/* Warps have several tasks each where there are many, so that few warps of a block wait for the others. */
inline unsigned grid_of(const sl_queue *queue, const graph_cut &cut) {
  const int64_t groups = GRAPH_THREADS / cut.lanes,
                most = 32 * static_cast<int64_t>(sl_cuda_processors(queue));
  const int64_t blocks = (cut.rows * cut.parts + groups - 1) / groups;
  return static_cast<unsigned>(cut.long_blocks + (blocks < most ? blocks : most));
}

} // namespace sley

#endif

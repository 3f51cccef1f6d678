/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of a fixed number of lanes that take whole rows, one each: where rows have one part
 * (pattern_rows.cuh), this takes the fewest instructions for a row, which is most of the work where rows are
 * short. The lanes of a warp load where its neighbouring rows begin, as many as 32, and groups get that by
 * shuffles; while a row is worked on, the first columns of the next are loaded. Long rows are done as in
 * pattern_rows.cuh. */
#ifndef SLEY_DEVICE_CUDA_GRAPH_WHOLE_ROWS_CUH
#define SLEY_DEVICE_CUDA_GRAPH_WHOLE_ROWS_CUH

#include <type_traits>

#include "device/cuda/graph/pattern_rows.cuh"

namespace sley {

/* Rows that a group takes one after the other, where there are many; of 4 lanes no more, as a warp knows of
 * 32 rows. */
enum { GROUP_TURNS = 4 };

/* The tasks of a block, where groups of LANES lanes take whole rows. */
template <int LANES> class group_tasks {
  static constexpr int GROUPS = 32 / LANES;
  int64_t begin; /* of the lane's row */
  int row, count;
  int at, end;   /* the first row of the next turn, and all rows, of the warp */
  int32_t first; /* on its way */

  static __device__ __forceinline__ int group() {
    return static_cast<int>(threadIdx.x % 32) / LANES;
  }
  /* The first column that the lane needs of its group's row of the turn. */
  __device__ __forceinline__ void load_first(const graph_cut &cut) {
    const int own = at + group(), lane = static_cast<int>(threadIdx.x) & (LANES - 1);
    const int64_t from = __shfl_sync(~0u, begin, own);
    const int entries = __shfl_sync(~0u, count, own);
    first = own < end && lane < entries ? __ldcs(cut.col + from + lane) : 0;
  }

public:
  __device__ __forceinline__ explicit group_tasks(const graph_cut &cut) : begin(0), row(0), count(0), at(0) {
    if (static_cast<int>(blockIdx.x) < cut.long_items)
      return;
    const int lane = static_cast<int>(threadIdx.x % 32), of_warp = GROUPS * cut.turns;
    const int64_t block = blockIdx.x - cut.long_items,
                  from = (block * GRAPH_WARPS + threadIdx.x / 32) * of_warp, left = cut.rows - from;
    end = static_cast<int>(left < of_warp ? left : of_warp);
    if (lane < end) {
      row = cut.listed ? __ldg(cut.listed + from + lane) : static_cast<int>(from) + lane;
      begin = __ldg(cut.rowptr + row);
      count = static_cast<int>(__ldg(cut.rowptr + row + 1) - begin);
      if (count > cut.longest) /* another block's */
        count = -1;
    }
    if (end > 0)
      load_first(cut);
  }
  __device__ __forceinline__ bool next(const graph_cut &cut, graph_task *t) {
    if (static_cast<int>(blockIdx.x) < cut.long_items) {
      if (at > 0)
        return false;
      at = 1;
      long_task(cut, t);
      return true;
    }
    if (at >= end)
      return false;
    const int own = at + group();
    t->row = __shfl_sync(~0u, row, own);
    t->begin = __shfl_sync(~0u, begin, own);
    const int entries = __shfl_sync(~0u, count, own);
    t->stores = own < end && entries >= 0;
    t->count = t->whole = t->stores ? entries : 0;
    t->most = largest_in_warp(t->count, LANES);
    t->first = first;
    t->part = t->before = 0;
    t->on = true;
    t->joint = false;
    at += GROUPS;
    if (at < end)
      load_first(cut);
    return true;
  }
};

/* As cut_rows, for these. */
inline graph_cut cut_whole_rows(const sl_queue *queue, const sl_pattern &p, int lanes, bool in_order) {
  graph_cut cut = cut_of(p, 1, lanes);
  set_at_once(&cut, LANES_OF_LINES);
  if (!in_order)
    set_long_rows(p, &cut);
  set_blocks(queue, GROUP_TURNS, &cut);
  return cut;
}

/* Tasks of groups of LANES lanes; 0: of as many as the cut has. */
template <int LANES> struct tasks_of { using type = group_tasks<LANES>; };
template <> struct tasks_of<0> { using type = graph_tasks; };

/* What of a task follows from LANES: of more than 0 a task is a whole row, or a share of a long one. */
template <int LANES> __device__ __forceinline__ int lanes_of(const graph_cut &cut) {
  return LANES > 0 ? LANES : cut.lanes;
}
template <int LANES> __device__ __forceinline__ bool joins(const graph_cut &cut, const graph_task &t) {
  return LANES > 0 ? t.joint : is_shared(cut, t);
}
/* Which head it is of, where each has `panels` panels, and which of these. */
template <int LANES> __device__ __forceinline__ int64_t head_of(const graph_task &t, int64_t panels) {
  return LANES > 0 ? 0 : quotient(t.part, panels);
}
template <int LANES>
__device__ __forceinline__ int64_t panel_of(const graph_task &t, int64_t panels, int64_t head) {
  return LANES > 0 ? 0 : t.part - head * panels;
}

/* Cuts rows for groups of `lanes` lanes, then launch(LANES), LANES a constant. Where rows have one part each,
 * groups take whole rows, whether or not the kernel is for LANES lanes (WHOLE): the order of sums does not
 * depend on what rows of operands are aligned to. Else, and without WHOLE, LANES is 0. */
template <bool WHOLE, class Launch>
void cut_and_launch(const sl_queue *queue, const sl_pattern &p, int64_t parts, int lanes, bool in_order,
                    graph_cut *cut, Launch launch) {
  *cut = parts == 1 ? cut_whole_rows(queue, p, lanes, in_order)
                    : cut_rows(queue, p, parts, lanes, LANES_OF_LINES, in_order);
  if constexpr (WHOLE)
    if (parts == 1) {
      if (lanes == 4)
        return launch(std::integral_constant<int, 4>());
      if (lanes == 8)
        return launch(std::integral_constant<int, 8>());
      if (lanes == 16)
        return launch(std::integral_constant<int, 16>());
      return launch(std::integral_constant<int, 32>());
    }
  launch(std::integral_constant<int, 0>());
}

} // namespace sley

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of a fixed number of lanes, each of which takes whole rows. Used if rows have one part
 * (pattern_rows.cuh): it needs the fewest instructions per row, which is most of the work if rows are short.
 * The lanes of a warp load the starts of up to 32 neighbouring rows, and groups get them by shuffles. While a
 * row is processed, the first columns of the next are loaded. Long rows are processed as in
 * pattern_rows.cuh. */
#ifndef SLEY_DEVICE_CUDA_GRAPH_WHOLE_ROWS_CUH
#define SLEY_DEVICE_CUDA_GRAPH_WHOLE_ROWS_CUH

#include <type_traits>

#include "device/cuda/graph/pattern_rows.cuh"

namespace sley {

/* Most rows that a group takes in turn; not more with 4 lanes, because a warp holds the starts of 32 rows. */
enum { GROUP_TURNS = 4 };

/* The tasks of a block whose groups of LANES lanes take whole rows. */
template <int LANES> class group_tasks {
  static constexpr int GROUPS = 32 / LANES;
  int64_t begin; /* start of the lane's row */
  int row, count;
  int at, end;   /* the warp's first row of the next turn, and its number of rows */
  int32_t first; /* still being loaded */

  static __device__ __forceinline__ int group() {
    return static_cast<int>(threadIdx.x % 32) / LANES;
  }
  /* Loads the column of the entry with the lane's number, in its group's row of the next turn. */
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
      if (count > cut.longest) /* another block's row */
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

/* Like cut_rows, for whole rows. */
inline graph_cut cut_whole_rows(const sl_queue *queue, const sl_pattern &p, int lanes, bool in_order) {
  graph_cut cut = cut_of(p, 1, lanes);
  set_at_once(&cut, LANES_OF_LINES);
  if (!in_order)
    set_long_rows(p, &cut);
  set_blocks(queue, GROUP_TURNS, &cut);
  return cut;
}

/* The tasks of groups of LANES lanes; 0: of cut.lanes lanes. */
template <int LANES> struct tasks_of { using type = group_tasks<LANES>; };
template <> struct tasks_of<0> { using type = graph_tasks; };

/* Properties of a task that follow from LANES: if LANES > 0, a task is a whole row or a share of a long
 * one. */
template <int LANES> __device__ __forceinline__ int lanes_of(const graph_cut &cut) {
  return LANES > 0 ? LANES : cut.lanes;
}
template <int LANES> __device__ __forceinline__ bool joins(const graph_cut &cut, const graph_task &t) {
  return LANES > 0 ? t.joint : is_shared(cut, t);
}
/* The head of a task, if each head has `panels` panels, and the panel. */
template <int LANES> __device__ __forceinline__ int64_t head_of(const graph_task &t, int64_t panels) {
  return LANES > 0 ? 0 : quotient(t.part, panels);
}
template <int LANES>
__device__ __forceinline__ int64_t panel_of(const graph_task &t, int64_t panels, int64_t head) {
  return LANES > 0 ? 0 : t.part - head * panels;
}

/* Divides rows for groups of `lanes` lanes, then calls launch(LANES) with a constant LANES. If rows have one
 * part each, groups take whole rows even if the kernel is not compiled for LANES lanes (WHOLE false), so that
 * the order of sums does not depend on the alignment of operands. LANES is 0 if rows have several parts or
 * WHOLE is false. */
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

/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM row by row, for products so small that all their rows are summed at once (spmm_rows.h).
 *
 * The limit. Such a product takes a few microseconds: the launch of the kernel, and a chain of dependent
 * loads: the row's task, its entries, the rows of X. The chain is as short as possible, and so is the code,
 * because a kernel that has just started also waits for its instructions.
 *
 * Work of a group. LANES x WAYS threads take a row. Each lane holds VEC neighbouring features, and of each
 * block of entries, which the group loads one per lane, every WAYS-th, with U rows of X at a time. All groups
 * of a warp continue as long as the longest, because a shuffle by all lanes is one instruction.
 *
 * Order of summation. With WAYS = 1 the order of op_spmm.h. Otherwise the entries of a lane form a fragment,
 * counted from the row's first entry; fragments are added as a tree of fixed shape. */
#ifndef SLEY_DEVICE_CUDA_SPMM_SPMM_ROWS_CUH
#define SLEY_DEVICE_CUDA_SPMM_SPMM_ROWS_CUH

#include "device/cuda/spmm/spmm_chunks.cuh"

namespace sley {

enum { ROWS_BLOCK = 128 };

/* PLACE: as in stream.cuh. LANES, WAYS, VEC and U as there. */
template <int LANES_, int WAYS_, int VEC_, int U_, typename PLACE_ = uint32_t> struct row_shape {
  using PLACE = PLACE_;
  static constexpr int LANES = LANES_, WAYS = WAYS_, GROUP = LANES * WAYS, VEC = VEC_, PANEL = LANES * VEC,
                       U = U_;
  static constexpr int EACH = U > LANES ? U / LANES : 1, BLOCK = GROUP * EACH; /* entries */
};

template <typename T, class S>
__global__ void __launch_bounds__(ROWS_BLOCK)
    rows(const __grid_constant__ sl_stream_run run, const __grid_constant__ x_places places) {
  constexpr int LANES = S::LANES, WAYS = S::WAYS, GROUP = S::GROUP, VEC = S::VEC, U = S::U;
  using acc_t = accumulator<T>;
  using in_t = input<T>;
  using out_t = output<T>;
  const int lane = threadIdx.x % GROUP, way = lane / LANES, panel = blockIdx.y;
  const int64_t at = (int64_t)blockIdx.x * (ROWS_BLOCK / GROUP) + threadIdx.x / GROUP;
  const int64_t f = (int64_t)panel * S::PANEL + lane % LANES * VEC;
  const bool on = f < run.k;
  sl_row_task task = {};
  if (at < run.a.tasks) {
    const int4 got = __ldg((const int4 *)run.a.task + at);
    task = {(uint32_t)got.x, (uint32_t)got.y, got.z, 0};
  }
  const in_t *x = (const in_t *)places.base + (on ? f : 0);
  out_t *y = (out_t *)run.y + (int64_t)task.row * run.ldy + f;
  const bool stores = at < run.a.tasks && on && way == 0;
  acc_t acc[VEC] = {};
  if (run.beta != 0 && stores)
    scaled<T, VEC>(acc, run.beta, load_plain<out_t, VEC>(y));
  const int count = (int)task.count, longest = (int)__reduce_max_sync(~0u, task.count);
#pragma unroll 1
  for (int e = 0; e < longest; e += S::BLOCK) {
    typename S::PLACE place[S::EACH];
    acc_t weight[S::EACH];
#pragma unroll
    for (int i = 0; i < S::EACH; i++) {
      const int entry = e + i * GROUP + lane;
      int32_t col = 0;
      weight[i] = 0;
      if (entry < count) {
        col = run.a.col[task.begin + entry] & INT32_MAX;
        weight[i] = value<in_t>::weight(run.alpha, load_once((const in_t *)run.a.val + task.begin + entry));
      }
      place[i] = place_of<typename S::PLACE>(places, col);
    }
    const int steps = longest - e < S::BLOCK ? longest - e : S::BLOCK;
#pragma unroll 1
    for (int s = 0; s < steps; s += U * WAYS) {
      vector<in_t, VEC> in[U];
#pragma unroll
      for (int u = 0; u < U; u++) {
        const int from = s + u * WAYS + way;
        const typename S::PLACE there = __shfl_sync(~0u, place[S::EACH == 1 ? 0 : u / LANES], from, GROUP);
        in[u] = {};
        if (e + from < count)
          in[u] = load_plain<in_t, VEC>(x + (uint64_t)there * VEC);
      }
#pragma unroll
      for (int u = 0; u < U; u++) {
        const int from = s + u * WAYS + way;
        const acc_t by = __shfl_sync(~0u, weight[S::EACH == 1 ? 0 : u / LANES], from, GROUP);
        if (e + from < count)
#pragma unroll
          for (int v = 0; v < VEC; v++)
            acc[v] = multiply_add(by, widened(in[u], v), acc[v]);
      }
    }
  }
#pragma unroll
  for (int distance = LANES; distance < GROUP; distance *= 2)
#pragma unroll
    for (int v = 0; v < VEC; v++)
      acc[v] += __shfl_xor_sync(~0u, acc[v], distance);
  if (stores)
    store_plain<out_t, VEC>(y, acc);
}

template <typename T, class S>
sley_status launch_rows(sl_queue *queue, const sl_stream_run &run, const x_places &places) {
  constexpr int GROUPS = ROWS_BLOCK / S::GROUP;
  const dim3 grid((unsigned)((run.a.tasks + GROUPS - 1) / GROUPS),
                  (unsigned)((run.k + S::PANEL - 1) / S::PANEL));
  rows<T, S><<<grid, ROWS_BLOCK, 0, sl_cuda_stream(queue)>>>(run, places);
  return sl_cuda_launched(queue, "spmm-rows");
}

/* Launches with as many lanes as hold k features, or as are left after division by the ways. */
template <typename T, int VEC, int WAYS> sley_status rows_of(sl_queue *queue, const sl_stream_run &run) {
  x_places places;
  constexpr int U = VEC * sizeof(input<T>) > 8 ? 4 : 8;
  if (!find_places<T, VEC>(run, &places)) {
    find_places<T, 1>(run, &places);
    return launch_rows<T, row_shape<32 / WAYS, WAYS, 1, 4, uint64_t>>(queue, run, places);
  }
  if constexpr (WAYS >= 4)
    if (run.k <= VEC)
      return launch_rows<T, row_shape<1, WAYS, VEC, U>>(queue, run, places);
  if constexpr (WAYS >= 2 && WAYS <= 8)
    if (run.k <= 2 * VEC)
      return launch_rows<T, row_shape<2, WAYS, VEC, U>>(queue, run, places);
  if constexpr (WAYS <= 8)
    if (run.k <= 4 * VEC || WAYS == 8)
      return launch_rows<T, row_shape<4, WAYS, VEC, U>>(queue, run, places);
  if constexpr (WAYS <= 4)
    if (run.k <= 8 * VEC || WAYS == 4)
      return launch_rows<T, row_shape<8, WAYS, VEC, U>>(queue, run, places);
  if constexpr (WAYS <= 2)
    if (run.k <= 16 * VEC || WAYS == 2)
      return launch_rows<T, row_shape<16, WAYS, VEC, U>>(queue, run, places);
  if constexpr (WAYS == 1)
    return launch_rows<T, row_shape<32, 1, VEC, U>>(queue, run, places);
  return launch_rows<T, row_shape<1, 16, VEC, U>>(queue, run, places);
}

} // namespace sley

#endif

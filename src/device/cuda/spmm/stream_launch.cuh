/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the kernel and the shape of a product by streams of entries (stream.cuh). All shapes were found by
 * measurement on H200 GPUs. */
#ifndef SLEY_DEVICE_CUDA_SPMM_STREAM_LAUNCH_CUH
#define SLEY_DEVICE_CUDA_SPMM_STREAM_LAUNCH_CUH

#include "device/cuda/spmm/narrow_rows.cuh"
#include "device/cuda/spmm/spmm_rows.cuh"
#include "device/cuda/spmm/stream.cuh"

extern "C" {
#include "device/window_model.h"
}

namespace sley {

/* LONG_ROW: entries of a row from which on steps without a row's end get their own loop. VERY_LONG_ROW:
 * entries from which on narrow products are limited by instructions rather than memory. */
enum { LONG_ROW = 32, VERY_LONG_ROW = 256 };

/* If rows of X cannot be loaded in 16 bytes: as many strips as fill 16 bytes per lane, at most 4. */
template <typename T, int VEC>
constexpr int strips_of = VEC * sizeof(input<T>) >= 16  ? 1
                          : VEC * sizeof(input<T>) == 8 ? 2
                                                        : 4;

/* If a pull runs at the same time, which also uses registers and threads,
 * fewer groups with more loads each are faster; otherwise more groups with fewer loads. */
template <typename T, int VEC>
sley_status launch_few_lanes(sl_queue *queue, const sl_stream_run &run, const x_places &places, int lanes) {
  const bool long_rows = run.a.row_entries >= LONG_ROW;
  if (lanes == 4 && long_rows)
    return launch_shape<T, shape<4, 1, VEC, 1, 4, 14, true, uint32_t>>(queue, run, places);
  if (lanes == 4)
    return launch_shape<T, shape<4, 1, VEC, 1, 4, 14, false, uint32_t>>(queue, run, places);
  if (long_rows && run.during_pull)
    return launch_shape<T, shape<8, 1, VEC, 1, 8, 14, true, uint32_t>>(queue, run, places);
  if (long_rows)
    return launch_shape<T, shape<8, 1, VEC, 1, 8, 16, true, uint32_t>>(queue, run, places);
  return launch_shape<T, shape<8, 1, VEC, 1, 8, 16, false, uint32_t>>(queue, run, places);
}

template <typename T, int VEC>
sley_status launch_panel(sl_queue *queue, const sl_stream_run &run, const x_places &places,
                         sl_stream_panel p) {
  const bool long_rows = run.a.row_entries >= LONG_ROW;
  if (p.strips == 2)
    return p.lanes == 24 ? launch_shape<T, shape<24, 1, VEC, 2, 4, 12, false, uint32_t>>(queue, run, places)
           : p.lanes == 28
               ? launch_shape<T, shape<28, 1, VEC, 2, 4, 12, false, uint32_t>>(queue, run, places)
               : launch_shape<T, shape<32, 1, VEC, 2, 4, 12, false, uint32_t>>(queue, run, places);
  switch (p.lanes) {
  case 9:
    return launch_shape<T, shape<9, 1, VEC, 1, 9, 14, true, uint32_t>>(queue, run, places);
  case 10:
    return launch_shape<T, shape<10, 1, VEC, 1, 10, 12, true, uint32_t>>(queue, run, places);
  case 16:
    if (sizeof(input<T>) == 8 && long_rows && !run.during_pull)
      return launch_shape<T, shape<16, 1, VEC, 1, 4, 16, true, uint32_t>>(queue, run, places);
    return launch_shape<T, shape<16, 1, VEC, 1, 8, 16, true, uint32_t>>(queue, run, places);
  case 24:
    return launch_shape<T, shape<24, 1, VEC, 1, 6, 16, false, uint32_t>>(queue, run, places);
  case 32:
    if (long_rows)
      return launch_shape<T, shape<32, 1, VEC, 1, 8, 14, true, uint32_t>>(queue, run, places);
    return launch_shape<T, shape<32, 1, VEC, 1, 8, 14, false, uint32_t>>(queue, run, places);
  default:
    return launch_few_lanes<T, VEC>(queue, run, places, p.lanes);
  }
}

/* Launches with loads of 16 bytes for a width that is no multiple of them: lanes load what follows the last
 * value of a row of X, and store the values of Y one by one. There are fewer shapes, the next larger ones. */
template <typename T, int VEC>
sley_status launch_padded(sl_queue *queue, const sl_stream_run &run, const x_places &places) {
  const bool large = run.a.entries >= queue->device->figures.fill[SL_FILL_ENTRIES];
  const sl_stream_panel p =
      sl_stream_panel_of((run.k + VEC - 1) / VEC, sizeof(input<T>), large, run.a.row_entries >= LONG_ROW);
  if (p.strips == 2)
    return p.lanes <= 28
               ? launch_shape<T, shape<28, 1, VEC, 2, 4, 12, false, uint32_t, false>>(queue, run, places)
               : launch_shape<T, shape<32, 1, VEC, 2, 4, 12, false, uint32_t, false>>(queue, run, places);
  if (p.lanes <= 8)
    return launch_shape<T, shape<8, 1, VEC, 1, 8, 16, true, uint32_t, false>>(queue, run, places);
  if (p.lanes <= 10)
    return launch_shape<T, shape<10, 1, VEC, 1, 10, 12, true, uint32_t, false>>(queue, run, places);
  if (p.lanes <= 16)
    return launch_shape<T, shape<16, 1, VEC, 1, 8, 16, true, uint32_t, false>>(queue, run, places);
  return launch_shape<T, shape<32, 1, VEC, 1, 8, 14, false, uint32_t, false>>(queue, run, places);
}

/* Launches with loads of less than 16 bytes. */
template <typename T, int VEC>
sley_status launch_short_loads(sl_queue *queue, const sl_stream_run &run, const x_places &places, int lanes) {
  const bool long_rows = run.a.row_entries >= LONG_ROW;
  if (lanes <= 8)
    return launch_few_lanes<T, VEC>(queue, run, places, lanes);
  if (lanes == 16 && run.during_pull)
    return launch_shape<T, shape<16, 1, VEC, 1, 8, 16, true, uint32_t>>(queue, run, places);
  if (lanes == 16 && long_rows)
    return launch_shape<T, shape<16, 1, VEC, 1, 4, 16, true, uint32_t>>(queue, run, places);
  if (lanes == 16)
    return launch_shape<T, shape<16, 1, VEC, 1, 4, 20, false, uint32_t>>(queue, run, places);
  constexpr int STRIPS = strips_of<T, VEC>;
  if constexpr (STRIPS == 4)
    if (run.k > 64 * VEC)
      return launch_shape<T, shape<32, 1, VEC, 4, 4, 14, false, uint32_t>>(queue, run, places);
  if constexpr (STRIPS == 2) /* as many loads of 8 bytes as in two panels, but each entry is read once */
    if (run.k > 64 * VEC)
      return launch_shape<T, shape<32, 1, VEC, 3, 4, 12, false, uint32_t>>(queue, run, places);
  if constexpr (STRIPS >= 2)
    if (run.k > 32 * VEC)
      return launch_shape<T, shape<32, 1, VEC, 2, 4, 16, false, uint32_t>>(queue, run, places);
  return launch_shape<T, shape<32, 1, VEC, 1, 8, 14, false, uint32_t>>(queue, run, places);
}

/* Launches with VEC values per load. lanes: of a group, or 0 for the number that suits the width. */
template <typename T, int VEC>
sley_status launch_lanes(sl_queue *queue, const sl_stream_run &run, int lanes) {
  x_places places;
  if (!find_places<T, VEC>(run, &places))
    return launch_shape<T, shape<32, 1, VEC, 1, 4, 8, false, uint64_t>>(queue, run, places);
  const int64_t loads = (run.k + VEC - 1) / VEC;
  if constexpr (VEC * sizeof(input<T>) == 16) {
    const bool large = run.a.entries >= queue->device->figures.fill[SL_FILL_ENTRIES];
    return launch_panel<T, VEC>(
        queue, run, places,
        lanes > 0 ? sl_stream_panel{lanes, 1}
                  : sl_stream_panel_of(loads, sizeof(input<T>), large, run.a.row_entries >= LONG_ROW));
  } else
    return launch_short_loads<T, VEC>(queue, run, places,
                                      lanes > 0     ? lanes
                                      : loads <= 8  ? 8
                                      : loads <= 16 ? 16
                                                    : 32);
}

/* Returns whether rows can be accessed VEC values at a time, with features for more than half of `lanes`. */
template <typename T, int VEC> bool fits(const sl_stream_run &run, int lanes) {
  return run.k % VEC == 0 && run.k > lanes / 2 * VEC && aligned_rows<T, VEC>(run);
}

/* Launches with one warp per chunk, in which WAYS lanes share a feature. */
template <typename T, int WAYS, int VEC> sley_status launch_ways(sl_queue *queue, const sl_stream_run &run) {
  constexpr int STRIPS = strips_of<T, VEC>;
  x_places places;
  if (find_places<T, VEC>(run, &places))
    return launch_shape<T, shape<32 / WAYS, WAYS, VEC, STRIPS, 4, 12, true, uint32_t>>(queue, run, places);
  find_places<T, 1>(run, &places);
  return launch_shape<T, shape<32 / WAYS, WAYS, 1, 4, 4, 8, true, uint64_t>>(queue, run, places);
}

/* Calls launch(VEC) with the widest loads that alignment allows and that have features for more than half of
 * `lanes`: 16 bytes per lane, then 8, 4 for 2-byte values, then single values. */
template <typename T, class LAUNCH>
sley_status by_widest(const sl_stream_run &run, int lanes, LAUNCH launch) {
  constexpr int BYTES = sizeof(input<T>), WIDEST = 16 / BYTES;
  if (fits<T, WIDEST>(run, lanes))
    return launch(std::integral_constant<int, WIDEST>());
  if constexpr (BYTES < 8)
    if (fits<T, WIDEST / 2>(run, lanes))
      return launch(std::integral_constant<int, WIDEST / 2>());
  if constexpr (BYTES < 4)
    if (fits<T, WIDEST / 4>(run, lanes))
      return launch(std::integral_constant<int, WIDEST / 4>());
  return launch(std::integral_constant<int, 1>());
}

template <typename T, int WAYS> sley_status stream_ways(sl_queue *queue, const sl_stream_run &run) {
  return by_widest<T>(run, 0,
                      [&](auto vec) { return launch_ways<T, WAYS, decltype(vec)::value>(queue, run); });
}

/* Runs row by row, if the product was prepared for that. */
template <typename T, int WAYS> sley_status stream_rows(sl_queue *queue, const sl_stream_run &run) {
  return by_widest<T>(run, 0, [&](auto vec) { return rows_of<T, decltype(vec)::value, WAYS>(queue, run); });
}

template <typename T> sley_status launch_row_ways(sl_queue *queue, const sl_stream_run &run) {
  switch (run.a.ways) {
  case 2:
    return stream_rows<T, 2>(queue, run);
  case 4:
    return stream_rows<T, 4>(queue, run);
  case 8:
    return stream_rows<T, 8>(queue, run);
  case 16:
    return stream_rows<T, 16>(queue, run);
  default:
    return stream_rows<T, 1>(queue, run);
  }
}

/* Half as many lanes load a row of X in narrow products of very long rows, and for 16-bit values if a row of
 * X is at most a sector long. */
template <typename T> sley_status launch_stream(sl_queue *queue, const sl_stream_run &run) {
  constexpr int BYTES = sizeof(input<T>), WIDEST = 16 / BYTES;
  x_places places;
  SL_TRY(sl_cuda_use(queue->device));
  if (run.a.task)
    return launch_row_ways<T>(queue, run);
  if (narrow_serves<T>(run))
    return narrow_product<T>(queue, run);
  switch (run.a.ways) {
  case 2:
    return stream_ways<T, 2>(queue, run);
  case 4:
    return stream_ways<T, 4>(queue, run);
  case 8:
    return stream_ways<T, 8>(queue, run);
  default:
    break;
  }
  /* If all chunks run at once with one warp each, groups that share a warp would only wait for each other. */
  if (run.a.chunks * ((run.k * BYTES + 511) / 512) <= queue->device->figures.fill[SL_FILL_STREAM_WARPS])
    return by_widest<T>(run, 32,
                        [&](auto vec) { return launch_lanes<T, decltype(vec)::value>(queue, run, 32); });
  if (run.a.row_entries >= VERY_LONG_ROW && run.k <= 4 * WIDEST && fits<T, WIDEST>(run, 4))
    return launch_lanes<T, WIDEST>(queue, run, 4);
  if constexpr (BYTES < 4)
    if (run.k <= 2 * WIDEST && fits<T, WIDEST / 2>(run, 4))
      return launch_lanes<T, WIDEST / 2>(queue, run, 4);
  if (run.padded && run.k > 4 * WIDEST && run.k % WIDEST != 0 && aligned_x<T, WIDEST>(run) &&
      find_places<T, WIDEST>(run, &places))
    return launch_padded<T, WIDEST>(queue, run, places);
  return by_widest<T>(run, 8, [&](auto vec) { return launch_lanes<T, decltype(vec)::value>(queue, run, 0); });
}

/* Y has the type of X; if X has 16 bits and run says so, it has the type of sums. */
template <typename T> sley_status launch_stream_to(sl_queue *queue, const sl_stream_run &run) {
  if constexpr (sizeof(T) == 2)
    if (run.wide_y)
      return launch_stream<wide<T>>(queue, run);
  return launch_stream<T>(queue, run);
}

} // namespace sley

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/spmm/window_choice.h"

#include <math.h>

#include "base/value.h"
#include "device/figures.h"

/* MARGIN: Tensor cores must be faster by more than the model's error. WORTH: the product on both kinds of
 * cores must take less than this share of the time on one kind. */
static const double MARGIN = 0.8, WORTH = 0.95;
enum { NARROW = 32 };

static int64_t slabs_of(sley_dtype dtype, int64_t slots) {
  int width = sl_slab_slots(dtype);
  return slots > 0 ? (slots + width - 1) / width : 1;
}

static double longer(double a, double b) {
  return a > b ? a : b;
}

/* Time of the longest chunk, and time to add the fragments of the longest window, which one warp does. */
static double serial_time(const sl_spmm_problem *problem, const int32_t *slots, int64_t target) {
  const sl_spmm_matrix *a = problem->a;
  const sl_window_starts *starts = &problem->figures->window_starts;
  const double slab = problem->k <= NARROW   ? starts->narrow
                      : a->dtype == SLEY_F32 ? starts->f32
                                             : starts->f16;
  int64_t chunk = target, cut = 0;
  for (int64_t w = 0; w < sl_window_count_of(a->rows); w++) {
    int64_t slabs = slabs_of(a->dtype, slots[w]);
    if (slabs > SL_WINDOW_CUT * target)
      cut = slabs > cut ? slabs : cut;
    else
      chunk = slabs > chunk ? slabs : chunk;
  }
  return slab * (double)chunk + starts->fragment * (double)cut / (double)target;
}

int64_t sl_windows_choose(const sl_spmm_problem *problem, const int32_t *slots, int64_t target,
                          bool *chosen) {
  const sl_spmm_matrix *a = problem->a;
  const sl_device_figures *device = problem->figures;
  const sl_window_figures *figures = sl_window_figures_of(&device->windows, a->dtype, problem->tf32);
  const int ways = sl_stream_ways(device, a->dtype, problem->k, sl_spmm_entries(a), a->rows);
  int64_t windows = sl_window_count_of(a->rows), count = 0;
  double tensor = 0, stream = 0, some_tensor = 0, some_stream = 0,
         serial = serial_time(problem, slots, target);
  for (int64_t w = 0; w < windows; w++) {
    const sl_window_shape shape = {slots[w], sl_window_entries(a, w), target, ways, a->rows, device->cache};
    double by_tensor = slots[w] < 0 ? HUGE_VAL : sl_window_tensor_time(figures, a->dtype, problem->k, &shape),
           by_stream = sl_window_stream_time(figures, a->dtype, problem->k, &shape);
    chosen[w] = by_tensor < by_stream;
    count += chosen[w];
    tensor += by_tensor;
    stream += by_stream;
    *(chosen[w] ? &some_tensor : &some_stream) += chosen[w] ? by_tensor : by_stream;
  }
  tensor = longer(tensor, serial) / MARGIN;
  stream += device->window_starts.stream;
  double both = longer(some_tensor, serial) / MARGIN + some_stream + device->window_starts.second +
                device->window_starts.stream;
  if (both < tensor && both < WORTH * stream)
    return count;
  for (int64_t w = 0; w < windows; w++)
    chosen[w] = tensor < stream;
  return tensor < stream ? windows : 0;
}

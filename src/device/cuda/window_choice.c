/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/window_choice.h"

#include <math.h>

#include "base/value.h"

/* On Tensor cores time follows the number of slabs, on CUDA cores that of entries; both grow with the
 * features. The figures were fitted to products of an H200: bands, finite elements, graphs, pruned layers, k
 * from 10 to 243. */
enum { PANEL = 64, VECTOR_BYTES = 16, LOADS = 4 };

/* Nanoseconds, but for the last line. */
typedef struct costs {
  double slab;            /* of a panel: its bits and columns */
  double features[LOADS]; /* of a slab, for PANEL features, where a lane loads 1, 2, 4 or 8 values at once */
  double window;          /* its sums, for PANEL features */
  double fragment;        /* of a window, for PANEL features: its sums are stored and added */
  double serial;          /* of a slab, where nothing else runs */
  double entry, byte;     /* of a stream; of X for an entry of it: picoseconds */
} costs;

static const costs costs_f32 = {0.37, {2.36, 1.06, 0.6, 0.6}, 1.15, 15, 1700, 6.9, 0.115};
static const costs costs_16 = {0.39, {3.47, 0.94, 0.64, 0.6}, 0.88, 15, 1500, 10.5, 0.168};
static const double stream_start = 10e-6, second_launch = 4e-6;
static const double MARGIN = 0.9; /* Tensor cores are to be faster by more than the model errs */

static const costs *costs_of(sley_dtype dtype) {
  return dtype == SLEY_F32 ? &costs_f32 : &costs_16;
}

/* Of log2 of the values that a lane loads at once. */
static int load_of(sley_dtype dtype, int64_t k) {
  int most = VECTOR_BYTES / (int)sley_dtype_bytes(dtype), log = 0;
  while ((2 << log) <= most && k % (2 << log) == 0)
    log++;
  return log;
}

static int64_t slabs_of(sley_dtype dtype, int64_t slots) {
  int width = sl_slab_slots(dtype);
  return slots > 0 ? (slots + width - 1) / width : 1;
}

static double parts_of(int64_t k) {
  return (double)((k + 7) / 8 * 8) / PANEL;
}

double sl_window_tensor_time(sley_dtype dtype, int64_t k, int64_t slots) {
  const costs *c = costs_of(dtype);
  double slabs = (double)slabs_of(dtype, slots), panels = (double)((k + PANEL - 1) / PANEL);
  return 1e-9 * (slabs * (panels * c->slab + parts_of(k) * c->features[load_of(dtype, k)]) +
                 parts_of(k) * c->window);
}

double sl_window_stream_time(sley_dtype dtype, int64_t k, int64_t entries) {
  const costs *c = costs_of(dtype);
  return 1e-12 * (double)entries * (c->entry + c->byte * (double)(k * (int64_t)sley_dtype_bytes(dtype)));
}

static double longer(double a, double b) {
  return a > b ? a : b;
}

/* With what its being cut takes; without end if it must not go there. */
static double tensor_time(sley_dtype dtype, int64_t k, int32_t slots, int64_t target) {
  double time = sl_window_tensor_time(dtype, k, slots), slabs = (double)slabs_of(dtype, slots);
  if (slots < 0)
    return HUGE_VAL;
  if (slabs > (double)(SL_WINDOW_CUT * target))
    time += 1e-9 * slabs / (double)target * parts_of(k) * costs_of(dtype)->fragment;
  return time;
}

/* Of the longest chunk. */
static double serial_time(const sl_spmm_matrix *a, const int32_t *slots, int64_t target) {
  int64_t most = target;
  for (int64_t w = 0; w < sl_window_count_of(a->rows); w++) {
    int64_t slabs = slabs_of(a->dtype, slots[w]);
    most = slabs > most ? slabs : most;
  }
  most = most > SL_WINDOW_CUT * target ? SL_WINDOW_CUT * target : most;
  return 1e-9 * costs_of(a->dtype)->serial * (double)most;
}

int64_t sl_windows_choose(const sl_spmm_matrix *a, int64_t k, const int32_t *slots, int64_t target,
                          bool *chosen) {
  int64_t windows = sl_window_count_of(a->rows), count = 0;
  double tensor = 0, stream = 0, some_tensor = 0, some_stream = 0, serial = serial_time(a, slots, target);
  for (int64_t w = 0; w < windows; w++) {
    double by_tensor = tensor_time(a->dtype, k, slots[w], target),
           by_stream = sl_window_stream_time(a->dtype, k, sl_window_entries(a, w));
    chosen[w] = by_tensor < by_stream;
    count += chosen[w];
    tensor += by_tensor;
    stream += by_stream;
    *(chosen[w] ? &some_tensor : &some_stream) += chosen[w] ? by_tensor : by_stream;
  }
  tensor = longer(tensor, serial) / MARGIN;
  stream += stream_start;
  double both = longer(some_tensor, serial) / MARGIN + some_stream + second_launch + stream_start;
  if (both < tensor && both < stream)
    return count;
  for (int64_t w = 0; w < windows; w++)
    chosen[w] = tensor < stream;
  return tensor < stream ? windows : 0;
}

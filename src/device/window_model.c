/* SPDX-License-Identifier: Apache-2.0 */
#include "device/window_model.h"

#include "base/value.h"
#include "device/figures.h"

enum { PANEL = 64, VECTOR_BYTES = 16 };

const char *sl_window_kind_name(sl_window_kind kind) {
  static const char *const names[SL_WINDOW_KINDS] = {"f32", "tf32", "f16"};
  return names[kind];
}

sl_window_kind sl_window_kind_of(sley_dtype dtype, bool tf32) {
  return dtype != SLEY_F32 ? SL_WINDOWS_F16 : tf32 ? SL_WINDOWS_TF32 : SL_WINDOWS_F32;
}

const sl_window_figures *sl_window_figures_of(const sl_window_model *model, sley_dtype dtype, bool tf32) {
  return &model->of[sl_window_kind_of(dtype, tf32)];
}

static int64_t up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/* Share of Y that the L2 cache does not hold. */
static double far_part(sley_dtype dtype, int64_t k, const sl_window_shape *window) {
  double bytes = (double)window->rows * (double)k * (double)sley_dtype_bytes(dtype);
  return bytes > window->cache ? 1 - window->cache / bytes : 0;
}

static int log2_of(int64_t power) {
  int log = 0;
  while (power >> (log + 1) > 0)
    log++;
  return log;
}

/* A kernel's work for a slab, or for an entry. */
typedef struct work {
  double passes, loads; /* per warp */
  int vec;              /* values that a lane loads at once */
  double end;           /* cost of the end of a streamed row */
} work;

/* Panels and loads as in launch_panels of spmm/tensor.cuh. */
static work tensor_work(sley_dtype dtype, int64_t k) {
  int bytes = (int)sley_dtype_bytes(dtype), vec = sl_features_of_lane(dtype, k);
  int64_t panel = vec < 8 && k <= 32 ? 32 : vec * bytes >= 8 && k > 64 && k % 64 != 0 ? 128 : PANEL;
  return (work){
      .passes = (double)up(k, panel), .loads = (double)(up(k, 8 * vec) * 8 * vec) / PANEL, .vec = vec};
}

/* The widest loads with features for more than half of `lanes`. */
static int vec_of(int bytes, int64_t k, int lanes) {
  int least = bytes < 4 ? VECTOR_BYTES / bytes / 4 : VECTOR_BYTES / bytes / 2;
  for (int vec = VECTOR_BYTES / bytes; vec >= least; vec /= 2)
    if (k % vec == 0 && k > lanes / 2 * vec)
      return vec;
  return 1;
}

/* One warp per chunk, in which lanes share features. */
static work shared_work(int bytes, int64_t k, int ways) {
  int vec = vec_of(bytes, k, 0);
  double loads = (double)up(k, 32 / ways * vec);
  return (work){1.0 / ways, loads / ways, vec, 1 + vec * loads * log2_of(ways)};
}

/* A load takes as long as its busiest lane, so panels divide a row into equal parts that fill a warp. Panels
 * of 8 and 16 lanes are whole lines of memory: they are faster if rows of X come from memory, and slower if
 * most are in the L2 cache. Values of 8 bytes gain nothing from more groups, because a lane has only 2 sums;
 * lanes have too few registers for two strips of 2-byte values. Measured on an H200, widths of 36 to 512,
 * four graphs. */
sl_stream_panel sl_stream_panel_of(int64_t loads, int value_bytes, bool large, bool long_rows) {
  const bool lines = large && value_bytes < 8;
  if (loads <= 16)
    return (sl_stream_panel){loads <= 8 ? 8 : loads <= 10 ? (int)loads : 16, 1};
  if (lines && (loads == 24 || loads % 32 == 0))
    return (sl_stream_panel){loads == 24 ? 8 : 16, 1};
  if (loads <= 32 || loads % 32 == 0)
    return (sl_stream_panel){loads <= 24 && !long_rows ? 24 : 32, 1};
  if (loads % 32 == 16 || loads > 64)
    return (sl_stream_panel){16, 1};
  if (lines && loads % 8 == 0)
    return (sl_stream_panel){8, 1};
  if (value_bytes < 4)
    return (sl_stream_panel){32, 1};
  return (sl_stream_panel){loads <= 48 ? 24 : loads <= 56 ? 28 : 32, 2};
}

/* Groups, strips and panels as in stream_launch.cuh. */
static work stream_work(sley_dtype dtype, int64_t k, int ways) {
  int bytes = (int)sley_dtype_bytes(dtype), widest = VECTOR_BYTES / bytes, vec = vec_of(bytes, k, 8);
  if (ways > 1)
    return shared_work(bytes, k, ways);
  if (bytes < 4 && k <= 2 * widest && k % (widest / 2) == 0 && k > widest)
    return (work){4.0 / 32, 4.0 / 32, widest / 2, 4.0 / 32};
  if (vec * bytes >= VECTOR_BYTES) {
    const sl_stream_panel p = sl_stream_panel_of(up(k, vec), bytes, true, false);
    double passes = (double)up(k, (int64_t)p.lanes * p.strips * vec) / (32 / p.lanes);
    return (work){passes, passes * p.strips, vec, passes};
  }
  if (k <= 16 * vec) {
    double lanes = k <= 8 * vec ? 8 : 16;
    return (work){lanes / 32, lanes / 32, vec, lanes / 32};
  }
  int64_t most = vec * bytes == 8 ? 3 : 4, strips = k > 64 * vec ? most : k > 32 * vec ? 2 : 1;
  double panels = (double)up(k, 32 * vec * strips);
  return (work){panels, (double)up(k, 32 * vec), vec, panels};
}

/* Average entries of a row from which on `ways` lanes share a feature. Measured on an H200: on large matrices
 * with 70 to 440 entries per row, 8 lanes were 13 to 79 % faster than none, and 4 lanes in f32 up to 37 %; 4
 * lanes in f16 were 15 % slower on random columns. */
static int64_t least_entries(const sl_device_figures *figures, sley_dtype dtype, int64_t entries, int ways) {
  enum { SMALL_SHARE = 2, LARGE_SHARE = 40, LONG_ROW = 64 };
  if (entries < figures->fill[SL_FILL_ENTRIES])
    return ways * SMALL_SHARE;
  return ways == 8 || (ways == 4 && sley_dtype_bytes(dtype) > 2) ? LONG_ROW : ways * LARGE_SHARE;
}

int sl_stream_ways(const sl_device_figures *figures, sley_dtype dtype, int64_t k, int64_t entries,
                   int64_t rows) {
  const int64_t bytes = k * (int64_t)sley_dtype_bytes(dtype);
  const int ways = bytes <= 64 ? 8 : bytes <= 128 ? 4 : bytes <= 256 ? 2 : 1;
  return ways > 1 && entries >= rows * least_entries(figures, dtype, entries, ways) ? ways : 1;
}

static double slabs_of(sley_dtype dtype, int64_t slots) {
  int width = sl_slab_slots(dtype);
  return slots > 0 ? (double)((slots + width - 1) / width) : 1;
}

/* The chunk is large enough that the ends of windows cost little, and small enough that all warps have work.
 */
int64_t sl_window_chunk(const sl_device_figures *figures, int64_t slabs, int64_t k) {
  enum { CHUNK_SLABS = 32, CHUNK_SLABS_LEAST = 8 };
  int64_t target = CHUNK_SLABS, panels = (k + PANEL - 1) / PANEL;
  while (target > CHUNK_SLABS_LEAST && slabs / target * panels < figures->fill[SL_FILL_WINDOW_WARPS])
    target /= 2;
  return target;
}

int64_t sl_window_target(const sl_device_figures *figures, int64_t windows, int64_t slots, int64_t k,
                         sley_dtype dtype) {
  return sl_window_chunk(figures, windows * (int64_t)slabs_of(dtype, slots), k);
}

void sl_window_tensor_features(sley_dtype dtype, int64_t k, const sl_window_shape *window,
                               double out[SL_WINDOW_FIGURES]) {
  double slabs = slabs_of(dtype, window->slots), parts = (double)k / PANEL;
  const work w = tensor_work(dtype, k);
  bool cut = window->target > 0 && slabs > (double)(SL_WINDOW_CUT * window->target);
  out[SL_TENSOR_SLAB] = slabs * w.passes;
  for (int i = 0; i < SL_WINDOW_LOADS; i++)
    out[SL_TENSOR_LOAD + i] = i == log2_of(w.vec) ? slabs * w.loads : 0;
  out[SL_TENSOR_WINDOW] = parts;
  out[SL_TENSOR_STORE] = w.loads / w.vec;
  out[SL_TENSOR_FAR] = w.loads / w.vec * far_part(dtype, k, window);
  out[SL_TENSOR_FRAGMENT] = cut ? slabs / (double)window->target * parts : 0;
}

void sl_window_stream_features(sley_dtype dtype, int64_t k, const sl_window_shape *window,
                               double out[SL_WINDOW_FIGURES]) {
  double entries = (double)window->entries;
  const work w = stream_work(dtype, k, window->ways);
  out[SL_STREAM_ENTRY] = entries * w.passes;
  for (int i = 0; i < SL_WINDOW_LOADS; i++)
    out[SL_STREAM_LOAD + i] = i == log2_of(w.vec) ? entries * w.loads : 0;
  out[SL_STREAM_END] = SL_WINDOW_ROWS * w.end;
  out[SL_STREAM_WINDOW] = (double)k / PANEL;
  out[SL_STREAM_FAR] = (double)k / PANEL * far_part(dtype, k, window);
  out[SL_STREAM_SLOT] =
      window->slots > 0 ? (double)window->slots * (double)k / PANEL : 0; /* < 0: not known */
}

static double seconds(const double *figure, const double *feature) {
  double sum = 0;
  for (int i = 0; i < SL_WINDOW_FIGURES; i++)
    sum += figure[i] * feature[i];
  return 1e-9 * sum;
}

double sl_window_tensor_time(const sl_window_figures *figures, sley_dtype dtype, int64_t k,
                             const sl_window_shape *window) {
  double feature[SL_WINDOW_FIGURES];
  sl_window_tensor_features(dtype, k, window, feature);
  return seconds(figures->tensor, feature);
}

double sl_window_stream_time(const sl_window_figures *figures, sley_dtype dtype, int64_t k,
                             const sl_window_shape *window) {
  double feature[SL_WINDOW_FIGURES];
  sl_window_stream_features(dtype, k, window, feature);
  return seconds(figures->stream, feature);
}

/* Multiply-adds of the panels of a row, relative to the narrowest possible panels: wide panels do more work
 * for features beyond k, narrow ones load a row's values more often from shared memory. A property of the
 * kernel and not a figure, so that the shape of a run does not depend on the machine's description. */
int sl_dense_panel(sley_dtype dtype, int64_t k) {
  static const double effort[SL_DENSE_PANELS] = {1.9, 1.4, 1.1, 1};
  int best = SL_DENSE_PANEL_LEAST;
  double least = 0;
  for (int i = 0; i < (dtype == SLEY_F64 ? SL_DENSE_PANELS - 1 : SL_DENSE_PANELS); i++) {
    const int64_t panel = SL_DENSE_PANEL_LEAST << i;
    const double work = (double)((k + panel - 1) / panel * panel) * effort[i];
    if (i == 0 || work <= least) {
      least = work;
      best = (int)panel;
    }
  }
  return best;
}

/* Zeros that are filled in and the ends of blocks have no figures of their own: fits found none. */
double sl_dense_time(const sl_device_figures *figures, sley_dtype dtype, int64_t k, int rows, int64_t slots) {
  const sl_dense_figures *f = &figures->dense[sl_dense_kind_of(dtype)];
  const int panel = sl_dense_panel(dtype, k);
  const double width = (double)sl_dense_panels(dtype, k) * panel, features = (double)k;
  return 1e-9 * (f->cell[log2_of(panel / SL_DENSE_PANEL_LEAST)] * (double)slots * rows * width +
                 f->load * (double)slots * features + f->store * rows * features);
}

double sl_dense_start(const sl_device_figures *figures, sley_dtype dtype) {
  return 1e-9 * figures->dense[sl_dense_kind_of(dtype)].start;
}

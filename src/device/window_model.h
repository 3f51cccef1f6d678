/* SPDX-License-Identifier: Apache-2.0 */
/* The model of products over row windows: the time of a window of 16 rows on Tensor cores, and its time as a
 * stream of entries. As in HC-SpMM, section 4.2, with the width as a feature. Both times are sums of features
 * times figures, so that figures can be fitted. Plain host code that needs no device. */
#ifndef SLEY_DEVICE_WINDOW_MODEL_H
#define SLEY_DEVICE_WINDOW_MODEL_H

#include "base/types.h"

struct sl_device_figures; /* device/figures.h */

/* Consecutive stored rows in a window. */
enum { SL_WINDOW_ROWS = 16 };

/* Distinct columns of a window that one operation of Tensor cores takes: a slab. */
static inline int sl_slab_slots(sley_dtype dtype) {
  return dtype == SLEY_F32 ? 8 : 16;
}

/* Values that a lane loads at once: 1, 2, 4 or 8. */
enum { SL_WINDOW_LOADS = 4 };

/* The figures of the model, first for Tensor cores, then for streams: each is the cost of the item in its
   comment. */
enum {
  SL_TENSOR_SLAB,                                      /* a slab in each panel: its bits and columns */
  SL_TENSOR_LOAD,                                      /* loads of a slab, for 64 features, by log2 of the
                                                        * values that a lane loads at once */
  SL_TENSOR_WINDOW = SL_TENSOR_LOAD + SL_WINDOW_LOADS, /* the sums of a window, for 64 features */
  SL_TENSOR_STORE,                                     /* each store of a warp for these sums */
  SL_TENSOR_FAR,                                       /* additional cost of a store if Y does not fit in the
                                                          L2 cache */
  SL_TENSOR_FRAGMENT,                                  /* a window that is cut: storing and adding its sums,
                                                        * for 64 features */
  SL_WINDOW_FIGURES
};
enum {
  SL_STREAM_ENTRY, /* an entry, for each warp that processes it; a fraction if several groups of a warp
                      process entries */
  SL_STREAM_LOAD,  /* each load of a warp for an entry, by log2 of the values that a lane loads at once */
  SL_STREAM_END = SL_STREAM_LOAD + SL_WINDOW_LOADS, /* each instruction at the end of a row */
  SL_STREAM_WINDOW,                                 /* the sums of a window, for 64 features */
  SL_STREAM_FAR,                                    /* additional cost of the sums of a window if Y does not
                                                       fit in the L2 cache */
  SL_STREAM_SLOT                                    /* a row of X that a window needs, for 64 features */
};

/* In nanoseconds. */
typedef struct sl_window_figures {
  double tensor[SL_WINDOW_FIGURES], stream[SL_WINDOW_FIGURES];
} sl_window_figures;

/* f32 values are multiplied directly, or rounded to tf32; f16 also stands for bf16. */
typedef enum sl_window_kind {
  SL_WINDOWS_F32,
  SL_WINDOWS_TF32,
  SL_WINDOWS_F16,
  SL_WINDOW_KINDS
} sl_window_kind;

typedef struct sl_window_model {
  sl_window_figures of[SL_WINDOW_KINDS];
} sl_window_model;

/* "f32", "tf32", "f16". */
const char *sl_window_kind_name(sl_window_kind kind);

/* The model's figures for values of a type. */
sl_window_kind sl_window_kind_of(sley_dtype dtype, bool tf32);
const sl_window_figures *sl_window_figures_of(const sl_window_model *model, sley_dtype dtype, bool tf32);

/* A window. target: approximate number of slabs of a chunk; windows of more than SL_WINDOW_CUT * target slabs
   are cut. */
enum { SL_WINDOW_CUT = 4 };
typedef struct sl_window_shape {
  int64_t slots, entries; /* slots: distinct columns */
  int64_t target;         /* 0: the window is not cut */
  int ways;               /* number of lanes that share a feature of a stream; 0 means 1 */
  int64_t rows;           /* rows of Y */
  double cache;           /* bytes of Y that the L2 cache holds (sl_device_figures) */
} sl_window_shape;

/* Number of lanes that share a feature if rows are long enough; 1: lanes share no feature. */
int sl_stream_ways(const struct sl_device_figures *figures, sley_dtype dtype, int64_t k, int64_t entries,
                   int64_t rows);

/* A group of lanes that processes a stream of entries: `lanes` loads of a row of X side by side, in `strips`
 * strips. */
typedef struct sl_stream_panel {
  int lanes, strips;
} sl_stream_panel;

/* Returns the panel of products whose lanes load 16 bytes, for rows of X of `loads` such loads and values of
 * value_bytes bytes. large: A has so many entries that rows of X come from memory; long_rows: so many entries
 * per row that steps without a row's end are common. */
sl_stream_panel sl_stream_panel_of(int64_t loads, int value_bytes, bool large, bool long_rows);

/* A dense window: `rows` consecutive stored rows that are multiplied as a dense matrix. A
 * block of threads sums a panel of its features. */
enum { SL_DENSE_ROWS_LEAST = 16, SL_DENSE_ROWS_MOST = 64, SL_DENSE_PANEL_LEAST = 16, SL_DENSE_PANELS = 4 };

/* The costs of a dense window, in nanoseconds. Values of 2, 4 and 8 bytes have figures each. */
typedef struct sl_dense_figures {
  double cell[SL_DENSE_PANELS]; /* a multiply-add, by log2 of the panel's features / SL_DENSE_PANEL_LEAST; 0:
                                 * there is no such panel */
  double load;                  /* a value of X, for each slot */
  double store;                 /* an element of Y */
  double start;                 /* a product, if it has dense windows */
} sl_dense_figures;
typedef enum sl_dense_kind { SL_DENSE_16, SL_DENSE_F32, SL_DENSE_F64, SL_DENSE_KINDS } sl_dense_kind;

static inline sl_dense_kind sl_dense_kind_of(sley_dtype dtype) {
  return dtype == SLEY_F64 ? SL_DENSE_F64 : dtype == SLEY_F32 ? SL_DENSE_F32 : SL_DENSE_16;
}

/* Returns the features of a panel for products of k columns. */
int sl_dense_panel(sley_dtype dtype, int64_t k);
static inline int64_t sl_dense_panels(sley_dtype dtype, int64_t k) {
  return (k + sl_dense_panel(dtype, k) - 1) / sl_dense_panel(dtype, k);
}

/* Estimated seconds that a dense window adds to a product that fills a GPU, and those of a product besides
 * its windows. */
double sl_dense_time(const struct sl_device_figures *figures, sley_dtype dtype, int64_t k, int rows,
                     int64_t slots);
double sl_dense_start(const struct sl_device_figures *figures, sley_dtype dtype);

/* Neighbouring features that a lane of a GPU loads at once, in up to 16 bytes, if memory is aligned. */
static inline int sl_features_of_lane(sley_dtype dtype, int64_t k) {
  int features = 16 / (int)sley_dtype_bytes(dtype);
  while (k % features != 0)
    features /= 2;
  return features;
}

/* Returns the number of slabs of a chunk. slabs: number of slabs of all windows. */
int64_t sl_window_chunk(const struct sl_device_figures *figures, int64_t slabs, int64_t k);
int64_t sl_window_target(const struct sl_device_figures *figures, int64_t windows, int64_t slots, int64_t k,
                         sley_dtype dtype);

/* Computes the factors by which the figures are multiplied, in the order of the figures. */
void sl_window_tensor_features(sley_dtype dtype, int64_t k, const sl_window_shape *window,
                               double out[SL_WINDOW_FIGURES]);
void sl_window_stream_features(sley_dtype dtype, int64_t k, const sl_window_shape *window,
                               double out[SL_WINDOW_FIGURES]);

/* Estimated seconds that a window adds to a product that fills a GPU. */
double sl_window_tensor_time(const sl_window_figures *figures, sley_dtype dtype, int64_t k,
                             const sl_window_shape *window);
double sl_window_stream_time(const sl_window_figures *figures, sley_dtype dtype, int64_t k,
                             const sl_window_shape *window);

#endif

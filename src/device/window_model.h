/* SPDX-License-Identifier: Apache-2.0 */
/* The model of products over row windows: what a window of 16 rows takes on Tensor cores, and what it takes
 * as a stream of entries. HC-SpMM, section 4.2, with the width as a feature; both times are sums of features
 * times figures, so that figures can be fitted. Plain code of the host: it needs no device. */
#ifndef SLEY_DEVICE_WINDOW_MODEL_H
#define SLEY_DEVICE_WINDOW_MODEL_H

#include "base/types.h"

/* A window is so many consecutive stored rows. */
enum { SL_WINDOW_ROWS = 16 };

/* Distinct columns of a window that one operation of Tensor cores takes: a slab. */
static inline int sl_slab_slots(sley_dtype dtype) {
  return dtype == SLEY_F32 ? 8 : 16;
}

/* Values that a lane loads at once: 1, 2, 4 or 8. */
enum { SL_WINDOW_LOADS = 4 };

/* The figures of Tensor cores, and those of streams. */
enum {
  SL_TENSOR_SLAB,                                      /* in each panel: its bits and columns */
  SL_TENSOR_LOAD,                                      /* of a slab, for 64 features, by log2 of the values
                                                        * that a lane loads at once */
  SL_TENSOR_WINDOW = SL_TENSOR_LOAD + SL_WINDOW_LOADS, /* its sums, for 64 features */
  SL_TENSOR_STORE,                                     /* of its sums, for each store of a warp */
  SL_TENSOR_FAR,                                       /* the same where Y does not fit into the L2 cache */
  SL_TENSOR_FRAGMENT,                                  /* of a window that is cut: its sums are stored and
                                                        * added; for 64 features */
  SL_WINDOW_FIGURES
};
enum {
  SL_STREAM_ENTRY, /* for each warp that it passes: a part of one where groups
                    * share it */
  SL_STREAM_LOAD,  /* of an entry, for each load of a warp, as above */
  SL_STREAM_END = SL_STREAM_LOAD + SL_WINDOW_LOADS, /* of a row, for each instruction of its end */
  SL_STREAM_WINDOW,                                 /* its sums, for 64 features */
  SL_STREAM_FAR,                                    /* the same where Y does not fit into the L2 cache */
  SL_STREAM_SLOT                                    /* a row of X that it needs, for 64 features */
};

/* Nanoseconds. */
typedef struct sl_window_figures {
  double tensor[SL_WINDOW_FIGURES], stream[SL_WINDOW_FIGURES];
} sl_window_figures;

/* Values of f32 are multiplied as they are, or rounded to tf32; f16 stands for bf16 too. */
typedef enum sl_window_kind {
  SL_WINDOWS_F32,
  SL_WINDOWS_TF32,
  SL_WINDOWS_F16,
  SL_WINDOW_KINDS
} sl_window_kind;

typedef struct sl_window_model {
  sl_window_figures of[SL_WINDOW_KINDS];
} sl_window_model;

/* Figures of an H200. */
const sl_window_model *sl_window_model_built_in(void);

/* "f32", "tf32", "f16". */
const char *sl_window_kind_name(sl_window_kind kind);

/* Those of values, of a model or, NULL, built in. */
sl_window_kind sl_window_kind_of(sley_dtype dtype, bool tf32);
const sl_window_figures *sl_window_figures_of(const sl_window_model *model, sley_dtype dtype, bool tf32);

/* A window. target: slabs of a chunk, about; windows of more than SL_WINDOW_CUT targets are cut. */
enum { SL_WINDOW_CUT = 4 };
typedef struct sl_window_shape {
  int64_t slots, entries; /* distinct columns */
  int64_t target;         /* 0: it is not cut */
  int ways;               /* lanes that share a feature of a stream; 0: 1 */
  int64_t rows;           /* of Y */
} sl_window_shape;

/* Entries from which on there is work for all lanes of a GPU anyway. */
enum { SL_STREAM_LARGE = 4000000 };

/* How many lanes share a feature where rows are long enough; 1: they do not share. */
int sl_stream_ways(sley_dtype dtype, int64_t k, int64_t entries, int64_t rows);

/* Neighbouring features that a lane of a GPU loads at once, in up to 16 bytes, where memory is aligned. */
static inline int sl_features_of_lane(sley_dtype dtype, int64_t k) {
  int vec = 16 / (int)sley_dtype_bytes(dtype);
  while (k % vec != 0)
    vec /= 2;
  return vec;
}

/* Slabs of a chunk, where `windows` windows have so many slots each, or windows all have `slabs` together. */
int64_t sl_window_chunk(int64_t slabs, int64_t k);
int64_t sl_window_target(int64_t windows, int64_t slots, int64_t k, sley_dtype dtype);

/* What the figures are multiplied by, in their order. */
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

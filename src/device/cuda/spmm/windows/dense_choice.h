/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses dense windows: their rows, which windows are dense, and how long ones are cut, by the model of
 * window_model.h. Plain host code that needs no device. */
#ifndef SLEY_DEVICE_CUDA_SPMM_WINDOWS_DENSE_CHOICE_H
#define SLEY_DEVICE_CUDA_SPMM_WINDOWS_DENSE_CHOICE_H

#include "device/chunks.h"
#include "device/op/op_spmm.h"
#include "device/window_model.h"

/* Dense windows have 16, 32 or 64 rows. */
enum { SL_DENSE_HEIGHTS = 3 };
static inline int sl_dense_rows_of(int height) {
  return SL_DENSE_ROWS_LEAST << height;
}

/* A sample: groups of SL_DENSE_ROWS_MOST rows, and the distinct columns of their windows of each height,
 * group by group; negative: not known. */
typedef struct sl_dense_sample {
  int64_t groups, *group;
  int32_t *slots[SL_DENSE_HEIGHTS];
} sl_dense_sample;

/* How dense windows are made. */
typedef struct sl_dense_way {
  int rows;     /* of a window; 0: there are no dense windows */
  double slots; /* distinct columns of the windows of 16 rows in a window, together, by those of the window */
} sl_dense_way;

/* Returns the way that makes the product of the sample fastest. */
sl_dense_way sl_dense_choose_way(const sl_spmm_problem *problem, const sl_dense_sample *sample);

/* Sets chosen[w] for the windows that are dense: those that are faster so than by streams or on Tensor cores,
 * and that take at most 1.5 times the memory of their entries; none, if the whole product gains less than 5
 * %. slots[w]: number of slots of window w; negative: the window must not be chosen. Returns the number of
 * chosen windows. */
int64_t sl_dense_choose(const sl_spmm_problem *problem, sl_dense_way way, const int32_t *slots, bool *chosen);

/* Returns how windows with these first slots are cut: so that all multiprocessors have about the same work,
 * and fragments are few. first: windows + 1 elements. */
sl_chunk_sizes sl_dense_cut(const sl_spmm_problem *problem, int64_t windows, const int64_t *first);

/* Most fragments. */
int64_t sl_dense_fragments_most(const sl_spmm_problem *problem);

/* Most slots that windows of `rows` rows with so many entries may have, by their memory. */
int64_t sl_dense_slots_most(sley_dtype dtype, int rows, int64_t entries);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the row windows for Tensor cores, by the model of window_model.h. Plain host code that needs no
 * device. */
#ifndef SLEY_DEVICE_CUDA_SPMM_WINDOW_CHOICE_H
#define SLEY_DEVICE_CUDA_SPMM_WINDOW_CHOICE_H

#include "device/op/op_spmm.h"
#include "device/window_model.h"

static inline int64_t sl_window_count_of(int64_t rows) {
  return (rows + SL_WINDOW_ROWS - 1) / SL_WINDOW_ROWS;
}

/* Number of entries of window w. */
static inline int64_t sl_window_entries(const sl_spmm_matrix *a, int64_t w) {
  int64_t end = (w + 1) * SL_WINDOW_ROWS;
  return a->rowptr[end < a->rows ? end : a->rows] - a->rowptr[w * SL_WINDOW_ROWS];
}

/* Sets chosen[w] for the windows that go to Tensor cores: none, all, or the windows that are faster there,
 * whichever makes the whole product fastest. slots[w]: number of distinct columns of window w; negative: the
 * window must not be chosen. Chunks have about `target` slabs. The model includes the additional launch for
 * two kinds, a sum of fragments for long windows, and one warp's time for its longest chunk. Returns the
 * number of chosen windows. */
int64_t sl_windows_choose(const sl_spmm_problem *problem, const int32_t *slots, int64_t target, bool *chosen);

#endif

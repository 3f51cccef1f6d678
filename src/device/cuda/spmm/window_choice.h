/* SPDX-License-Identifier: Apache-2.0 */
/* Which row windows go to Tensor cores, by the model of window_model.h. Plain host code: it needs no device.
 */
#ifndef SLEY_DEVICE_CUDA_SPMM_WINDOW_CHOICE_H
#define SLEY_DEVICE_CUDA_SPMM_WINDOW_CHOICE_H

#include "device/op/op_spmm.h"
#include "device/window_model.h"

static inline int64_t sl_window_count_of(int64_t rows) {
  return (rows + SL_WINDOW_ROWS - 1) / SL_WINDOW_ROWS;
}

/* Entries of stored rows of window w. */
static inline int64_t sl_window_entries(const sl_spmm_matrix *a, int64_t w) {
  int64_t end = (w + 1) * SL_WINDOW_ROWS;
  return a->rowptr[end < a->rows ? end : a->rows] - a->rowptr[w * SL_WINDOW_ROWS];
}

/* chosen[w]: whether window w goes to Tensor cores: none, all, or those that are faster there, whichever
 * makes the whole product fastest. slots[w]: its distinct columns; negative: it must not go there. Chunks
 * have about `target` slabs. Two kinds take a launch more, long windows a sum of fragments, and a product
 * takes at least as long as one warp for its longest chunk. Returns how many. */
int64_t sl_windows_choose(const sl_spmm_problem *problem, const int32_t *slots, int64_t target, bool *chosen);

#endif

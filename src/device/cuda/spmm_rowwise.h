/* SPDX-License-Identifier: Apache-2.0 */
/* The row-wise product over X in several GPUs' memories: what the host prepares and the kernel runs on. */
#ifndef SLEY_DEVICE_CUDA_SPMM_ROWWISE_H
#define SLEY_DEVICE_CUDA_SPMM_ROWWISE_H

#include "device/cuda/cuda.h"
#include "device/neighbour_search.h"
#include "device/neighbours.h"

/* Arrays in the device's memory. */
typedef struct sl_rowwise_run {
  const sl_neighbour_part *local, *remote;
  const sl_neighbour_row *joined;
  int64_t locals, remotes, joins;
  const int32_t *local_col, *remote_col;
  const uint8_t *remote_owner;
  const void *local_val, *remote_val;
  void *partial;                       /* sums of the slots: slots x k, in the type of sums */
  uintptr_t base[SL_NEIGHBOUR_OWNERS]; /* column c of owner p lies at base[p] + c ldx values */
  int own;
  void *y;
  int64_t k, ldx, ldy; /* elements */
  double alpha, beta;
  bool wide_y; /* Y is of the type of sums */
} sl_rowwise_run;

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueues the product. */
sley_status sl_rowwise_launch(sl_queue *queue, const sl_rowwise_run *run, sley_dtype dtype,
                              const sl_neighbour_shape *shape);

/* Enqueues a copy of `count` values, of value_bytes (2, 4 or 8) each, from val, which lies in the device's
 * memory, to their places in the two halves of the matrix: val[0] is that of entry first, counted from the
 * matrix's first. */
sley_status sl_rowwise_split_values(sl_queue *queue, const sl_neighbour_word *word, const void *val,
                                    int64_t first, int64_t count, int64_t value_bytes, void *local,
                                    void *remote);

#ifdef __cplusplus
}
#endif
#endif

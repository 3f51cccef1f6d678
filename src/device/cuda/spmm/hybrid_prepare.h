/* SPDX-License-Identifier: Apache-2.0 */
/* Preparation for products on both kinds of cores: row windows for Tensor cores, the other rows as streams of
 * entries. */
#ifndef SLEY_DEVICE_CUDA_SPMM_HYBRID_PREPARE_H
#define SLEY_DEVICE_CUDA_SPMM_HYBRID_PREPARE_H

#include "device/cuda/spmm/spmm_windows.h"

typedef struct sl_hybrid {
  /* The whole matrix's arrays, unless it is resident. Kept while `stream` uses them or new values may
   * come. */
  int32_t *col;
  void *val;
  bool owns;
  sl_windows windows; /* no windows: all rows are streamed */
  /* Streamed rows, if there are any. */
  void *stream;
  sl_spmm_matrix rest; /* its host arrays are freed after preparation */
  int32_t *rest_col;   /* columns of the rest; NULL, like rest_val, if the rest is the whole matrix */
  void *rest_val;
  /* For new values: the place of each entry, and the first entries of the rest's rows. */
  uint32_t *place;
  int64_t *rest_from, *rest_rowptr;
} sl_hybrid;

/* Inspects and prepares a matrix that has rows, for k > 0. all: every window goes to Tensor cores; else the
 * model chooses windows. The caller frees *out with sl_hybrid_release, which accepts NULL. */
sley_status sl_hybrid_prepare(sl_queue *queue, const sl_spmm_problem *problem, bool all, sl_hybrid **out);
void sl_hybrid_release(sl_device *device, sl_hybrid *hybrid);

/* Upper bound of the device memory that the product keeps, besides the stream kernel's memory for the matrix.
 * *passing: memory used temporarily. */
int64_t sl_hybrid_memory(const sl_spmm_problem *problem, bool all, int64_t *passing);

#endif

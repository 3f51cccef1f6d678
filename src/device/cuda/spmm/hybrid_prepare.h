/* SPDX-License-Identifier: Apache-2.0 */
/* What is prepared for products on both kinds of cores: row windows for Tensor cores, the other rows as
 * streams of entries. */
#ifndef SLEY_DEVICE_CUDA_SPMM_HYBRID_PREPARE_H
#define SLEY_DEVICE_CUDA_SPMM_HYBRID_PREPARE_H

#include "device/cuda/spmm/spmm_windows.h"

typedef struct sl_hybrid {
  /* Of the whole matrix, unless it is resident; kept while `stream` uses them or new values may come. */
  int32_t *col;
  void *val;
  bool owns;
  sl_windows windows; /* of no windows: all rows are streamed */
  /* Of rows that are streamed, where some are. */
  void *stream;
  sl_spmm_matrix rest; /* after preparation its arrays of the host are gone */
  int32_t *rest_col;   /* NULL where the rest is the whole matrix; likewise the next */
  void *rest_val;
  /* For new values: where each entry went, and where the rest's rows came from. */
  uint32_t *place;
  int64_t *rest_from, *rest_rowptr;
} sl_hybrid;

/* Inspects a matrix with rows, for columns to multiply. all: every window goes to Tensor cores, else those
 * that the model chooses. Ended by sl_hybrid_release, which takes NULL. */
sley_status sl_hybrid_prepare(sl_queue *queue, const sl_spmm_problem *problem, bool all, sl_hybrid **out);
void sl_hybrid_release(sl_device *device, sl_hybrid *hybrid);

/* At most what it keeps of the device's memory, besides what the kernel of streams takes for the matrix;
 * *passing: what it takes while it works. */
int64_t sl_hybrid_memory(const sl_spmm_problem *problem, bool all, int64_t *passing);

#endif

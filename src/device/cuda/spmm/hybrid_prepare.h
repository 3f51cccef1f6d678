/* SPDX-License-Identifier: Apache-2.0 */
/* Preparation for products on both kinds of cores: row windows for Tensor cores, the other rows as streams of
 * entries. */
#ifndef SLEY_DEVICE_CUDA_SPMM_HYBRID_PREPARE_H
#define SLEY_DEVICE_CUDA_SPMM_HYBRID_PREPARE_H

#include "device/cuda/spmm/windows/rest.h"

typedef struct sl_hybrid {
  sl_window_arrays whole; /* kept while `rest` uses them or new values may come */
  sl_windows windows;     /* no windows: all rows are streamed */
  sl_rest rest;           /* the rows that are streamed */
  uint32_t *place;        /* for new values: the place of each entry */
} sl_hybrid;

/* Inspects and prepares a matrix that has rows, for k > 0. all: every window goes to Tensor cores; else the
 * model chooses windows. The caller frees *out with sl_hybrid_release, which accepts NULL. */
sley_status sl_hybrid_prepare(sl_queue *queue, const sl_spmm_problem *problem, bool all, sl_hybrid **out);
void sl_hybrid_release(sl_device *device, sl_hybrid *hybrid);

/* Upper bound of the device memory that the product keeps, besides the stream kernel's memory for the matrix.
 * *passing: memory used temporarily. */
int64_t sl_hybrid_memory(const sl_spmm_problem *problem, bool all, int64_t *passing);

#endif

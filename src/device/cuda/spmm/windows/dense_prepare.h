/* SPDX-License-Identifier: Apache-2.0 */
/* Preparation for products over dense windows; the other rows are left to the kernels of products without
 * them. */
#ifndef SLEY_DEVICE_CUDA_SPMM_WINDOWS_DENSE_PREPARE_H
#define SLEY_DEVICE_CUDA_SPMM_WINDOWS_DENSE_PREPARE_H

#include "device/cuda/spmm/windows/rest.h"

typedef struct sl_dense {
  sl_window_arrays whole; /* kept while `rest` uses them or new values may come */
  sl_windows windows;     /* no windows: all rows are in `rest` */
  sl_rest rest;
  uint32_t *place; /* for new values: the place of each entry */
} sl_dense;

/* Inspects and prepares a matrix that has rows, for k > 0. others: kernels for the other rows, a list that
 * ends with NULL. The caller frees *out with sl_dense_release, which accepts NULL. */
sley_status sl_dense_prepare(sl_queue *queue, const sl_spmm_problem *problem, const sl_kernel *const *others,
                             sl_dense **out);
void sl_dense_release(sl_device *device, sl_dense *dense);

/* Upper bound of the device memory that the product keeps, besides the memory of the kernel for other rows.
 * *passing: memory used temporarily. */
int64_t sl_dense_memory(const sl_spmm_problem *problem, int64_t *passing);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The rows outside the chosen windows of a matrix, or all rows if no window is chosen: gathered to a matrix
 * of their own, which another kernel multiplies. */
#ifndef SLEY_DEVICE_CUDA_SPMM_WINDOWS_REST_H
#define SLEY_DEVICE_CUDA_SPMM_WINDOWS_REST_H

#include "device/cuda/spmm/windows/build.h"

typedef struct sl_rest {
  const sl_kernel *kernel; /* NULL: no rows are left */
  void *prepared;
  sl_spmm_matrix a; /* the rows; without host arrays, unless new values may come */
  int32_t *col;     /* columns; NULL, like val, if the rest is the whole matrix */
  void *val;
  /* In device memory, for new values: the first entry of each row in the whole matrix, and in the rest. */
  int64_t *from, *rowptr;
} sl_rest;

/* Prepares the rows outside the chosen windows of a draft by the cheapest of these kernels, a list that ends
 * with NULL. arrays: the whole matrix. The caller frees *out with sl_rest_release, also after an error. */
sley_status sl_rest_make(sl_queue *queue, const sl_spmm_problem *problem, const sl_window_draft *draft,
                         const sl_window_arrays *arrays, const sl_kernel *const *kernels, sl_rest *out);
void sl_rest_release(sl_device *device, const sl_rest *rest);

/* Enqueues new values of a rest that is not the whole matrix. val: those of the whole matrix, in device
 * memory, from its first entry on. */
sley_status sl_rest_refill(sl_queue *queue, const sl_kernel_args *args, const void *val, sl_rest *rest);

/* Enqueues the product of the rest; args: of the whole product. */
sley_status sl_rest_run(sl_queue *queue, const sl_kernel_args *args, const sl_rest *rest);

/* Bound of the bytes that the rest keeps besides the kernel's memory. */
int64_t sl_rest_bytes(const sl_spmm_problem *problem);

#endif

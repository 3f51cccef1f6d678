/* SPDX-License-Identifier: Apache-2.0 */
/* Small products row by row (spmm_rows.cuh): for which it is, and what is prepared. */
#ifndef SLEY_DEVICE_CUDA_SPMM_SPMM_ROWS_H
#define SLEY_DEVICE_CUDA_SPMM_SPMM_ROWS_H

#include "device/cuda/spmm/spmm_chunks.h"

/* Lanes that share a feature, a power of two up to 16; 0: the product is not for this kernel. It depends on
 * the problem alone. */
int sl_row_ways(const sl_spmm_problem *problem);

/* The list of the problem's stored rows, in the device's memory: out->task, out->tasks. */
sley_status sl_row_tasks_upload(sl_queue *queue, const sl_spmm_problem *problem, sl_stream_matrix *out);

#endif

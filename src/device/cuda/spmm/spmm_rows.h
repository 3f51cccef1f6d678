/* SPDX-License-Identifier: Apache-2.0 */
/* Small products row by row (spmm_rows.cuh): which products qualify, and what is prepared. */
#ifndef SLEY_DEVICE_CUDA_SPMM_SPMM_ROWS_H
#define SLEY_DEVICE_CUDA_SPMM_SPMM_ROWS_H

#include "device/cuda/spmm/spmm_chunks.h"

/* Number of lanes that share a feature, a power of two up to 16; 0: the product does not qualify. Depends on
 * the problem alone. */
int sl_row_ways(const sl_spmm_problem *problem);

/* Uploads the list of the problem's stored rows to device memory: out->task, out->tasks. */
sley_status sl_row_tasks_upload(sl_queue *queue, const sl_spmm_problem *problem, sl_stream_matrix *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM as streams of entries: its launchers, and the preparation of columns. */
#ifndef SLEY_DEVICE_CUDA_SPMM_STREAM_H
#define SLEY_DEVICE_CUDA_SPMM_STREAM_H

#include "device/cuda/spmm/spmm_chunks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueue the product. */
sley_status sl_cuda_stream_f32(sl_queue *queue, const sl_stream_run *run);
sley_status sl_cuda_stream_f64(sl_queue *queue, const sl_stream_run *run);
sley_status sl_cuda_stream_f16(sl_queue *queue, const sl_stream_run *run);
sley_status sl_cuda_stream_bf16(sl_queue *queue, const sl_stream_run *run);

/* Narrows `entries` columns from col to col32. Device memory. */
sley_status sl_cuda_stream_narrow(sl_queue *queue, int64_t entries, const int64_t *col, int32_t *col32);

/* Writes to row the numbers of the first `count` rows that are not among the `empties` ascending rows in
 * empty. Device memory. */
sley_status sl_cuda_stream_number(sl_queue *queue, int64_t count, int64_t empties, const int32_t *empty,
                                  int32_t *row);

/* Marks in col the last entry of each row that has at most `longest` entries. rowptr is in device memory
 * too. */
sley_status sl_cuda_stream_mark(sl_queue *queue, int64_t rows, const int64_t *rowptr, int64_t longest,
                                int32_t *col);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM as streams of entries: what the host prepares and the kernels of spmm_stream.cuh run on. */
#ifndef SLEY_DEVICE_CUDA_SPMM_STREAM_H
#define SLEY_DEVICE_CUDA_SPMM_STREAM_H

#include <cuda_runtime_api.h>

#include "device/chunks.h"

/* A matrix in the device's memory. The sign bit of a column marks the last entry of its row, unless the row
 * is cut into pieces. */
typedef struct sl_stream_matrix {
  const sl_chunk *chunk;
  const int32_t *col;
  const void *val;
  const int32_t *row;   /* of Y, of each row that has entries; one more that is never used */
  const int32_t *empty; /* rows of Y without entries */
  const sl_long_row *long_row;
  void *partial; /* sums of pieces: slots x k, in the type of the accumulators */
  int64_t chunks, empties, longs;
} sl_stream_matrix;

typedef struct sl_stream_run {
  sl_stream_matrix a;
  const void *x;
  void *y;
  int64_t ldx, ldy, k; /* elements */
  double alpha, beta;
} sl_stream_run;

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueues the product; *launches is raised by the number of kernels. */
cudaError_t sl_stream_f32(const sl_stream_run *run, cudaStream_t stream, int64_t *launches);
cudaError_t sl_stream_f64(const sl_stream_run *run, cudaStream_t stream, int64_t *launches);

/* Marks the last entry of each row of at most `longest` entries, and narrows 64-bit columns: col32 gets the
 * `entries` columns of col (int32_t, which may be col32 itself, or int64_t if wide). All in device memory. */
cudaError_t sl_stream_mark(int64_t rows, const int64_t *rowptr, int64_t entries, const void *col, int wide,
                           int64_t longest, int32_t *col32, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif

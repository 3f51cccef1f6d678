/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM as streams of entries: what the host prepares and the kernels of spmm_stream.cuh run on. */
#ifndef SLEY_DEVICE_CUDA_SPMM_STREAM_H
#define SLEY_DEVICE_CUDA_SPMM_STREAM_H

#include "device/chunks.h"
#include "device/cuda/cuda.h"

/* A matrix in the device's memory. The sign bit of a column marks the last entry of its row, unless the row
 * is cut into fragments. */
typedef struct sl_stream_matrix {
  const sl_chunk *chunk;
  const int32_t *col;
  const void *val;
  const int32_t *row;   /* of Y, of each row that has entries; two more that are never used */
  const int32_t *empty; /* rows of Y without entries */
  const sl_long_row *long_row;
  void *partial;      /* sums of fragments: slots x k, in the type of the accumulators */
  unsigned *finished; /* fragments of each long row that are summed; 0 between runs */
  int64_t chunks, empties, longs;
  int64_t row_entries; /* of a row that has some, on average */
  bool borrows;        /* col and val are the matrix's own, which lay on the device */
} sl_stream_matrix;

typedef struct sl_stream_run {
  sl_stream_matrix a;
  /* Columns below x_rows name rows of x, those from there on rows of far, if that has any. */
  const void *x, *far;
  int64_t x_rows, far_rows;
  void *y;
  int64_t ldx, ldfar, ldy, k; /* elements */
  double alpha, beta;
  const sl_piece_words *arrivals; /* chunks wait for their piece; NULL: all rows of far are there */
  bool during_pull;
  bool wide_y; /* Y holds sums, in f32, where values have 16 bits */
} sl_stream_run;

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueue the product. */
sley_status sl_cuda_stream_f32(sl_queue *queue, const sl_stream_run *run);
sley_status sl_cuda_stream_f64(sl_queue *queue, const sl_stream_run *run);
sley_status sl_cuda_stream_f16(sl_queue *queue, const sl_stream_run *run);
sley_status sl_cuda_stream_bf16(sl_queue *queue, const sl_stream_run *run);

/* Device memory: col32 gets the `entries` columns of col, narrowed. */
sley_status sl_cuda_stream_narrow(sl_queue *queue, int64_t entries, const int64_t *col, int32_t *col32);

/* row gets the numbers of the first count rows that are not among the `empties` ascending ones of empty.
 * Device memory. */
sley_status sl_cuda_stream_number(sl_queue *queue, int64_t count, int64_t empties, const int32_t *empty,
                                  int32_t *row);

/* Marks in col the last entry of each row of at most `longest` entries. rowptr lies in device memory too. */
sley_status sl_cuda_stream_mark(sl_queue *queue, int64_t rows, const int64_t *rowptr, int64_t longest,
                                int32_t *col);

#ifdef __cplusplus
}
#endif
#endif

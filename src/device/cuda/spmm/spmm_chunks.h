/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix as chunks of entries in the device's memory, and a product with it: what the host prepares and the
 * kernels of stream.cuh and narrow_rows.cuh run on. */
#ifndef SLEY_DEVICE_CUDA_SPMM_SPMM_CHUNKS_H
#define SLEY_DEVICE_CUDA_SPMM_SPMM_CHUNKS_H

#include "device/chunks.h"
#include "device/cuda/cuda.h"

/* Products of at most so many columns are narrow: kernels of their own run them (narrow_rows.cuh). */
enum { SL_NARROW_MOST = 8 };

/* A stored row of a product that is summed row by row (spmm_rows.cuh); 16 bytes, so that one load gets it. */
typedef struct sl_row_task {
  uint32_t begin, count; /* its entries, counted from the matrix's first */
  int32_t row;           /* of Y */
  int32_t unused;
} sl_row_task;

/* A matrix in the device's memory. The sign bit of a column marks the last entry of its row, unless the row
 * is cut into fragments. */
typedef struct sl_stream_matrix {
  const sl_chunk *chunk;
  const int32_t *col;
  const void *val;
  const int32_t *row;   /* of Y, of each row that has entries; two more that are never used */
  const int32_t *empty; /* rows of Y without entries */
  const sl_long_row *long_row;
  void *partial; /* sums of fragments: slots x k, in the type of the accumulators */
  unsigned *finished;    /* counters of fragments (chunks.h) for each panel of columns */
  int64_t counters;      /* of a panel */
  int64_t entries, chunks, empties, longs;
  int64_t row_entries; /* of a row that has some, on average */
  int ways; /* entry i of a chunk is summed with the others of the same i modulo ways; these sums are added */
  const sl_row_task *task; /* NULL, or of each stored row, and no chunks; columns are then not marked */
  int64_t tasks;
  bool every_row; /* row[i] is i */
  bool in_order;  /* rows are summed in stored order */
  bool borrows;   /* col and val are the matrix's own, which lay on the device */
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
  bool by_chunk; /* all panels of a chunk at once, instead of all chunks of a panel */
  bool wide_y;   /* Y holds sums, in f32, where values have 16 bits */
} sl_stream_run;

#endif

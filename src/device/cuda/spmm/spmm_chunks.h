/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix as chunks of entries in device memory, and a product with it: what the host prepares, and what the
 * kernels of stream.cuh and narrow_rows.cuh read. */
#ifndef SLEY_DEVICE_CUDA_SPMM_SPMM_CHUNKS_H
#define SLEY_DEVICE_CUDA_SPMM_SPMM_CHUNKS_H

#include "device/chunks.h"
#include "device/cuda/cuda.h"

/* Products with at most this many columns are narrow and have their own kernels (narrow_rows.cuh). */
enum { SL_NARROW_MOST = 8 };

/* A stored row of a product that is summed row by row (spmm_rows.cuh); 16 bytes, loaded at once. */
typedef struct sl_row_task {
  uint32_t begin, count; /* entries, relative to the matrix's first */
  int32_t row;           /* row of Y */
  int32_t unused;
} sl_row_task;

/* A matrix in device memory. The sign bit of a column marks the last entry of its row, unless the row is cut
 * into fragments. */
typedef struct sl_stream_matrix {
  const sl_chunk *chunk;
  const int32_t *col;
  const void *val;
  const int32_t *row;   /* row of Y for each row that has entries; two more elements that are never used */
  const int32_t *empty; /* rows of Y without entries */
  const sl_long_row *long_row;
  void *partial;      /* sums of fragments: slots x k, in the type of accumulators */
  unsigned *finished; /* counters of fragments (chunks.h) for each panel of columns */
  int64_t counters;   /* counters per panel */
  int64_t entries, chunks, empties, longs;
  int64_t row_entries; /* average number of entries of the rows that have entries */
  int ways; /* entries of a chunk with the same index modulo ways are summed together; then these sums are
             * added */
  const sl_row_task *task; /* NULL, or a task for each stored row and no chunks; columns are then not
                            * marked */
  int64_t tasks;
  bool every_row; /* every row has entries: row[i] is i */
  bool in_order;  /* sum rows in stored order */
  bool borrows;   /* col and val are the arrays of a resident matrix */
} sl_stream_matrix;

typedef struct sl_stream_run {
  sl_stream_matrix a;
  /* Columns below x_rows are rows of x, the others rows of far, if far has any. */
  const void *x, *far;
  int64_t x_rows, far_rows;
  void *y;
  int64_t ldx, ldfar, ldy, k; /* in elements */
  double alpha, beta;
  const sl_piece_words *arrivals; /* signals for which chunks wait; NULL: all rows of far have arrived */
  bool during_pull;
  bool padded;   /* rows of x and far may be read up to the next row */
  bool by_chunk; /* process all panels of a chunk together, instead of all chunks of a panel */
  bool wide_y;   /* true: Y has f32 values although A has 16-bit values */
} sl_stream_run;

#endif

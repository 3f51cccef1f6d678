/* SPDX-License-Identifier: Apache-2.0 */
/* Updates on Tensor cores: what the host prepares and the kernels read. */
#ifndef SLEY_DEVICE_CUDA_SPMM_UPDATE_ROWS_H
#define SLEY_DEVICE_CUDA_SPMM_UPDATE_ROWS_H

#include "device/cuda/cuda.h"
#include "device/row_tiles.h"

/* SL_UPDATE_TILE: most rows of T of a tile, two operations of the Tensor cores. SL_UPDATE_MOST_K,
 * SL_UPDATE_MOST_GIVEN_K: maximum number of columns of T if its rows are summed, and if the caller provides
 * them. */
enum { SL_UPDATE_TILE = 16, SL_UPDATE_MOST_K = 256, SL_UPDATE_MOST_GIVEN_K = 1024 };

/* Bounds of the errors of Z's sums relative to the documented order (update_rows.cuh), in the units of the
 * bounds in spmm_windows.h. */
enum { SL_UPDATE_ROUNDINGS = 4, SL_UPDATE_MORE_ROUNDINGS = 16 };

/* W and Z, and the parameters of the update. */
typedef struct sl_update_dense {
  const void *w;
  void *z;
  int64_t k, n, ldw, ldz; /* in elements */
  double beta;
} sl_update_dense;

/* A matrix in device memory, for updates that sum the rows of T themselves. */
typedef struct sl_update_matrix {
  const int32_t *col; /* columns; their sign bits may be set */
  const void *val;
  const int64_t *rowptr, *rowid; /* rowptr[0] = 0; rowid = NULL: stored row i is row i of Z */
  const sl_chunk *chunk;         /* chunks of rows (row_tiles.h) */
  const sl_long_row *long_row;
  void *partial;      /* sums of fragments: fragments x k, f32 */
  unsigned *finished; /* counters of fragments (chunks.h) */
  unsigned *next;     /* number of chunks taken, and of blocks that have ended; both 0 between runs */
  int64_t entries, chunks, longs, counters;
  int tile_rows;
  bool borrows; /* col and val are the arrays of a resident matrix */
} sl_update_matrix;

typedef struct sl_update_sums {
  sl_update_matrix a;
  sl_update_dense dense;
  /* Columns below x_rows are rows of x, the others rows of far, if far has any. */
  const void *x, *far;
  int64_t x_rows, far_rows, ldx, ldfar;
  double alpha;
  const sl_piece_words *arrivals; /* signals for which chunks wait; NULL: all rows of far have arrived */
} sl_update_sums;

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueue Z = (alpha A X) W + beta Z. */
sley_status sl_cuda_update_sums_f32(sl_queue *queue, const sl_update_sums *run);
sley_status sl_cuda_update_sums_f16(sl_queue *queue, const sl_update_sums *run);
sley_status sl_cuda_update_sums_bf16(sl_queue *queue, const sl_update_sums *run);

/* Enqueues Z = T W + beta Z for 0 < k <= SL_UPDATE_MOST_GIVEN_K, rows and n above 0, in f32, f16 or bf16. */
sley_status sl_cuda_launch_update_tensor(sl_queue *queue, const sl_update_args *args);

/* Enqueues Z = T W + beta Z by a plain kernel, in the documented order, for every type and shape; rows and n
 * above 0. */
sley_status sl_cuda_launch_update_plain(sl_queue *queue, const sl_update_args *args);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of the tiles of matrices: entries, rows that have any, and products of two tiles. */
#ifndef SLEY_ROOFLINE_ROOFLINE_TILES_H
#define SLEY_ROOFLINE_ROOFLINE_TILES_H

#include "matrix/matrix.h"
#include "tile/tiling.h"

/* Division of A (rows x inner), B (inner x cols) and C (rows x cols) into tiles, whose sizes differ by at
 * most one: A has down x between tiles, B between x across, C down x across. */
typedef struct sl_tile_cut {
  int64_t rows, inner, cols;
  int64_t down, between, across;
  int grid_rows, grid_cols; /* tile (i, j) belongs to rank (i mod grid_rows) grid_cols + j mod grid_cols */
} sl_tile_cut;

/* Maximum number of products of two tiles. */
#define SL_ROOFLINE_TASKS_MOST (INT64_C(1) << 24)

/* Length of share i (tile/tiling.h). */
static inline int64_t sl_share_length(int64_t total, int64_t shares, int64_t i) {
  return sl_share_begin(total, shares, i + 1) - sl_share_begin(total, shares, i);
}

static inline int sl_tile_rank(const sl_tile_cut *cut, int64_t i, int64_t j) {
  return (int)(i % cut->grid_rows) * cut->grid_cols + (int)(j % cut->grid_cols);
}

/* Sizes of the tiles of a sparse matrix, row by row. */
typedef struct sl_tile_sizes {
  int64_t down, across;
  int64_t *entries, *filled; /* filled: number of rows that have entries */
} sl_tile_sizes;

/* Counts the sizes. The caller calls sl_tile_sizes_end, also after an error. Errors: SLEY_ERR_MEMORY,
   SLEY_ERR_INTERRUPTED. */
sley_status sl_tile_sizes_count(const sley_matrix *matrix, int64_t down, int64_t across, sl_tile_sizes *out);
void sl_tile_sizes_end(sl_tile_sizes *sizes);

/* Counts the products of two numbers, a[i][k] b[k][j], in each product of two tiles: for A's tile (i, l) and
 * B's (l, j) in (*out)[(i between + l) across + j]. The caller frees *out with sl_free; it is NULL after an
 * error. Errors: as above. */
sley_status sl_tile_products_count(const sley_matrix *a, const sley_matrix *b, const sl_tile_cut *cut,
                                   int64_t **out);

/* Bytes of a sparse tile as it is stored and sent: CSR with 64-bit row pointers of all rows, or if fewer than
 * half of them have entries, only of those, with their numbers. 0 without entries. A multiple of 64. */
double sl_sparse_tile_bytes(int64_t rows, int64_t filled, int64_t entries, double entry_bytes);

/* Number of rows that the tile stores. */
static inline int64_t sl_tile_stored(int64_t rows, int64_t filled) {
  return filled < rows - filled ? filled : rows;
}

/* Bytes rounded up to a multiple of 64. */
double sl_tile_padded(double bytes);

#endif

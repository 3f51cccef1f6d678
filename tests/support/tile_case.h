/* SPDX-License-Identifier: Apache-2.0 */
/* Random matrices in tiles whose values are small whole numbers, so that sums are exact in every type and
 * results must be equal. */
#ifndef SLEY_TESTS_TILE_CASE_H
#define SLEY_TESTS_TILE_CASE_H

#include "base/value.h"
#include "matrix/matrix.h"
#include "ranks.h"
#include "sley_tile.h"
#include "tile/tiling.h"

enum { TILE_MOST_RANKS = 8 };

/* A is m x n, X n x k, Y m x k. */
typedef struct tile_case {
  uint64_t seed;
  int ranks;
  int64_t m, n, k;
  sley_dtype dtype;
  sl_tiling a, x, y;             /* tilings on one grid, with matching tiles */
  bool whole;                    /* every rank has all of A */
  double *dense;                 /* A, with repeated entries added */
  sley_matrix *matrix, *renewed; /* A, and A with other values */
  int64_t row_begin[TILE_MOST_RANKS + 1],
      col_begin[TILE_MOST_RANKS + 1]; /* first row of each rank in A and Y, and in X */
} tile_case;

/* A case with random sizes (also 0), entries, tiles and grid, and with empty rows, tiles and ranks. Freed by
 * tile_case_free. */
tile_case tile_case_draw(uint64_t seed, int ranks);
void tile_case_free(tile_case *c);

/* A tiling in the form of the public header. */
static inline sley_tiling tile_public(const sl_tiling *t) {
  return (sley_tiling){t->grid_rows, t->grid_cols, t->down, t->across};
}

/* Value (row, col) of an operand. */
double tile_value(uint64_t seed, int64_t row, int64_t col);

/* Rows [first, last) of an operand with `cols` columns, plus `pad` columns of NaN. Freed by free. */
void *tile_rows(uint64_t seed, sley_dtype dtype, int64_t first, int64_t last, int64_t cols, int64_t pad);

/* This rank's rows of a matrix of the case, or the whole matrix if c->whole. Freed by sl_matrix_destroy. */
sley_status tile_block(const tile_case *c, const sley_matrix *matrix, int rank, sley_matrix **out);

#endif

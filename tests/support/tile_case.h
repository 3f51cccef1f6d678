/* SPDX-License-Identifier: Apache-2.0 */
/* Random matrices in tiles whose values are small whole numbers, so that sums are exact in every type and
 * what is compared is equal or wrong. */
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
  sl_tiling a, x, y;             /* of one grid, and tiles that match */
  bool whole;                    /* every rank has all of A */
  double *dense;                 /* A, with repeated entries added */
  sley_matrix *matrix, *renewed; /* A, and A with other values */
  int64_t row_begin[TILE_MOST_RANKS + 1],
      col_begin[TILE_MOST_RANKS + 1]; /* who has which rows of A and Y, and of X */
} tile_case;

/* Sizes, also 0, entries, tiles and grids; empty rows, tiles and ranks. Freed by the second. */
tile_case tile_case_draw(uint64_t seed, int ranks);
void tile_case_free(tile_case *c);

/* A tiling as the public header has it. */
static inline sley_tiling tile_public(const sl_tiling *t) {
  return (sley_tiling){t->grid_rows, t->grid_cols, t->down, t->across};
}

/* Value (row, col) of an operand. */
double tile_value(uint64_t seed, int64_t row, int64_t col);

/* Rows [first, last) of an operand of so many columns, and `pad` columns of NaN; freed by free. */
void *tile_rows(uint64_t seed, sley_dtype dtype, int64_t first, int64_t last, int64_t cols, int64_t pad);

/* This rank's rows of a matrix of the case, or the whole of it; freed by sl_matrix_destroy. */
sley_status tile_block(const tile_case *c, const sley_matrix *matrix, int rank, sley_matrix **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* How a matrix is divided into tiles, and who owns them. */
#ifndef SLEY_TILE_TILING_H
#define SLEY_TILE_TILING_H

#include "base/status.h"

/* The matrix has down x across tiles. Their sizes differ by at most one row and one column; tiles beyond the
 * matrix's rows or columns are empty. Tile (i, j) belongs to the rank at (i mod grid_rows, j mod grid_cols)
 * of a grid whose ranks are numbered row by row: block-cyclic, as in ScaLAPACK. */
typedef struct sl_tiling {
  int64_t rows, cols; /* of the matrix */
  int64_t down, across;
  int grid_rows, grid_cols;
} sl_tiling;

/* Most tiles of a matrix, because every rank has a directory of all tiles. */
#define SL_TILES_MOST (INT64_C(1) << 24)

/* Checks the numbers for a comm of `size` ranks. Errors: SLEY_ERR_ARG, with a message that begins with
 * what. */
sley_status sl_tiling_check(const sl_tiling *t, int size, const char *what);

/* The shape of a grid of `size` ranks that is nearest to a square, rows >= columns. */
void sl_tiling_grid(int size, int *rows, int *cols);

/* Start of share i, if 0 .. total - 1 is divided into `shares` nearly equal shares; for i = shares: total. */
int64_t sl_share_begin(int64_t total, int64_t shares, int64_t i);

static inline int64_t sl_tile_row(const sl_tiling *t, int64_t i) {
  return sl_share_begin(t->rows, t->down, i);
}
static inline int64_t sl_tile_col(const sl_tiling *t, int64_t j) {
  return sl_share_begin(t->cols, t->across, j);
}
static inline int64_t sl_tile_height(const sl_tiling *t, int64_t i) {
  return sl_tile_row(t, i + 1) - sl_tile_row(t, i);
}
static inline int64_t sl_tile_width(const sl_tiling *t, int64_t j) {
  return sl_tile_col(t, j + 1) - sl_tile_col(t, j);
}
static inline int64_t sl_tiles(const sl_tiling *t) {
  return t->down * t->across;
}
static inline int64_t sl_tile_number(const sl_tiling *t, int64_t i, int64_t j) {
  return i * t->across + j;
}
static inline int sl_tile_owner(const sl_tiling *t, int64_t i, int64_t j) {
  return (int)(i % t->grid_rows) * t->grid_cols + (int)(j % t->grid_cols);
}

/* Visits the tiles of one rank, row by row: for (sl_own_tile at = sl_own_first(t, rank); sl_own_is(t, &at);
 * sl_own_next(t, &at)). local numbers them from 0. */
typedef struct sl_own_tile {
  int64_t i, j, local;
  int64_t first_col;
} sl_own_tile;

static inline sl_own_tile sl_own_first(const sl_tiling *t, int rank) {
  const int64_t i = rank / t->grid_cols, j = rank % t->grid_cols;
  /* the rank has no tiles if its column of the grid has none */
  return (sl_own_tile){.i = j < t->across ? i : t->down, .j = j, .local = 0, .first_col = j};
}
static inline bool sl_own_is(const sl_tiling *t, const sl_own_tile *at) {
  return at->i < t->down;
}
static inline void sl_own_next(const sl_tiling *t, sl_own_tile *at) {
  at->local++;
  at->j += t->grid_cols;
  if (at->j >= t->across) {
    at->j = at->first_col;
    at->i += t->grid_rows;
  }
}

/* Number of tiles of a rank; sl_own_local returns the number, as in sl_own_tile, of tile (i, j). */
int64_t sl_own_count(const sl_tiling *t, int rank);
int64_t sl_own_local(const sl_tiling *t, int64_t i, int64_t j);

/* Returns whether two tilings have the same grid and the same shape. */
bool sl_tiling_same(const sl_tiling *a, const sl_tiling *b);

#endif

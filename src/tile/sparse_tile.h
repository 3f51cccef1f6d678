/* SPDX-License-Identifier: Apache-2.0 */
/* A tile in one piece of memory: how a sparse one is laid out there, written and checked.
 *
 * A sparse tile is CSR with columns counted from the tile's first. Where fewer than half of its rows have
 * entries, only those are stored, with their numbers. */
#ifndef SLEY_TILE_SPARSE_TILE_H
#define SLEY_TILE_SPARSE_TILE_H

#include "matrix/matrix.h"

/* A tile to read. Of a sparse tile stored row s is row rowid[s] of the tile, or s where rowid is NULL. */
typedef struct sl_tile {
  int64_t rows, cols;
  int64_t stored, entries;
  const int64_t *rowid, *rowptr;
  const void *col, *val; /* of a dense tile: val alone, rows x cols values */
} sl_tile;

/* What a sparse tile holds, and as what. */
typedef struct sl_tile_shape {
  int64_t rows, cols;
  int64_t stored, entries; /* without entries nothing is stored */
  sley_index index;
  sley_dtype dtype;
} sl_tile_shape;

/* How many rows are stored of a tile of which so many have entries. */
static inline int64_t sl_tile_stored_rows(int64_t rows, int64_t filled) {
  return filled < rows - filled ? filled : rows;
}

/* Bytes of a sparse tile, a multiple of 64; false: they are too many for 64 bits. */
bool sl_tile_shape_bytes(const sl_tile_shape *shape, int64_t *bytes);

/* Where the values of a sparse tile begin, in bytes from its own begin. */
int64_t sl_sparse_tile_values(const sl_tile_shape *shape);

/* The arrays of a sparse tile that lies at `at`, which is aligned to 8 bytes and is not read. */
sl_tile sl_sparse_tile_view(const sl_tile_shape *shape, const char *at);

/* Writes the row pointers and row numbers of a sparse tile, which come first in it, from the row pointers
 * `from` of all its rows. */
void sl_sparse_tile_write_rows(const sl_tile_shape *shape, const int64_t *from, int64_t *words);

/* Zeros what a sparse tile at `at` has behind its arrays: it may travel. */
void sl_sparse_tile_pad(const sl_tile_shape *shape, char *at);

/* Row pointers of all rows of a tile (rows + 1), from those of its stored rows. */
void sl_sparse_tile_rowptr(const sl_tile *tile, int64_t *rowptr);

/* A copy as CSR of all its rows. Errors: SLEY_ERR_MEMORY; then nothing is left allocated. */
sley_status sl_sparse_tile_copy(const sl_tile *tile, sley_index index, sley_dtype dtype, sl_csr_arrays *out);

/* Whether the arrays of a sparse tile are CSR within the tile: row pointers, row numbers and columns. */
bool sl_sparse_tile_is_csr(const sl_tile *tile, sley_index index);

#endif

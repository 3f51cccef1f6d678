/* SPDX-License-Identifier: Apache-2.0 */
/* A tile in one block of memory: the layout of a sparse tile, and functions that write and check it.
 *
 * A sparse tile is CSR with columns relative to the tile's first. If fewer than half of its rows have
 * entries, only those rows are stored, with their numbers. */
#ifndef SLEY_TILE_SPARSE_TILE_H
#define SLEY_TILE_SPARSE_TILE_H

#include "matrix/matrix.h"

/* A tile to read. In a sparse tile stored row s is row rowid[s] of the tile, or s if rowid is NULL. */
typedef struct sl_tile {
  int64_t rows, cols;
  int64_t stored, entries;
  const int64_t *rowid, *rowptr;
  const void *col, *val; /* arrays of a sparse tile; a dense tile has only val, with rows x cols values */
} sl_tile;

/* Size and types of a sparse tile. */
typedef struct sl_tile_shape {
  int64_t rows, cols;
  int64_t stored, entries; /* stored rows and entries; a tile without entries stores nothing */
  sley_index index;
  sley_dtype dtype;
} sl_tile_shape;

/* Number of rows stored in a tile of which `filled` rows have entries. */
static inline int64_t sl_tile_stored_rows(int64_t rows, int64_t filled) {
  return filled < rows - filled ? filled : rows;
}

/* Bytes of a sparse tile, a multiple of 64; returns false if 64 bits do not suffice. */
bool sl_tile_shape_bytes(const sl_tile_shape *shape, int64_t *bytes);

/* Offset in bytes of the values in a sparse tile. */
int64_t sl_sparse_tile_values(const sl_tile_shape *shape);

/* The arrays of a sparse tile at address `at`, which is aligned to 8 bytes. Does not read the tile. */
sl_tile sl_sparse_tile_view(const sl_tile_shape *shape, const char *at);

/* Writes the row pointers and row numbers of a sparse tile, with which it begins, from the row pointers
 * `from` of all its rows. */
void sl_sparse_tile_write_rows(const sl_tile_shape *shape, const int64_t *from, int64_t *words);

/* Zeroes the padding after the arrays of a sparse tile at `at`, because it may be sent. */
void sl_sparse_tile_pad(const sl_tile_shape *shape, char *at);

/* Computes the row pointers (rows + 1) of all rows of a tile from the row pointers of its stored rows. */
void sl_sparse_tile_rowptr(const sl_tile *tile, int64_t *rowptr);

/* Copies a tile to CSR with all its rows. Errors: SLEY_ERR_MEMORY; then all memory is freed. */
sley_status sl_sparse_tile_copy(const sl_tile *tile, sley_index index, sley_dtype dtype, sl_csr_arrays *out);

/* Returns whether the arrays of a sparse tile are valid CSR within the tile: row pointers, row numbers and
 * columns. */
bool sl_sparse_tile_is_csr(const sl_tile *tile, sley_index index);

#endif

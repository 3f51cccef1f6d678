/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix in tiles, dense or sparse, in the symmetric memory of their owners, on the host or on devices; and
 * the directory by which every rank reads every tile without a call of its owner.
 *
 * A dense tile consists of its rows, contiguous; sparse_tile.h describes a sparse one. Both are a single
 * block, so that one get fetches a tile (the paper's three arrays took three).
 *
 * Source: Brock, Buluc and Yelick, RDMA-Based Algorithms for Sparse Matrix Multiplication on GPUs, ICS 2024,
 * sections 3.1 and 5.2. */
#ifndef SLEY_TILE_TILED_H
#define SLEY_TILE_TILED_H

#include "sley_tile.h"
#include "tile/sparse_tile.h"
#include "tile/tiling.h"
#include "transport/transport.h"

/* A global pointer: the place of a tile, and its size. */
typedef struct sl_tile_pointer {
  int rank;
  int64_t offset, bytes; /* offset of the tile in its owner's block, and its bytes; bytes = 0: nothing is
                            stored */
  int64_t stored;        /* number of stored rows of a sparse tile; if all rows are stored, the tile has no
                            row numbers */
  int64_t entries;       /* entries of a sparse tile */
} sl_tile_pointer;

typedef struct sley_tiled sl_tiled;
struct sley_tiled {
  sl_comm *comm;
  sl_tiling tiling;
  bool sparse;
  sley_dtype dtype;
  sley_index index; /* type of a sparse matrix's columns within tiles */
  sl_symm *symm;
  char **blocks;             /* address of each rank's block; NULL: this rank's device cannot load that
                              * memory */
  int64_t own_bytes;         /* bytes of this rank's block */
  sl_tile_pointer *pointers; /* one per tile, row by row */
  uint64_t pattern;          /* for a sparse matrix: a hash of the rows and columns that this rank has
                              * passed; 0 after tiles were replaced */
  int64_t version;           /* number of times that tiles were replaced */
};

/* Source of the rows of A: this rank's rows, with columns of the whole matrix and row_begin (size + 1) for
 * the rows of all ranks; or, with row_begin NULL, the whole matrix on every rank. */
typedef struct sl_tile_source {
  const sley_matrix *matrix;
  const int64_t *row_begin;
} sl_tile_source;

/* Creates a matrix of zeros. All ranks pass the same tiling, which has been checked. Errors:
 * SLEY_ERR_UNSUPPORTED (the comm has no one-sided memory that works while its owner computes),
 * SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. Collective, agreed. */
sley_status sl_tiled_create_dense(sl_comm *comm, const sl_tiling *tiling, sley_dtype dtype, sl_tiled **out);

/* Creates a matrix from a copy of a sparse matrix, whose rows and columns are the tiling's, and whose dtype
 * is the same on all ranks. Errors: also SLEY_ERR_PEER (a rank has sent invalid data). Collective, agreed. */
sley_status sl_tiled_create_sparse(sl_comm *comm, const sl_tiling *tiling, const sl_tile_source *source,
                                   sl_tiled **out);

/* Replaces the matrix's values by those of source, which must have the rows and columns that the matrix was
 * created from. Nobody may read the tiles meanwhile. Errors: SLEY_ERR_ARG (other rows or columns),
 * SLEY_ERR_MEMORY. Collective, agreed. */
sley_status sl_tiled_renew(sl_tiled *tiled, const sl_tile_source *source);

/* New tiles of this rank: tile (i[n], j[n]) becomes tiles[n], which has its size and dtype. */
typedef struct sl_tile_replacement {
  int64_t count;
  const int64_t *i, *j;
  const sley_matrix *const *tiles;
} sl_tile_replacement;

/* Replaces tiles of a sparse matrix, which keeps its handle. Nobody may use the matrix meanwhile. Errors:
 * SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW; then nothing has changed. Collective, agreed. */
sley_status sl_tiled_replace(sl_tiled *tiled, const sl_tile_replacement *replacement);

/* Copy rows row_begin[rank] to row_begin[rank + 1] - 1 of a dense matrix from host memory, and to host
 * memory; ld in elements. They use puts and gets. Both wait for all ranks at the end, and get also at the
 * start, so that nobody reads what is being written. Collective. */
sley_status sl_tiled_set_rows(sl_tiled *tiled, const int64_t *row_begin, const void *data, int64_t ld);
sley_status sl_tiled_get_rows(const sl_tiled *tiled, const int64_t *row_begin, void *data, int64_t ld);

/* The same as sley_tiled_get_matrix. Collective, agreed. */
sley_status sl_tiled_get_matrix(const sl_tiled *tiled, const int64_t *row_begin, sley_matrix **out);

/* The same as sley_tiled_info_get. */
void sl_tiled_describe(const sl_tiled *tiled, sley_tiled_info *out);

/* Frees the matrix. Accepts NULL. Ranks do not wait for each other. Collective. */
void sl_tiled_destroy(sl_tiled *tiled);

static inline const sl_tile_pointer *sl_tile_at(const sl_tiled *tiled, int64_t i, int64_t j) {
  return &tiled->pointers[sl_tile_number(&tiled->tiling, i, j)];
}

/* Returns the address at which the host can load and store the tiles of a rank; NULL: the host must use get
   and put. */
static inline char *sl_tiled_block(const sl_tiled *tiled, int rank) {
  return tiled->comm->device->ops->host_addresses ? tiled->blocks[rank] : NULL;
}

/* ---- for the files of this folder */

/* Creates a matrix whose directory has only the owner of each tile. Errors: SLEY_ERR_UNSUPPORTED,
 * SLEY_ERR_MEMORY. Collective, agreed. */
sley_status sl_tiled_begin(sl_comm *comm, const sl_tiling *tiling, sley_dtype dtype, bool sparse,
                           sl_tiled **out);

/* Shares the sizes of all tiles of a sparse matrix among all ranks. tally: for each of this rank's tiles the
 * number of rows with entries, and of entries; status: this rank's status so far. Errors: SLEY_ERR_MEMORY,
 * SLEY_ERR_PEER (invalid sizes). Collective, agreed. */
sley_status sl_tiled_share_sizes(sl_tiled *tiled, sley_status status, const int64_t *tally);

/* Lays out the tiles by the numbers of stored rows and entries in the directory, and allocates the memory,
 * zeroed. Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. Collective, agreed. */
sley_status sl_tiled_lay_out(sl_tiled *tiled);

/* Size and types of tile (i, j) of a sparse matrix. */
sl_tile_shape sl_tile_shape_of(const sl_tiled *tiled, int64_t i, int64_t j);

/* The arrays of tile (i, j) at address `at`, which is not read. */
sl_tile sl_tile_view(const sl_tiled *tiled, int64_t i, int64_t j, const char *at);

/* Address of one of this rank's tiles, for its device. */
char *sl_tile_own(const sl_tiled *tiled, int64_t i, int64_t j);

/* own_open returns memory in which the host can change this rank's block: the block itself, or a copy of it,
 * which starts as zeros unless `filled`. own_close writes the copy to the block, unless status is an error,
 * and frees it; it returns status, or its own error. own_drop frees a copy that was only read, as others may
 * read the block; accepts NULL. Errors: SLEY_ERR_MEMORY, the device's. Not collective. */
sley_status sl_tiled_own_open(const sl_tiled *tiled, bool filled, char **out);
sley_status sl_tiled_own_close(const sl_tiled *tiled, char *own, sley_status status);
void sl_tiled_own_drop(const sl_tiled *tiled, char *own);

/* Offset in bytes of the values in tile (i, j). */
int64_t sl_tile_values_offset(const sl_tiled *tiled, int64_t i, int64_t j);

#endif

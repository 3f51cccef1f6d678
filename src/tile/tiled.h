/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix in tiles, dense or sparse, in the symmetric memory of its owners, of the host or of their devices,
 * and the directory by which every rank reads every tile without a call of its owner.
 *
 * A dense tile is its rows, one after the other; for a sparse one see sparse_tile.h. Both lie in one piece,
 * so that one get brings a tile (the paper's three arrays took three).
 *
 * Source: Brock, Buluc and Yelick, RDMA-Based Algorithms for Sparse Matrix Multiplication on GPUs, ICS 2024,
 * sections 3.1 and 5.2. */
#ifndef SLEY_TILE_TILED_H
#define SLEY_TILE_TILED_H

#include "sley_tile.h"
#include "tile/sparse_tile.h"
#include "tile/tiling.h"
#include "transport/transport.h"

/* A global pointer: where a tile lies, and what is there. */
typedef struct sl_tile_pointer {
  int rank;
  int64_t offset, bytes; /* in that rank's block; bytes 0: nothing is stored */
  int64_t stored;        /* rows of a sparse tile that are stored; as many as the tile has: without numbers */
  int64_t entries;       /* of a sparse tile */
} sl_tile_pointer;

typedef struct sley_tiled sl_tiled;
struct sley_tiled {
  sl_comm *comm;
  sl_tiling tiling;
  bool sparse;
  sley_dtype dtype;
  sley_index index; /* of a sparse matrix's columns within tiles */
  sl_symm *symm;
  char **blocks;             /* of all ranks; NULL: this rank's device cannot load that one's memory */
  int64_t own_bytes;         /* of this rank's block */
  sl_tile_pointer *pointers; /* of all tiles, row by row */
  uint64_t pattern;          /* of a sparse matrix: a hash of the rows and columns that this rank has given */
};

/* Where the rows of A come from: this rank's rows, columns over the whole matrix, row_begin (size + 1)
 * telling whose rows are whose; or, with row_begin NULL, the whole matrix on every rank. */
typedef struct sl_tile_source {
  const sley_matrix *matrix;
  const int64_t *row_begin;
} sl_tile_source;

/* Zeros. All ranks give the same tiling, which has been checked. Errors: SLEY_ERR_UNSUPPORTED (the comm has
 * no one-sided memory that works while its owner computes), SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. Collective,
 * agreed. */
sley_status sl_tiled_create_dense(sl_comm *comm, const sl_tiling *tiling, sley_dtype dtype, sl_tiled **out);

/* The tiles of a sparse matrix, copied; its rows, columns and dtype are those of the tiling and the same on
 * all ranks. Errors: also SLEY_ERR_PEER (a rank sends what cannot be). Collective, agreed. */
sley_status sl_tiled_create_sparse(sl_comm *comm, const sl_tiling *tiling, const sl_tile_source *source,
                                   sl_tiled **out);

/* The values of source, whose rows and columns are those that the matrix was made of, take the place of the
 * matrix's; nothing may read the tiles meanwhile. Errors: SLEY_ERR_ARG (other rows or columns),
 * SLEY_ERR_MEMORY. Collective, agreed. */
sley_status sl_tiled_renew(sl_tiled *tiled, const sl_tile_source *source);

/* Rows row_begin[rank] to row_begin[rank + 1] - 1 of a dense matrix from and to memory of the host; ld in
 * elements. By puts and gets; waits for all ranks at the end, and get also before, so that nobody reads what
 * is being written. Collective. */
sley_status sl_tiled_set_rows(sl_tiled *tiled, const int64_t *row_begin, const void *data, int64_t ld);
sley_status sl_tiled_get_rows(const sl_tiled *tiled, const int64_t *row_begin, void *data, int64_t ld);

/* As sley_tiled_get_matrix. Collective, agreed. */
sley_status sl_tiled_get_matrix(const sl_tiled *tiled, const int64_t *row_begin, sley_matrix **out);

/* As sley_tiled_info_get. */
void sl_tiled_describe(const sl_tiled *tiled, sley_tiled_info *out);

/* Accepts NULL. Ranks do not wait for each other. Collective. */
void sl_tiled_destroy(sl_tiled *tiled);

static inline const sl_tile_pointer *sl_tile_at(const sl_tiled *tiled, int64_t i, int64_t j) {
  return &tiled->pointers[sl_tile_number(&tiled->tiling, i, j)];
}

/* Where the host can load and store the tiles of a rank: NULL: it gets and puts them. */
static inline char *sl_tiled_block(const sl_tiled *tiled, int rank) {
  return tiled->comm->device->ops->host_addresses ? tiled->blocks[rank] : NULL;
}

/* ---- for the files of this folder */

/* A matrix whose directory tells whose each tile is, and nothing else. Errors: SLEY_ERR_UNSUPPORTED,
 * SLEY_ERR_MEMORY. Collective, agreed. */
sley_status sl_tiled_begin(sl_comm *comm, const sl_tiling *tiling, sley_dtype dtype, bool sparse,
                           sl_tiled **out);

/* Every rank learns the sizes of all tiles of a sparse matrix. tally: of each of this rank's tiles the rows
 * that have entries, and the entries; status: of this rank so far. Errors: SLEY_ERR_MEMORY, SLEY_ERR_PEER
 * (sizes that cannot be). Collective, agreed. */
sley_status sl_tiled_share_sizes(sl_tiled *tiled, sley_status status, const int64_t *tally);

/* Lays the tiles out by their stored rows and entries, which the directory has, and takes the memory, zeroed.
 * Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. Collective, agreed. */
sley_status sl_tiled_lay_out(sl_tiled *tiled);

/* What tile (i, j) of a sparse matrix holds. */
sl_tile_shape sl_tile_shape_of(const sl_tiled *tiled, int64_t i, int64_t j);

/* The arrays of tile (i, j) that lies at `at`, which is not read. */
sl_tile sl_tile_view(const sl_tiled *tiled, int64_t i, int64_t j, const char *at);

/* Where a tile of this rank lies, for its device. */
char *sl_tile_own(const sl_tiled *tiled, int64_t i, int64_t j);

/* This rank's block for the host to change: where it lies, or a copy, with its contents if `filled`, else
 * zeros. close writes the copy to the block, unless status is an error, and frees it; it returns status, or
 * its own error. Errors: SLEY_ERR_MEMORY, those of the device. Not collective. */
sley_status sl_tiled_own_open(const sl_tiled *tiled, bool filled, char **out);
sley_status sl_tiled_own_close(const sl_tiled *tiled, char *own, sley_status status);

/* Where the values of tile (i, j) begin in its bytes. */
int64_t sl_tile_values_offset(const sl_tiled *tiled, int64_t i, int64_t j);

#endif

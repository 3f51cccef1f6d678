/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices in tiles, by one-sided access: every rank fetches the tiles that it needs from their
 * owners, who need not take part.
 *
 *   sley_tile_complete         how A, X and Y are divided into tiles that go together
 *   sley_tiled_create_sparse   A in tiles; sley_tiled_renew gives it new values
 *   sley_tiled_create_dense    X or Y in tiles
 *   sley_tiled_set_rows        rows of a rank to tiles; sley_tiled_get_rows brings them back
 *   sley_tile_info_get         whose a tile is, and what it holds
 *   sley_tile_get_begin        a tile of any rank, as a future; sley_tile_get_matrix or sley_tile_get_values
 *                              waits for it
 *   sley_tile_put              new values for a tile of any rank
 *   sley_tile_spmm_create      what a product needs; sley_tile_spmm_run makes it as often as wanted
 *   sley_tile_spmm_report_get  what a run's time went to, and what moved
 *   sley_tile_spgemm           C = A B of two sparse matrices; sley_tiled_get_matrix gives a rank's rows of C
 *
 * What sley.h says of errors, of structs that begin with their size and of collective calls holds here too.
 * Matrices in tiles lie in the memory of the comm's device, with every transport; arrays that are given and
 * got here are in the host's memory.
 *
 * Source: Brock, Buluc and Yelick, RDMA-Based Algorithms for Sparse Matrix Multiplication on GPUs, ICS 2024.
 */
#ifndef SLEY_TILE_H
#define SLEY_TILE_H

#include "sley.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- matrices in tiles */

/* A matrix has tiles_down x tiles_across tiles, whose sizes differ by at most one row and one column. Tile
 * (i, j) belongs to the rank at row i mod grid_rows, column j mod grid_cols of a grid of ranks that are
 * numbered row by row. The grid has as many places as there are ranks; there may be more tiles than ranks, or
 * fewer. */
typedef struct sley_tiling {
  int grid_rows, grid_cols;
  int64_t tiles_down, tiles_across;
} sley_tiling;

/* Completes the tilings of A, X and Y for so many ranks. What is 0 in *a is chosen: the grid nearest to a
 * square, as many rows of tiles as it has rows, and as many columns as the least multiple of its rows and
 * columns, so that ranks have equal numbers of tiles of X. *x and *y become those that go with it; columns:
 * how many tiles the columns of X and Y are divided into; 0: as many as the grid has columns. Errors:
 * SLEY_ERR_ARG (the grid is not of that many ranks, a negative number). Not collective. */
sley_status sley_tile_complete(int ranks, int64_t columns, sley_tiling *a, sley_tiling *x, sley_tiling *y);

typedef struct sley_tiled sley_tiled;

/* A sparse matrix in tiles, copied from rows: block holds this rank's rows, row_begin[rank] to row_begin[rank
 * + 1] - 1 (row_begin: size + 1 numbers, the same on all ranks), with columns numbered over the whole matrix;
 * or, with row_begin NULL, block is the whole matrix on every rank. comm outlives it. Errors: SLEY_ERR_ARG
 * (also: the ranks' blocks have different columns or types), SLEY_ERR_UNSUPPORTED (so many ranks in one
 * process that they take turns on its cores), SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW (2^32 entries in one row of
 * one tile). Collective. */
sley_status sley_tiled_create_sparse(sley_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                                     const sley_tiling *tiling, sley_tiled **out);

/* A dense matrix in tiles, of zeros. Errors: as above. Collective. */
sley_status sley_tiled_create_dense(sley_comm *comm, int64_t rows, int64_t cols, sley_dtype dtype,
                                    const sley_tiling *tiling, sley_tiled **out);

/* New values for a sparse matrix, in the same places: block and row_begin as at creation. Returns when all
 * ranks see them. Errors: SLEY_ERR_ARG (also: a block with other rows or columns than at creation),
 * SLEY_ERR_MEMORY. Collective.
 */
sley_status sley_tiled_renew(sley_tiled *tiled, const sley_matrix *block, const int64_t *row_begin);

/* Copies rows row_begin[rank] to row_begin[rank + 1] - 1 of a dense matrix from or to the host's memory, of
 * its dtype; ld: elements between rows, at least the columns. Waits for all ranks at the end. Errors:
 * SLEY_ERR_ARG, SLEY_ERR_MEMORY. Collective. */
sley_status sley_tiled_set_rows(sley_tiled *tiled, const int64_t *row_begin, const void *data, int64_t ld);
sley_status sley_tiled_get_rows(const sley_tiled *tiled, const int64_t *row_begin, void *data, int64_t ld);

/* Rows row_begin[rank] to row_begin[rank + 1] - 1 of a sparse matrix, as a new matrix with all columns.
 * Fetches the tiles that they lie in, twice; waits for all ranks at the end. Errors: SLEY_ERR_ARG,
 * SLEY_ERR_MEMORY. Collective. */
sley_status sley_tiled_get_matrix(const sley_tiled *tiled, const int64_t *row_begin, sley_matrix **out);

typedef struct sley_tiled_info {
  int64_t rows, cols;
  sley_tiling tiling;
  sley_dtype dtype;
  bool sparse;
  int64_t entries;              /* of all tiles; dense: values */
  int64_t rank_entries;         /* of the rank that has most */
  int64_t tile_entries;         /* of the tile that has most */
  int64_t own_tiles, own_bytes; /* of this rank */
} sley_tiled_info;

/* Not collective. */
sley_status sley_tiled_info_get(const sley_tiled *tiled, sley_tiled_info *out);

/* Accepts NULL. After the products that use it. Collective. */
void sley_tiled_destroy(sley_tiled *tiled);

/* ---- one tile */

typedef struct sley_tile_info {
  int rank; /* the owner */
  int64_t first_row, first_col, rows, cols;
  int64_t entries; /* dense: values */
  int64_t bytes;   /* that travel to another rank */
} sley_tile_info;

/* Of tile (i, j). Errors: SLEY_ERR_ARG (there is no such tile). Not collective. */
sley_status sley_tile_info_get(const sley_tiled *tiled, int64_t i, int64_t j, sley_tile_info *out);

/* A tile on its way to this rank. */
typedef struct sley_tile_future sley_tile_future;

/* Begins to get tile (i, j) of any rank, and returns at once; several may be on their way. A tile whose
 * memory this rank can load is read when it is asked for. The values are those at some time between this call
 * and the return of the one that waits: ranks that write them meanwhile (sley_tile_put, sley_tiled_renew,
 * sley_tiled_set_rows, products) and ranks that read them agree by sley_comm_barrier or the like. tiled
 * outlives the future. Errors: SLEY_ERR_ARG (there is no such tile), SLEY_ERR_MEMORY, SLEY_ERR_PEER. Not
 * collective: the owner takes no part. */
sley_status sley_tile_get_begin(const sley_tiled *tiled, int64_t i, int64_t j, sley_tile_future **out);

/* Waits for a tile of a sparse matrix, and copies it: a matrix of the tile's rows and columns, both numbered
 * from 0. Freed by sley_matrix_destroy. Errors: SLEY_ERR_ARG (the matrix is dense), SLEY_ERR_MEMORY,
 * SLEY_ERR_PEER. Not collective. */
sley_status sley_tile_get_matrix(sley_tile_future *future, sley_matrix **out);

/* Waits for a tile of a dense matrix, and copies its rows x cols values to data; ld: elements between rows,
 * at least the tile's columns. Errors: SLEY_ERR_ARG (the matrix is sparse, data is NULL), SLEY_ERR_PEER. Not
 * collective. */
sley_status sley_tile_get_values(sley_tile_future *future, void *data, int64_t ld);

/* Waits for what is on its way. Accepts NULL. Not collective. */
void sley_tile_future_destroy(sley_tile_future *future);

/* New values for tile (i, j) of any rank, which are there when the call returns: of a dense tile its rows,
 * one after the other; of a sparse one those of its entries, row by row, columns ascending. When others may
 * read them is said at sley_tile_get_begin. Errors: SLEY_ERR_ARG (there is no such tile, values is NULL),
 * SLEY_ERR_PEER. Not collective: the owner takes no part. */
sley_status sley_tile_put(sley_tiled *tiled, int64_t i, int64_t j, const void *values);

/* ---- Y = alpha A X + beta Y */

/* The algorithms, NULL-terminated, and what each does in a line; NULL: there is no such algorithm.
 *
 *   tile-c              who owns a tile of Y fetches the tiles of A and X that it needs
 *   tile-a              who owns a tile of A fetches tiles of X, and pushes products to the owners of Y:
 *                       for an A much larger than X and Y
 *   tile-b              who owns a tile of X fetches tiles of A, and pushes likewise: for a large X
 *   tile-c-steal        as tile-c; ranks that are done take products of tiles from others, and push them
 *   tile-c-steal-local  the same, but only products of which a tile of A or X is theirs
 *   tile-a-steal        as tile-a; ranks that are done take products of tiles from others
 *   tile-a-steal-local  the same, but only products of which a tile of X or Y is theirs
 *   tile-b-steal        as tile-b; ranks that are done take products of tiles from others
 *   tile-b-steal-local  the same, but only products of which a tile of A or Y is theirs
 *
 * The bits of Y depend on the tiles, for those with A or X in place also on the grid, and on nothing else:
 * neither on the transport nor on timing. */
const char *const *sley_tile_algorithms(void);
const char *sley_tile_algorithm_summary(const char *algo);

typedef struct sley_tile_spmm_options {
  size_t struct_size;
  const char *algo; /* NULL: tile-c */
  int buffers;      /* of each rank, for products that are pushed; 0: 4 */
} sley_tile_spmm_options;
#define SLEY_TILE_SPMM_OPTIONS_INIT                                                                          \
  { sizeof(sley_tile_spmm_options), NULL, 0 }

typedef struct sley_tile_spmm sley_tile_spmm;

/* Takes all the memory that products of a (m x n, sparse), x (n x k) and y (m x k, another than x) need: two
 * tiles of A and X that come from other nodes, and the buffers, each of the largest product of two tiles. The
 * three are of one comm, dtype and grid, their tiles fit together (sley_tile_complete), and they outlive the
 * handle. options may be NULL. Errors: SLEY_ERR_ARG, SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. Collective. */
sley_status sley_tile_spmm_create(const sley_tiled *a, const sley_tiled *x, sley_tiled *y,
                                  const sley_tile_spmm_options *options, sley_tile_spmm **out);

/* Makes one product. With beta 0 Y is not read. Values of 16 bits are summed in f32 and rounded once.
 * Allocates nothing. Waits for the other ranks at the end, and, where products are pushed, for a free buffer.
 * After an error the handle can only be destroyed; where the comm has several ranks, it has failed too.
 * Collective. */
sley_status sley_tile_spmm_run(sley_tile_spmm *product, double alpha, double beta);

typedef struct sley_tile_report {
  double total_ms;       /* of the last run, which the four parts add up to: */
  double compute_ms;     /* products of tiles */
  double communicate_ms; /* waiting for tiles of other ranks */
  double accumulate_ms;  /* pushing products, adding those that came, and waiting for a free buffer */
  double imbalance_ms;   /* waiting for slower ranks, at the end */
  int64_t tasks, flops;  /* products of tiles, and 2 for each entry of A and column of X */
  int64_t stolen;        /* of the tasks: taken from other ranks */
  /* Of a run in which nothing is stolen, and of the last one; tiles that are read where they lie count too.
   * Of C = A B products that are pushed are not predicted: how large they are shows when they are made. */
  sley_traffic predicted, counted;
} sley_tile_report;

/* Of this rank. Not collective. */
sley_status sley_tile_spmm_report_get(const sley_tile_spmm *product, sley_tile_report *out);

/* Accepts NULL. Collective. */
void sley_tile_spmm_destroy(sley_tile_spmm *product);

/* ---- C = A B */

typedef struct sley_tile_spgemm_options {
  size_t struct_size;
  sley_semiring semiring; /* default SLEY_PLUS_TIMES */
  const char *algo;       /* as of sley_tile_spmm, with B and C for X and Y; NULL: tile-c */
  int buffers;            /* of each rank, for products that are pushed; 0: 4 */
  const sley_tiled *mask; /* NULL, or a sparse matrix of C's size and tiles, of the same comm: C has entries
                             only where it has, whatever its values and dtype */
  int64_t mem_limit; /* bytes that a product of two tiles may take while a rank makes it, as of sley_spgemm:
                        of the result, and of all that is allocated to make it, in the memory of the
                        comm's device; 0: none. It bounds neither tiles that are fetched, nor products that
                        wait to be added, nor C */
} sley_tile_spgemm_options;
#define SLEY_TILE_SPGEMM_OPTIONS_INIT                                                                        \
  { sizeof(sley_tile_spgemm_options), SLEY_PLUS_TIMES, NULL, 0, NULL, 0 }

/* The product of two sparse matrices in tiles, as a new one on the same grid, with the rows of tiles of a and
 * the columns of tiles of b; a and b may be one matrix. The algorithm says who fetches which tiles and makes
 * products; who owns a tile of C adds them. C has an entry where there is at least one product, whatever it
 * comes to, as with sley_spgemm. Values of 16 bits are multiplied and added in f32 and rounded once. The bits
 * depend on the tiles alone, with every algorithm. Takes the memory of C twice, and of products of tiles:
 * with tile-c of one tile of C, else of those of which some products are still to come; and where products
 * are pushed, the buffers, each as large as the largest tile of A or B. A larger product travels in pieces.
 * With a mask a rank also fetches the tile of the mask that a product belongs to, from the owner of the tile
 * of C; where that tile has no entries nothing is fetched or multiplied.
 * report, which may be NULL: of this rank; accumulate_ms is sending and adding, flops 2 for each product of
 * two entries, before the mask, of the tiles that are multiplied. An error ends a comm of several ranks,
 * unless it is SLEY_ERR_ARG. Errors: SLEY_ERR_ARG, SLEY_ERR_MEMORY (also: a product of two tiles does not
 * fit mem_limit; the message says which, and on a CPU how much would do), SLEY_ERR_OVERFLOW,
 * SLEY_ERR_UNSUPPORTED (a tile has more rows than a GPU's kernel takes, 2^32 - 1). Collective. */
sley_status sley_tile_spgemm(const sley_tiled *a, const sley_tiled *b,
                             const sley_tile_spgemm_options *options, sley_tiled **out,
                             sley_tile_report *report);

#ifdef __cplusplus
}
#endif

#endif

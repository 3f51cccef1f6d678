/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices in tiles, by one-sided access: every rank fetches the tiles that it needs from their
 * owners, who need not take part.
 *
 *   sley_tile_complete         how A, X and Y are divided into matching tiles
 *   sley_tiled_create_sparse   A in tiles; sley_tiled_renew replaces its values
 *   sley_tiled_create_dense    X or Y in tiles
 *   sley_tiled_set_rows        copies a rank's rows to tiles; sley_tiled_get_rows copies them back
 *   sley_tile_info_get         the owner of a tile, and its contents
 *   sley_tile_get_begin        a tile of any rank, as a future; sley_tile_get_matrix or sley_tile_get_values
 *                              waits for it
 *   sley_tile_part_matrix      some rows and columns of a tile of any rank; sley_tile_part_values
 *   sley_tile_put              new values for a tile of any rank
 *   sley_tiled_replace         tiles of other patterns
 *   sley_tile_spmm_create      prepares a product; sley_tile_spmm_run computes it any number of times
 *   sley_tile_spmm_report_get  the parts of a run's time, and the traffic
 *   sley_tile_spgemm           C = A B of two sparse matrices; sley_tiled_get_matrix gets a rank's rows
 *
 * The rules of sley.h on errors, on structs that begin with their size and on collective calls hold here too.
 * Matrices in tiles lie in memory of the comm's device, with every transport; the arrays that callers pass
 * and receive here are in host memory.
 *
 * Source: Brock, Buluc and Yelick, RDMA-Based Algorithms for Sparse Matrix Multiplication on GPUs, ICS
 * 2024. */
#ifndef SLEY_TILE_H
#define SLEY_TILE_H

#include "sley.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- matrices in tiles */

/* The division of a matrix into tiles_down x tiles_across tiles, whose sizes differ by at most one row and
 * one column. Tile (i, j) belongs to the rank at row i mod grid_rows, column j mod grid_cols of a grid of
 * ranks that are numbered row by row. The grid has as many places as there are ranks; there may be more tiles
 * than ranks, or fewer. */
typedef struct sley_tiling {
  int grid_rows, grid_cols;
  int64_t tiles_down, tiles_across;
} sley_tiling;

/* Completes the tilings of A, X and Y for `ranks` ranks. Fields of *a that are 0 are chosen: the grid nearest
 * to a square, as many rows of tiles as the grid has rows, and as many columns of tiles as the least common
 * multiple of its rows and columns, so that ranks have equal numbers of tiles of X. *x and *y become the
 * matching tilings. columns: how many tiles the columns of X and Y are divided into; 0: as many as the grid
 * has columns. Errors: SLEY_ERR_ARG (a grid of another number of ranks, a negative number). Not
 * collective. */
sley_status sley_tile_complete(int ranks, int64_t columns, sley_tiling *a, sley_tiling *x, sley_tiling *y);

typedef struct sley_tiled sley_tiled;

/* Makes a sparse matrix in tiles, copied from rows: block holds this rank's rows, row_begin[rank] to
 * row_begin[rank + 1] - 1 (row_begin: size + 1 numbers, the same on all ranks), with columns numbered over
 * the whole matrix; or, with row_begin NULL, block is the whole matrix on every rank. comm outlives it.
 * Errors: SLEY_ERR_ARG (also: the ranks' blocks have different columns or types), SLEY_ERR_UNSUPPORTED (so
 * many ranks in one process that they take turns on its cores), SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW (2^32
 * entries in one row of one tile). Collective. */
sley_status sley_tiled_create_sparse(sley_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                                     const sley_tiling *tiling, sley_tiled **out);

/* Makes a dense matrix in tiles, of zeros. Errors: as sley_tiled_create_sparse. Collective. */
sley_status sley_tiled_create_dense(sley_comm *comm, int64_t rows, int64_t cols, sley_dtype dtype,
                                    const sley_tiling *tiling, sley_tiled **out);

/* Replaces the values of a sparse matrix in tiles, in the same places: block and row_begin as at creation.
 * Returns when all ranks see the new values. Errors: SLEY_ERR_ARG (also: a block with other rows or columns
 * than at creation), SLEY_ERR_MEMORY. Collective. */
sley_status sley_tiled_renew(sley_tiled *tiled, const sley_matrix *block, const int64_t *row_begin);

/* Replaces tiles of a sparse matrix by tiles of any other pattern: tile (i[n], j[n]), which this rank owns,
 * becomes tiles[n], a matrix of the tile's rows and columns and of the matrix's dtype, for n = 0 to count -
 * 1; count may be 0. All tiles move to new memory, so the call takes the memory of the matrix twice. Futures
 * of the matrix must have been destroyed; products that were prepared with it can only be destroyed, and
 * sley_tiled_renew refuses it. Returns when all ranks see the new tiles. Errors: SLEY_ERR_ARG (also: another
 * rank's tile, or another size or dtype), SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW; then nothing has changed.
 * Collective. */
sley_status sley_tiled_replace(sley_tiled *tiled, int64_t count, const int64_t *i, const int64_t *j,
                               const sley_matrix *const *tiles);

/* Copy rows row_begin[rank] to row_begin[rank + 1] - 1 of a dense matrix from or to host memory, in its
 * dtype; ld: elements between rows, at least the columns. Wait for all ranks at the end. Errors:
 * SLEY_ERR_ARG, SLEY_ERR_MEMORY. Collective. */
sley_status sley_tiled_set_rows(sley_tiled *tiled, const int64_t *row_begin, const void *data, int64_t ld);
sley_status sley_tiled_get_rows(const sley_tiled *tiled, const int64_t *row_begin, void *data, int64_t ld);

/* Returns rows row_begin[rank] to row_begin[rank + 1] - 1 of a sparse matrix, as a new matrix with all
 * columns. Fetches the tiles that contain them, twice; waits for all ranks at the end. Errors: SLEY_ERR_ARG,
 * SLEY_ERR_MEMORY. Collective. */
sley_status sley_tiled_get_matrix(const sley_tiled *tiled, const int64_t *row_begin, sley_matrix **out);

typedef struct sley_tiled_info {
  int64_t rows, cols;
  sley_tiling tiling;
  sley_dtype dtype;
  bool sparse;
  int64_t entries;              /* entries of all tiles; for a dense matrix, values */
  int64_t rank_entries;         /* entries of the rank that has most */
  int64_t tile_entries;         /* entries of the tile that has most */
  int64_t own_tiles, own_bytes; /* tiles of this rank, and their bytes */
} sley_tiled_info;

/* Describes a matrix in tiles. Not collective. */
sley_status sley_tiled_info_get(const sley_tiled *tiled, sley_tiled_info *out);

/* Frees a matrix in tiles, after the products that use it. Accepts NULL. Collective. */
void sley_tiled_destroy(sley_tiled *tiled);

/* ---- one tile */

typedef struct sley_tile_info {
  int rank; /* the owner */
  int64_t first_row, first_col, rows, cols;
  int64_t entries; /* for a dense tile, values */
  int64_t bytes;   /* bytes that travel if another rank fetches it */
} sley_tile_info;

/* Describes tile (i, j). Errors: SLEY_ERR_ARG (there is no such tile). Not collective. */
sley_status sley_tile_info_get(const sley_tiled *tiled, int64_t i, int64_t j, sley_tile_info *out);

/* A tile on its way to this rank. */
typedef struct sley_tile_future sley_tile_future;

/* Begins to fetch tile (i, j) of any rank, and returns at once; several fetches may be in flight. A tile
 * whose memory this rank can load is read at the end, when the caller asks for it. Its values are from some
 * time between this call and the return of the call that waits: ranks that write them meanwhile
 * (sley_tile_put, sley_tiled_renew, sley_tiled_set_rows, products) and ranks that read them must synchronise,
 * for example by sley_comm_barrier. tiled outlives the future. Errors: SLEY_ERR_ARG (there is no such tile),
 * SLEY_ERR_MEMORY, SLEY_ERR_PEER. Not collective: the owner takes no part. */
sley_status sley_tile_get_begin(const sley_tiled *tiled, int64_t i, int64_t j, sley_tile_future **out);

/* Waits for a tile of a sparse matrix, and copies it: a matrix of the tile's rows and columns, both numbered
 * from 0. Freed by sley_matrix_destroy. Errors: SLEY_ERR_ARG (the matrix is dense), SLEY_ERR_MEMORY,
 * SLEY_ERR_PEER. Not collective. */
sley_status sley_tile_get_matrix(sley_tile_future *future, sley_matrix **out);

/* Waits for a tile of a dense matrix, and copies its rows x cols values to data; ld: elements between rows,
 * at least the tile's columns. Errors: SLEY_ERR_ARG (the matrix is sparse, data is NULL), SLEY_ERR_PEER. Not
 * collective. */
sley_status sley_tile_get_values(sley_tile_future *future, void *data, int64_t ld);

/* Waits for the transfer, and frees the future. Accepts NULL. Not collective. */
void sley_tile_future_destroy(sley_tile_future *future);

/* Rows first_row to first_row + rows - 1 and columns first_col to first_col + cols - 1 of a tile, counted
 * from the tile's first. */
typedef struct sley_tile_part {
  int64_t first_row, rows, first_col, cols;
} sley_tile_part;

/* Gets a part of tile (i, j) of any rank: of a sparse tile as a matrix of rows x cols, numbered from 0, freed
 * by sley_matrix_destroy; of a dense tile as rows x cols values, with ld elements between rows. Only the rows
 * travel, and of a sparse tile their row pointers and the numbers of its rows with entries.
 * sley_tile_get_begin states which values these are. Errors: SLEY_ERR_ARG (no such tile or part, a matrix of
 * the other kind, out or data NULL, ld < cols), SLEY_ERR_MEMORY, SLEY_ERR_PEER. Not collective: the owner
 * takes no part. */
sley_status sley_tile_part_matrix(const sley_tiled *tiled, int64_t i, int64_t j, const sley_tile_part *part,
                                  sley_matrix **out);
sley_status sley_tile_part_values(const sley_tiled *tiled, int64_t i, int64_t j, const sley_tile_part *part,
                                  void *data, int64_t ld);

/* Writes new values to tile (i, j) of any rank; they have arrived when the call returns. For a dense tile:
 * its rows, one after the other; for a sparse tile: the values of its entries, row by row, columns ascending.
 * sley_tile_get_begin states when others may read them. Errors: SLEY_ERR_ARG (there is no such tile, values
 * is NULL), SLEY_ERR_PEER. Not collective: the owner takes no part. */
sley_status sley_tile_put(sley_tiled *tiled, int64_t i, int64_t j, const void *values);

/* ---- Y = alpha A X + beta Y */

/* The names of the algorithms, NULL-terminated, and a one-line description of each; NULL if there is no such
 * algorithm.
 *
 *   tile-c              the owner of a tile of Y fetches the tiles of A and X that it needs
 *   tile-a              the owner of a tile of A fetches tiles of X, and pushes products to the owners of Y:
 *                       for an A much larger than X and Y
 *   tile-b              the owner of a tile of X fetches tiles of A, and pushes likewise: for a large X
 *   tile-c-steal        as tile-c; ranks that are done take products of tiles from others, and push them
 *   tile-c-steal-local  the same, but only products for which they own the tile of A or X
 *   tile-a-steal        as tile-a; ranks that are done take products of tiles from others
 *   tile-a-steal-local  the same, but only products for which they own the tile of X or Y
 *   tile-b-steal        as tile-b; ranks that are done take products of tiles from others
 *   tile-b-steal-local  the same, but only products for which they own the tile of A or Y
 *   tile-summa          the owners of tiles of A broadcast them along their row of the grid, the owners of
 *                       tiles of X along their column, in as many stages as A has columns of tiles; the owner
 *                       of a tile of Y adds the products. Ranks wait for each other in each stage
 *   tile-two-level      the owners of tiles of Y multiply, as with tile-c, but a tile goes to each workgroup
 *                       of other ranks only once, without the rows and columns that the workgroup multiplies
 *                       with nothing, in one message for all tiles from a rank to a rank. Within a workgroup
 *                       ranks read each other's memory. Ranks wait for each other, at least once
 *
 * The bits of Y depend on the algorithm and the tiles, for algorithms whose tiles of A or X stay in place
 * also on the grid, and on nothing else: neither on the transport nor on timing. */
const char *const *sley_tile_algorithms(void);
const char *sley_tile_algorithm_summary(const char *algo);

/* Returns whether ranks may compute products of tiles for others, which they push from their buffers; false
 * if there is no such algorithm. */
bool sley_tile_algorithm_pushes(const char *algo);

/* Returns the number of stages of a product of a and x, or b (algo NULL: tile-c): the products of tiles of
 * the rank with most, in the order in which ranks take their own; for tile-summa and tile-two-level the
 * columns of tiles of A. A stolen product counts in the stage in which its owner would compute it. 0 if there
 * is no such algorithm. */
int64_t sley_tile_stages(const sley_tiled *a, const sley_tiled *x, const char *algo);

typedef struct sley_tile_spmm_options {
  size_t struct_size;
  const char *algo; /* NULL: tile-c */
  int buffers;      /* buffers of each rank for pushed products; 0: 4 */
  /* NULL, or `stages` numbers (sley_tile_stages), which each run sets to this rank's flops in each stage;
   * they must stay valid as long as the product. */
  int64_t *stage_flops;
  int64_t stages;
} sley_tile_spmm_options;
#define SLEY_TILE_SPMM_OPTIONS_INIT                                                                          \
  { sizeof(sley_tile_spmm_options), NULL, 0, NULL, 0 }

typedef struct sley_tile_spmm sley_tile_spmm;

/* Prepares products of a (m x n, sparse), x (n x k) and y (m x k, another matrix than x), with all the memory
 * they need: two tiles of A and X that come from other nodes, and the buffers, each as large as the largest
 * product of two tiles; or, for tile-summa, all tiles of A and X that a rank receives in one stage, once more
 * than the broadcasts have levels, and for tile-two-level all that it sends to and receives from other
 * workgroups. The three matrices are of one comm, dtype and grid, their tiles match
 * (sley_tile_complete), and they outlive the handle. options may be NULL. Errors: SLEY_ERR_ARG,
 * SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. Collective. */
sley_status sley_tile_spmm_create(const sley_tiled *a, const sley_tiled *x, sley_tiled *y,
                                  const sley_tile_spmm_options *options, sley_tile_spmm **out);

/* Computes the product Y = alpha A X + beta Y. With beta 0 Y is not read. 16-bit values are summed in f32 and
 * rounded once. Allocates nothing. Waits for the other ranks at the end, if products are pushed for a free
 * buffer, with tile-summa in each stage, and with tile-two-level twice. After an error the handle can only be
 * destroyed; a comm of several ranks has then failed too. Collective. */
sley_status sley_tile_spmm_run(sley_tile_spmm *product, double alpha, double beta);

typedef struct sley_tile_report {
  double total_ms;       /* duration of the last run, the sum of the four parts below */
  double compute_ms;     /* computing products of tiles */
  double communicate_ms; /* waiting for tiles of other ranks; for tile-summa all of its broadcasts */
  double accumulate_ms;  /* pushing products, adding received products, and waiting for a free buffer */
  double imbalance_ms;   /* waiting for slower ranks, at the end */
  int64_t tasks, flops;  /* products of tiles; 2 flops for each entry of A and column of X */
  int64_t stolen;        /* tasks taken from other ranks */
  /* Traffic predicted for a run in which nothing is stolen, and counted in the last run; tiles that are read
   * in place count too. For C = A B pushed products are not predicted: their size is known only once they are
   * computed. */
  sley_traffic predicted, counted;
  /* For tile-two-level: message bytes that this rank has sent when the product was prepared, which are not
   * in `counted`; and message bytes that it would send with tile-summa. Else 0. */
  int64_t prepare_bytes, summa_bytes;
} sley_tile_report;

/* Returns the report of this rank. Not collective. */
sley_status sley_tile_spmm_report_get(const sley_tile_spmm *product, sley_tile_report *out);

/* Frees a prepared product. Accepts NULL. Collective. */
void sley_tile_spmm_destroy(sley_tile_spmm *product);

/* ---- C = A B */

typedef struct sley_tile_spgemm_options {
  size_t struct_size;
  sley_semiring semiring; /* default SLEY_PLUS_TIMES */
  const char *algo;       /* as in sley_tile_spmm_options, with B and C for X and Y; NULL: tile-c */
  int buffers;            /* buffers of each rank for pushed products; 0: 4 */
  const sley_tiled *mask; /* NULL, or a sparse matrix of C's size and tiles, on the same comm: C has entries
                             only where mask has entries, whatever their values and dtype */
  /* Most bytes that a rank may take while it computes a product of two tiles, as for sley_spgemm: for the
   * result, and for all that is allocated to compute it, in memory of the comm's device; 0: no limit. The
   * limit includes neither fetched tiles, nor products that wait to be added, nor C; with tile-two-level it
   * includes the tiles that travel between workgroups, which come in blocks of columns of tiles that take at
   * most half of it. */
  int64_t mem_limit;
  /* NULL, or `stages` numbers (sley_tile_stages), which are set to this rank's flops in each stage. */
  int64_t *stage_flops;
  int64_t stages;
} sley_tile_spgemm_options;
#define SLEY_TILE_SPGEMM_OPTIONS_INIT                                                                        \
  { sizeof(sley_tile_spgemm_options), SLEY_PLUS_TIMES, NULL, 0, NULL, 0, NULL, 0 }

/* Computes the product of two sparse matrices in tiles, as a new one on the same grid, with the rows of tiles
 * of a and the columns of tiles of b; a and b may be one matrix. The algorithm decides which rank fetches
 * which tiles and computes products; the owner of a tile of C adds them. C has an entry where there is at
 * least one product, whatever its value, as with sley_spgemm. 16-bit values are multiplied and added in f32
 * and rounded once. The bits depend on the tiles alone, with every algorithm. Takes the memory of C twice,
 * and memory for products of tiles: with tile-c for one tile of C, else for all tiles of C that still wait
 * for products; and if products are pushed, the buffers, each as large as the largest tile of A or B. A
 * larger product travels in pieces. With a mask, a rank also fetches the tile of the mask that a product
 * belongs to, from the owner of the tile of C; if that tile has no entries, nothing is fetched or multiplied.
 *
 * report, which may be NULL: of this rank; accumulate_ms is sending and adding; flops is 2 for each product
 * of two entries, before the mask, in the tiles that are multiplied. An error ends a comm of several ranks,
 * unless it is SLEY_ERR_ARG. Errors: SLEY_ERR_ARG, SLEY_ERR_MEMORY (also: a product of two tiles does not fit
 * mem_limit; the message says which, and on a CPU how much would suffice), SLEY_ERR_OVERFLOW,
 * SLEY_ERR_UNSUPPORTED (a tile has more rows than a GPU's kernel takes, 2^32 - 1). Collective. */
sley_status sley_tile_spgemm(const sley_tiled *a, const sley_tiled *b,
                             const sley_tile_spgemm_options *options, sley_tiled **out,
                             sley_tile_report *report);

#ifdef __cplusplus
}
#endif

#endif

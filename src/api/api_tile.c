/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices in tiles: argument checks. */
#include "tile/tiled.h"

/* ---- tilings */

static int64_t least_multiple(int64_t a, int64_t b) {
  int64_t x = a, y = b;
  while (y > 0) {
    const int64_t rest = x % y;
    x = y;
    y = rest;
  }
  return a / x * b;
}

static sley_status complete_grid(int ranks, sley_tiling *a) {
  if (a->grid_rows == 0 && a->grid_cols == 0)
    sl_tiling_grid(ranks, &a->grid_rows, &a->grid_cols);
  else if (a->grid_cols == 0 && a->grid_rows > 0)
    a->grid_cols = ranks / a->grid_rows;
  else if (a->grid_rows == 0 && a->grid_cols > 0)
    a->grid_rows = ranks / a->grid_cols;
  if (a->tiles_down == 0)
    a->tiles_down = a->grid_rows;
  if (a->tiles_across == 0 && a->grid_rows > 0 && a->grid_cols > 0)
    a->tiles_across = least_multiple(a->grid_rows, a->grid_cols);
  const sl_tiling t = {0, 0, a->tiles_down, a->tiles_across, a->grid_rows, a->grid_cols};
  return sl_tiling_check(&t, ranks, "the tiles of A");
}

sley_status sley_tile_complete(int ranks, int64_t columns, sley_tiling *a, sley_tiling *x, sley_tiling *y) {
  if (!a || !x || !y || ranks < 1)
    return sl_fail(SLEY_ERR_ARG, "sley_tile_complete: a, x or y is NULL, or ranks below 1");
  SL_TRY(complete_grid(ranks, a));
  *x = *y = *a;
  x->tiles_down = a->tiles_across;
  x->tiles_across = y->tiles_across = columns ? columns : a->grid_cols;
  const sl_tiling of_x = {0, 0, x->tiles_down, x->tiles_across, x->grid_rows, x->grid_cols},
                  of_y = {0, 0, y->tiles_down, y->tiles_across, y->grid_rows, y->grid_cols};
  SL_TRY(sl_tiling_check(&of_x, ranks, "the tiles of X"));
  return sl_tiling_check(&of_y, ranks, "the tiles of Y");
}

/* ---- matrices */

static sley_status take_tiling(const char *call, const sley_comm *comm, const sley_tiling *given,
                               int64_t rows, int64_t cols, sl_tiling *out) {
  if (!given)
    return sl_fail(SLEY_ERR_ARG, "%s: tiling is NULL", call);
  *out = (sl_tiling){rows, cols, given->tiles_down, given->tiles_across, given->grid_rows, given->grid_cols};
  return sl_tiling_check(out, comm->size, call);
}

/* Checks that begin divides rows among the ranks, and below that block has this rank's rows. */
static sley_status check_rows(const char *call, const sley_comm *comm, const int64_t *begin, int64_t rows) {
  bool good = begin[0] == 0 && begin[comm->size] == rows;
  for (int r = 0; r < comm->size; r++)
    good = good && begin[r] <= begin[r + 1];
  return good ? SLEY_OK
              : sl_fail(SLEY_ERR_ARG, "%s: row_begin does not ascend from 0 to the %lld rows of the matrix",
                        call, (long long)rows);
}

static sley_status check_block(const char *call, const sley_comm *comm, const sley_matrix *block,
                               const int64_t *row_begin) {
  if (!block)
    return sl_fail(SLEY_ERR_ARG, "%s: block is NULL", call);
  if (!row_begin)
    return SLEY_OK;
  SL_TRY(check_rows(call, comm, row_begin, row_begin[comm->size]));
  const int64_t rows = row_begin[comm->rank + 1] - row_begin[comm->rank];
  return block->rows == rows
             ? SLEY_OK
             : sl_fail(SLEY_ERR_ARG, "%s: block has %lld rows, but row_begin assigns %lld to this rank", call,
                       (long long)block->rows, (long long)rows);
}

/* Checks that all ranks divide rows in the same way. Collective. */
static sley_status agree_rows(const char *call, sley_comm *comm, const int64_t *row_begin) {
  static const char *const name[] = {"row_begin"};
  int64_t hash = row_begin ? 1 : 0;
  for (int r = 0; row_begin && r <= comm->size; r++)
    hash = (int64_t)((uint64_t)hash * UINT64_C(6364136223846793005) + (uint64_t)row_begin[r]);
  return sl_agree_same(comm, call, name, &hash, 1);
}

static sley_status agree_shape(const char *call, sley_comm *comm, const sl_tiling *t, sley_dtype dtype) {
  static const char *const name[] = {"rows",         "columns",   "dtype",    "tiles_down",
                                     "tiles_across", "grid_rows", "grid_cols"};
  return sl_agree_same(
      comm, call, name,
      (const int64_t[]){t->rows, t->cols, dtype, t->down, t->across, t->grid_rows, t->grid_cols}, 7);
}

sley_status sley_tiled_create_sparse(sley_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                                     const sley_tiling *tiling, sley_tiled **out) {
  static const char call[] = "sley_tiled_create_sparse";
  sl_tiling t = {0};
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "%s: comm is NULL", call);
  sley_status status =
      out ? check_block(call, comm, block, row_begin) : sl_fail(SLEY_ERR_ARG, "%s: out is NULL", call);
  if (status == SLEY_OK)
    status =
        take_tiling(call, comm, tiling, row_begin ? row_begin[comm->size] : block->rows, block->cols, &t);
  SL_TRY(sl_agree(comm, status));
  SL_TRY(agree_rows(call, comm, row_begin));
  SL_TRY(agree_shape(call, comm, &t, block->dtype));
  return sl_tiled_create_sparse(comm, &t, &(sl_tile_source){block, row_begin}, out);
}

sley_status sley_tiled_create_dense(sley_comm *comm, int64_t rows, int64_t cols, sley_dtype dtype,
                                    const sley_tiling *tiling, sley_tiled **out) {
  static const char call[] = "sley_tiled_create_dense";
  sl_tiling t = {0};
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "%s: comm is NULL", call);
  sley_status status = out ? SLEY_OK : sl_fail(SLEY_ERR_ARG, "%s: out is NULL", call);
  if (status == SLEY_OK && sley_dtype_bytes(dtype) == 0)
    status = sl_fail(SLEY_ERR_ARG, "%s: there is no dtype %d", call, (int)dtype);
  if (status == SLEY_OK)
    status = take_tiling(call, comm, tiling, rows, cols, &t);
  SL_TRY(sl_agree(comm, status));
  SL_TRY(agree_shape(call, comm, &t, dtype));
  return sl_tiled_create_dense(comm, &t, dtype, out);
}

sley_status sley_tiled_renew(sley_tiled *tiled, const sley_matrix *block, const int64_t *row_begin) {
  static const char call[] = "sley_tiled_renew";
  if (!tiled)
    return sl_fail(SLEY_ERR_ARG, "%s: tiled is NULL", call);
  sley_status status = tiled->sparse
                           ? check_block(call, tiled->comm, block, row_begin)
                           : sl_fail(SLEY_ERR_ARG, "%s: the matrix is dense: use sley_tiled_set_rows", call);
  if (status == SLEY_OK && (block->dtype != tiled->dtype || block->cols != tiled->tiling.cols ||
                            (row_begin ? row_begin[tiled->comm->size] : block->rows) != tiled->tiling.rows))
    status = sl_fail(SLEY_ERR_ARG, "%s: block has another dtype or belongs to another matrix", call);
  SL_TRY(sl_agree(tiled->comm, status));
  SL_TRY(agree_rows(call, tiled->comm, row_begin));
  return sl_tiled_renew(tiled, &(sl_tile_source){block, row_begin});
}

static sley_status check_replacement(const char *call, const sley_tiled *tiled,
                                     const sl_tile_replacement *r) {
  const sl_tiling *t = &tiled->tiling;
  if (!tiled->sparse)
    return sl_fail(SLEY_ERR_ARG, "%s: the matrix is dense: use sley_tile_put", call);
  if (r->count < 0 || (r->count > 0 && (!r->i || !r->j || !r->tiles)))
    return sl_fail(SLEY_ERR_ARG, "%s: %lld tiles, or i, j or tiles is NULL", call, (long long)r->count);
  for (int64_t n = 0; n < r->count; n++) {
    const int64_t i = r->i[n], j = r->j[n];
    const sley_matrix *tile = r->tiles[n];
    if (i < 0 || i >= t->down || j < 0 || j >= t->across || sl_tile_owner(t, i, j) != tiled->comm->rank)
      return sl_fail(SLEY_ERR_ARG, "%s: this rank owns no tile (%lld, %lld)", call, (long long)i,
                     (long long)j);
    if (!tile || tile->dtype != tiled->dtype || tile->rows != sl_tile_height(t, i) ||
        tile->cols != sl_tile_width(t, j))
      return sl_fail(SLEY_ERR_ARG, "%s: tile (%lld, %lld) needs a matrix of %lld x %lld of the dtype %s",
                     call, (long long)i, (long long)j, (long long)sl_tile_height(t, i),
                     (long long)sl_tile_width(t, j), sley_dtypes()[tiled->dtype]);
  }
  return SLEY_OK;
}

sley_status sley_tiled_replace(sley_tiled *tiled, int64_t count, const int64_t *i, const int64_t *j,
                               const sley_matrix *const *tiles) {
  static const char call[] = "sley_tiled_replace";
  const sl_tile_replacement replacement = {count, i, j, tiles};
  if (!tiled)
    return sl_fail(SLEY_ERR_ARG, "%s: tiled is NULL", call);
  SL_TRY(sl_agree(tiled->comm, check_replacement(call, tiled, &replacement)));
  return sl_tiled_replace(tiled, &replacement);
}

static sley_status check_dense_rows(const char *call, const sley_tiled *tiled, const int64_t *row_begin,
                                    const void *data, int64_t ld) {
  const sley_comm *comm = tiled->comm;
  if (tiled->sparse)
    return sl_fail(SLEY_ERR_ARG, "%s: the matrix is sparse", call);
  if (!row_begin)
    return sl_fail(SLEY_ERR_ARG, "%s: row_begin is NULL", call);
  SL_TRY(check_rows(call, comm, row_begin, tiled->tiling.rows));
  if (!data && row_begin[comm->rank + 1] > row_begin[comm->rank] && tiled->tiling.cols > 0)
    return sl_fail(SLEY_ERR_ARG, "%s: data is NULL", call);
  return ld >= tiled->tiling.cols
             ? SLEY_OK
             : sl_fail(SLEY_ERR_ARG, "%s: the leading dimension is %lld, less than the %lld columns", call,
                       (long long)ld, (long long)tiled->tiling.cols);
}

sley_status sley_tiled_set_rows(sley_tiled *tiled, const int64_t *row_begin, const void *data, int64_t ld) {
  static const char call[] = "sley_tiled_set_rows";
  if (!tiled)
    return sl_fail(SLEY_ERR_ARG, "%s: tiled is NULL", call);
  SL_TRY(sl_agree(tiled->comm, check_dense_rows(call, tiled, row_begin, data, ld)));
  SL_TRY(agree_rows(call, tiled->comm, row_begin));
  return sl_tiled_set_rows(tiled, row_begin, data, ld);
}

sley_status sley_tiled_get_rows(const sley_tiled *tiled, const int64_t *row_begin, void *data, int64_t ld) {
  static const char call[] = "sley_tiled_get_rows";
  if (!tiled)
    return sl_fail(SLEY_ERR_ARG, "%s: tiled is NULL", call);
  SL_TRY(sl_agree(tiled->comm, check_dense_rows(call, tiled, row_begin, data, ld)));
  return sl_tiled_get_rows(tiled, row_begin, data, ld);
}

sley_status sley_tiled_get_matrix(const sley_tiled *tiled, const int64_t *row_begin, sley_matrix **out) {
  static const char call[] = "sley_tiled_get_matrix";
  if (!tiled)
    return sl_fail(SLEY_ERR_ARG, "%s: tiled is NULL", call);
  sley_status status = out && row_begin ? check_rows(call, tiled->comm, row_begin, tiled->tiling.rows)
                                        : sl_fail(SLEY_ERR_ARG, "%s: out or row_begin is NULL", call);
  if (status == SLEY_OK && !tiled->sparse)
    status = sl_fail(SLEY_ERR_ARG, "%s: the matrix is dense: use sley_tiled_get_rows", call);
  SL_TRY(sl_agree(tiled->comm, status));
  return sl_tiled_get_matrix(tiled, row_begin, out);
}

sley_status sley_tiled_info_get(const sley_tiled *tiled, sley_tiled_info *out) {
  if (!tiled || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_tiled_info_get: tiled or out is NULL");
  sl_tiled_describe(tiled, out);
  return SLEY_OK;
}

void sley_tiled_destroy(sley_tiled *tiled) {
  sl_tiled_destroy(tiled);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of other patterns in a sparse matrix in tiles: all tiles move to new memory, whose addresses every
 * rank computes from the new sizes. */
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "tile/tiled.h"

/* Returns the number of the replacement of tile (i, j), the last if there are several; -1: the tile stays. */
static int64_t find(const sl_tile_replacement *r, int64_t i, int64_t j) {
  int64_t n = r->count - 1;
  while (n >= 0 && (r->i[n] != i || r->j[n] != j))
    n--;
  return n;
}

/* Counts rows with entries, and entries, of this rank's tiles as they will be. own: its block, in host
 * memory. */
static void count_tiles(const sl_tiled *t, const sl_tile_replacement *r, const char *own, int64_t *tally) {
  for (sl_own_tile at = sl_own_first(&t->tiling, t->comm->rank); sl_own_is(&t->tiling, &at);
       sl_own_next(&t->tiling, &at), tally += 2) {
    const int64_t n = find(r, at.i, at.j);
    const sl_tile tile = sl_tile_view(t, at.i, at.j, own + sl_tile_at(t, at.i, at.j)->offset);
    const int64_t *rowptr = n < 0 ? tile.rowptr : r->tiles[n]->rowptr;
    const int64_t rows = n >= 0 ? r->tiles[n]->rows : tile.entries > 0 ? tile.stored : 0;
    for (int64_t row = 0; row < rows; row++) {
      tally[0] += rowptr[row + 1] > rowptr[row];
      tally[1] += rowptr[row + 1] - rowptr[row];
    }
  }
}

/* Writes a tile from a matrix, whose row pointers may start at any number. Errors: SLEY_ERR_MEMORY. */
static sley_status write_tile(const sl_tiled *t, int64_t i, int64_t j, const sley_matrix *from, char *to) {
  const sl_tile_shape shape = sl_tile_shape_of(t, i, j);
  const sl_tile tile = sl_sparse_tile_view(&shape, to);
  const int64_t first = from->rowptr[0];
  int64_t *rowptr;
  SL_TRY(SL_NEW(rowptr, shape.rows + 1, "row pointers of a tile"));
  for (int64_t row = 0; row <= shape.rows; row++)
    rowptr[row] = from->rowptr[row] - first;
  sl_sparse_tile_write_rows(&shape, rowptr, (int64_t *)(void *)to);
  for (int64_t e = 0; e < shape.entries; e++) {
    sl_index_set((void *)tile.col, t->index, e, sl_index_at(from->col, from->index, first + e));
    sl_value_copy((void *)tile.val, e, from->val, first + e, t->dtype);
  }
  sl_sparse_tile_pad(&shape, to);
  sl_free(rowptr);
  return SLEY_OK;
}

/* Fills this rank's block of the new matrix. */
static sley_status fill(const sl_tiled *old, const char *from, const sl_tile_replacement *r,
                        const sl_tiled *t) {
  char *to;
  SL_TRY(sl_tiled_own_open(t, false, &to));
  sley_status status = SLEY_OK;
  for (sl_own_tile at = sl_own_first(&t->tiling, t->comm->rank);
       sl_own_is(&t->tiling, &at) && status == SLEY_OK; sl_own_next(&t->tiling, &at)) {
    const int64_t n = find(r, at.i, at.j);
    const sl_tile_pointer *p = sl_tile_at(t, at.i, at.j);
    if (n >= 0)
      status = write_tile(t, at.i, at.j, r->tiles[n], to + p->offset);
    else if (p->bytes > 0)
      memcpy(to + p->offset, from + sl_tile_at(old, at.i, at.j)->offset, (size_t)p->bytes);
  }
  return sl_tiled_own_close(t, to, status);
}

/* Makes the new matrix. Collective, agreed. */
static sley_status remake(const sl_tiled *t, const sl_tile_replacement *r, const char *own,
                          sley_status status, sl_tiled *fresh) {
  int64_t *tally = NULL;
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(tally, 2 * sl_own_count(&t->tiling, t->comm->rank), "sizes of tiles");
  if (status == SLEY_OK)
    count_tiles(t, r, own, tally);
  status = sl_tiled_share_sizes(fresh, status, tally);
  sl_free(tally);
  if (status == SLEY_OK)
    status = sl_tiled_lay_out(fresh);
  return status == SLEY_OK ? sl_agree(t->comm, fill(t, own, r, fresh)) : status;
}

sley_status sl_tiled_replace(sl_tiled *t, const sl_tile_replacement *r) {
  sl_tiled *fresh;
  char *own = NULL;
  SL_TRY(sl_tiled_begin(t->comm, &t->tiling, t->dtype, true, &fresh));
  sley_status status = sl_tiled_own_open(t, true, &own);
  status = remake(t, r, own, status, fresh);
  sl_tiled_own_drop(t, own);
  if (status == SLEY_OK) {
    const sl_tiled old = *t;
    *t = *fresh;
    *fresh = old;
    t->version = old.version + 1;
  }
  sl_tiled_destroy(fresh);
  return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse matrices in tiles: creation from rows, and replacement of values. */
#include <string.h>

#include "base/memory.h"
#include "tile/parcels.h"

/* ---- figures of sparse tiles in the directory */

/* Counts the rows with entries, and the entries, of each of this rank's tiles, in order. tally: 2 words per
 * tile, zeroed. */
static void count_tiles(const sl_tiled *t, const sl_parcels *p, int64_t *tally) {
  const sl_tiling *g = &t->tiling;
  const uint32_t *length = p->lengths;
  for (int s = 0; s < p->sources; s++)
    for (sl_own_tile at = sl_own_first(g, t->comm->rank); sl_own_is(g, &at); sl_own_next(g, &at)) {
      int64_t first, last;
      sl_parcels_rows(p, g, s, at.i, &first, &last);
      for (; first < last; first++, length++) {
        tally[2 * at.local] += *length > 0;
        tally[2 * at.local + 1] += *length;
      }
    }
}

static sley_status share_sizes(sl_tiled *t, const sl_parcels *p) {
  int64_t *tally;
  sley_status status = SL_NEW_ZERO(tally, 2 * sl_own_count(&t->tiling, t->comm->rank), "sizes of tiles");
  if (status == SLEY_OK)
    count_tiles(t, p, tally);
  status = sl_tiled_share_sizes(t, status, tally);
  sl_free(tally);
  return status;
}

/* ---- the tiles of this rank */

/* Progress of filling a tile. */
typedef struct filling {
  int64_t *rowptr, *rowid;
  char *col, *val;
  int64_t stored, entries;
} filling;

/* own: address of this rank's block. */
static filling start_tile(const sl_tiled *t, const sl_own_tile *at, char *own) {
  const sl_tile tile = sl_tile_view(t, at->i, at->j, own + sl_tile_at(t, at->i, at->j)->offset);
  const filling f = {(int64_t *)tile.rowptr, (int64_t *)tile.rowid, (char *)tile.col, (char *)tile.val, 0, 0};
  if (f.rowptr)
    f.rowptr[0] = 0;
  return f;
}

/* Fills in rows [first, last) of a source, relative to the tile's first. */
static void fill_parcel(const sl_tiled *t, filling *f, int64_t first, int64_t last, const uint32_t *length,
                        const char *col, const char *val) {
  const size_t index = sl_index_bytes(t->index), value = sley_dtype_bytes(t->dtype);
  const int64_t before = f->entries;
  for (; f->rowptr && first < last; first++, length++) {
    f->entries += *length;
    if (f->rowid && *length == 0)
      continue;
    if (f->rowid)
      f->rowid[f->stored] = first;
    f->rowptr[++f->stored] = f->entries;
  }
  if (f->entries == before)
    return;
  memcpy(f->col + (size_t)before * index, col, (size_t)(f->entries - before) * index);
  memcpy(f->val + (size_t)before * value, val, (size_t)(f->entries - before) * value);
}

static sley_status fill_block(const sl_tiled *t, const sl_parcels *p, char *own) {
  const sl_tiling *g = &t->tiling;
  const size_t index = sl_index_bytes(t->index), value = sley_dtype_bytes(t->dtype);
  filling *tiles;
  SL_TRY(SL_NEW(tiles, sl_own_count(g, t->comm->rank), "tiles"));
  const uint32_t *length = p->lengths;
  const char *col = p->col, *val = p->val;
  for (int s = 0; s < p->sources; s++)
    for (sl_own_tile at = sl_own_first(g, t->comm->rank); sl_own_is(g, &at); sl_own_next(g, &at)) {
      filling *f = &tiles[at.local];
      if (s == 0)
        *f = start_tile(t, &at, own);
      int64_t first, last, before = f->entries;
      sl_parcels_rows(p, g, s, at.i, &first, &last);
      fill_parcel(t, f, first - sl_tile_row(g, at.i), last - sl_tile_row(g, at.i), length, col, val);
      length += last - first;
      col += (size_t)(f->entries - before) * index;
      val += (size_t)(f->entries - before) * value;
    }
  sl_free(tiles);
  return SLEY_OK;
}

static sley_status fill_tiles(const sl_tiled *t, const sl_parcels *p) {
  char *own;
  SL_TRY(sl_tiled_own_open(t, false, &own));
  return sl_tiled_own_close(t, own, fill_block(t, p, own));
}

/* ---- the calls */

/* Hash of rows and columns: FNV-1a by words (Fowler, Noll and Vo). */
static uint64_t pattern_of(const sley_matrix *a) {
  const uint64_t prime = UINT64_C(1099511628211);
  uint64_t hash = UINT64_C(14695981039346656037);
  for (int64_t i = 0; i < a->rows; i++) {
    hash = (hash ^ (uint64_t)(a->rowptr[i + 1] - a->rowptr[i])) * prime;
    for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++)
      hash = (hash ^ (uint64_t)sl_index_at(a->col, a->index, e)) * prime;
  }
  return hash;
}

sley_status sl_tiled_create_sparse(sl_comm *comm, const sl_tiling *tiling, const sl_tile_source *source,
                                   sl_tiled **out) {
  sl_tiled *t;
  sl_parcels parcels;
  *out = NULL;
  SL_TRY(sl_tiled_begin(comm, tiling, source->matrix->dtype, true, &t));
  t->pattern = pattern_of(source->matrix);
  sley_status status = sl_parcels_exchange(t, source, &parcels);
  if (status == SLEY_OK) {
    status = share_sizes(t, &parcels);
    if (status == SLEY_OK)
      status = sl_tiled_lay_out(t);
    if (status == SLEY_OK) /* the agreement is also the barrier after which other ranks may read */
      status = sl_agree(comm, fill_tiles(t, &parcels));
    sl_parcels_free(&parcels);
  }
  if (status != SLEY_OK) {
    sl_tiled_destroy(t);
    return status;
  }
  *out = t;
  return SLEY_OK;
}

/* First entry of the tile's row `row`, or of the first stored row after it. */
static int64_t entry_of(const sl_tile *tile, int64_t row) {
  int64_t from = 0, end = tile->stored;
  if (!tile->rowid)
    return tile->rowptr[row];
  while (from < end) {
    const int64_t middle = from + (end - from) / 2;
    if (tile->rowid[middle] < row)
      from = middle + 1;
    else
      end = middle;
  }
  return tile->rowptr[from];
}

/* Copies the values of one source's parcel to a tile; *left is the number of values that remain. */
static sley_status renew_parcel(const sl_tiled *t, const sl_tile *tile, int source, int64_t first,
                                int64_t last, const char **val, int64_t *left) {
  if (tile->entries == 0)
    return SLEY_OK;
  const int64_t from = entry_of(tile, first), count = entry_of(tile, last) - from;
  const size_t value = sley_dtype_bytes(t->dtype);
  if (count > *left)
    return sl_fail_peer(source, "it has sent fewer values than its rows have in the tiles");
  if (count > 0)
    memcpy((char *)tile->val + (size_t)from * value, *val, (size_t)count * value);
  *val += (size_t)count * value;
  *left -= count;
  return SLEY_OK;
}

static sley_status renew_block(const sl_tiled *t, const sl_parcels *p, const char *own) {
  const sl_tiling *g = &t->tiling;
  const char *val = p->val;
  for (int s = 0; s < p->sources; s++) {
    int64_t left = p->entries_from[s];
    for (sl_own_tile at = sl_own_first(g, t->comm->rank); sl_own_is(g, &at); sl_own_next(g, &at)) {
      const sl_tile tile = sl_tile_view(t, at.i, at.j, own + sl_tile_at(t, at.i, at.j)->offset);
      const int64_t begin = sl_tile_row(g, at.i);
      int64_t first, last;
      sl_parcels_rows(p, g, s, at.i, &first, &last);
      SL_TRY(renew_parcel(t, &tile, s, first - begin, last - begin, &val, &left));
    }
    if (left > 0)
      return sl_fail_peer(s, "it has sent more values than its rows have in the tiles");
  }
  return SLEY_OK;
}

static sley_status renew_tiles(const sl_tiled *t, const sl_parcels *p) {
  char *own;
  SL_TRY(sl_tiled_own_open(t, true, &own));
  return sl_tiled_own_close(t, own, renew_block(t, p, own));
}

sley_status sl_tiled_renew(sl_tiled *t, const sl_tile_source *source) {
  sl_parcels parcels;
  SL_TRY(sl_agree(t->comm, pattern_of(source->matrix) == t->pattern
                               ? SLEY_OK
                               : sl_fail(SLEY_ERR_ARG,
                                         "the matrix has other rows or columns than the one from which "
                                         "the tiles were made, or tiles were replaced: make a new matrix in "
                                         "tiles, or use sley_tiled_replace")));
  SL_TRY(sl_parcels_exchange_values(t, source, &parcels));
  sley_status status = sl_agree(t->comm, renew_tiles(t, &parcels));
  sl_parcels_free(&parcels);
  return status;
}

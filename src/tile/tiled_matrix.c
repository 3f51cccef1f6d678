/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers rows of a sparse matrix in tiles as a matrix, in two passes over the tiles that contain them: one
 * for lengths, one for entries. */
#include <string.h>

#include "base/memory.h"
#include "tile/fetch.h"

typedef struct gathering {
  const sl_tiled *tiled;
  int64_t begin, end; /* rows to gather */
  sley_index index;
  sl_csr_arrays arrays; /* arrays of the result; if col is NULL, entries are only counted, and rowptr[i + 1]
                           is the length of row i */
  int64_t *filled;      /* place of each row's next entry */
} gathering;

/* Takes the rows of a tile that begins at this row and column of the matrix. */
static void take_tile(gathering *g, const sl_tile *tile, int64_t row, int64_t col) {
  const sl_tiled *t = g->tiled;
  for (int64_t s = 0; s < tile->stored; s++) {
    const int64_t at = row + (tile->rowid ? tile->rowid[s] : s) - g->begin;
    const int64_t from = tile->rowptr[s], count = tile->rowptr[s + 1] - from;
    if (at < 0 || at >= g->end - g->begin || count == 0)
      continue;
    if (!g->arrays.col) {
      g->arrays.rowptr[at + 1] += count;
      continue;
    }
    for (int64_t e = 0; e < count; e++)
      sl_index_set(g->arrays.col, g->index, g->filled[at] + e,
                   col + sl_index_at(tile->col, t->index, from + e));
    const size_t value = sley_dtype_bytes(t->dtype);
    memcpy((char *)g->arrays.val + (size_t)g->filled[at] * value,
           (const char *)tile->val + (size_t)from * value, (size_t)count * value);
    g->filled[at] += count;
  }
}

/* Takes all tiles. Within a row of tiles they ascend, and so do the columns of each row. */
static sley_status take_tiles(gathering *g, sl_tile_fetch *fetch) {
  const sl_tiling *t = &g->tiled->tiling;
  for (int64_t i = 0; i < t->down; i++) {
    if (sl_tile_row(t, i + 1) <= g->begin || sl_tile_row(t, i) >= g->end)
      continue;
    for (int64_t j = 0; j < t->across; j++) {
      sl_tile tile;
      if (sl_tile_at(g->tiled, i, j)->entries == 0)
        continue;
      SL_TRY(sl_tile_get(fetch, i, j, &tile));
      take_tile(g, &tile, sl_tile_row(t, i), sl_tile_col(t, j));
    }
  }
  return SLEY_OK;
}

static sley_status take_entries(gathering *g, sl_tile_fetch *fetch) {
  const int64_t rows = g->end - g->begin;
  int64_t *rowptr = g->arrays.rowptr;
  for (int64_t i = 0; i < rows; i++)
    rowptr[i + 1] += rowptr[i];
  memcpy(g->filled, rowptr, (size_t)rows * sizeof *rowptr);
  g->arrays.val = sl_alloc(rowptr[rows], sley_dtype_bytes(g->tiled->dtype), "values");
  g->arrays.col = g->arrays.val ? sl_alloc(rowptr[rows], sl_index_bytes(g->index), "columns") : NULL;
  return g->arrays.col ? take_tiles(g, fetch) : SLEY_ERR_MEMORY;
}

static sley_status gather(gathering *g, sley_matrix **out) {
  sl_tile_fetch fetch = {0};
  const int64_t rows = g->end - g->begin;
  sley_status status = SL_NEW_ZERO(g->arrays.rowptr, rows + 1, "row pointers");
  if (status == SLEY_OK)
    status = SL_NEW(g->filled, rows, "places of entries");
  if (status == SLEY_OK)
    status = sl_tile_fetch_open(&fetch, g->tiled, SL_TILE_FOR_HOST);
  if (status == SLEY_OK)
    status = take_tiles(g, &fetch);
  if (status == SLEY_OK)
    status = take_entries(g, &fetch);
  sl_tile_fetch_close(&fetch);
  sl_free(g->filled);
  if (status != SLEY_OK) {
    sl_csr_arrays_free(&g->arrays);
    return status;
  }
  return sl_matrix_adopt(rows, g->tiled->tiling.cols, g->index, g->tiled->dtype, g->arrays, -1, out);
}

sley_status sl_tiled_get_matrix(const sl_tiled *t, const int64_t *row_begin, sley_matrix **out) {
  gathering g = {.tiled = t,
                 .begin = row_begin[t->comm->rank],
                 .end = row_begin[t->comm->rank + 1],
                 .index = sl_index_for(t->tiling.cols)};
  *out = NULL;
  sley_status status = sl_agree(t->comm, gather(&g, out)); /* sl_agree is also the barrier after which tiles
                                                              may change */
  if (status != SLEY_OK) {
    sl_matrix_destroy(*out);
    *out = NULL;
  }
  return status;
}

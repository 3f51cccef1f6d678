/* SPDX-License-Identifier: Apache-2.0 */
/* Moves rows of dense matrices from ranks to tiles and back. The rows common to a rank and a tile are
 * contiguous in the tile, so one put or get moves them. */
#include <string.h>

#include "base/memory.h"
#include "tile/tiled.h"

typedef struct move {
  const sl_tiled *tiled;
  int64_t begin, end; /* rows of this rank */
  char *data;
  int64_t ld;
  char *packed; /* memory for the rows of an overlap, if they are not moved in place */
} move;

static size_t value_bytes(const move *m) {
  return sley_dtype_bytes(m->tiled->dtype);
}

/* Copies rows x width values between a tile's rows at `tile` and this rank's rows at `data`. */
static void copy_rows(const move *m, char *tile, char *data, int64_t rows, int64_t width, bool to_tile) {
  const size_t bytes = (size_t)width * value_bytes(m), ld = (size_t)m->ld * value_bytes(m);
  for (int64_t r = 0; r < rows && bytes > 0; r++) {
    char *in_tile = tile + (size_t)r * bytes, *in_data = data + (size_t)r * ld;
    memcpy(to_tile ? in_tile : in_data, to_tile ? in_data : in_tile, bytes);
  }
}

/* Moves rows [first, last) of the matrix that lie in tile (i, j). */
static sley_status move_overlap(const move *m, int64_t i, int64_t j, int64_t first, int64_t last,
                                bool to_tile) {
  const sl_tiled *t = m->tiled;
  const sl_tile_pointer *p = sl_tile_at(t, i, j);
  const int64_t width = sl_tile_width(&t->tiling, j), row_bytes = width * (int64_t)value_bytes(m);
  const int64_t offset = p->offset + (first - sl_tile_row(&t->tiling, i)) * row_bytes,
                bytes = (last - first) * row_bytes;
  char *data = m->data + (size_t)((first - m->begin) * m->ld + sl_tile_col(&t->tiling, j)) * value_bytes(m);
  char *block = sl_tiled_block(t, p->rank);
  if (block) {
    copy_rows(m, block + offset, data, last - first, width, to_tile);
    t->comm->ops->counters_add(t->comm, sl_link_to(t->comm, p->rank), bytes, bytes > 0);
    return SLEY_OK;
  }
  if (to_tile) {
    copy_rows(m, m->packed, data, last - first, width, true);
    return sl_put(t->symm, p->rank, offset, m->packed, bytes);
  }
  SL_TRY(sl_get(t->symm, p->rank, offset, m->packed, bytes));
  copy_rows(m, m->packed, data, last - first, width, false);
  return SLEY_OK;
}

static sley_status move_all(const move *m, bool to_tile) {
  const sl_tiling *g = &m->tiled->tiling;
  for (int64_t i = 0; i < g->down; i++) {
    const int64_t from = sl_tile_row(g, i), to = sl_tile_row(g, i + 1);
    const int64_t first = from > m->begin ? from : m->begin, last = to < m->end ? to : m->end;
    for (int64_t j = 0; j < g->across && first < last; j++)
      if (sl_tile_width(g, j) > 0)
        SL_TRY(move_overlap(m, i, j, first, last, to_tile));
  }
  return SLEY_OK;
}

/* Bytes of the largest overlap of a tile and the rows of this rank. */
static int64_t most_packed(const move *m) {
  const sl_tiling *g = &m->tiled->tiling;
  const int64_t rows = m->end - m->begin, height = sl_tile_height(g, 0);
  return (rows < height ? rows : height) * sl_tile_width(g, 0) * (int64_t)value_bytes(m);
}

static sley_status move_rows(const sl_tiled *t, const int64_t *row_begin, char *data, int64_t ld,
                             bool to_tile) {
  sl_comm *comm = t->comm;
  move m = {
      .tiled = t, .begin = row_begin[comm->rank], .end = row_begin[comm->rank + 1], .data = data, .ld = ld};
  m.packed = sl_alloc(most_packed(&m), 1, "rows of a tile");
  sley_status status =
      sl_agree(comm, m.packed ? SLEY_OK : SLEY_ERR_MEMORY); /* sl_agree is also the barrier before a get */
  if (status == SLEY_OK) {
    status = move_all(&m, to_tile);
    if (status == SLEY_OK && to_tile)
      status = sl_flush_all(t->symm);
    status = sl_abort_on_error(comm, status);
  }
  sl_free(m.packed);
  return status == SLEY_OK ? comm->ops->barrier(comm) : status;
}

sley_status sl_tiled_set_rows(sl_tiled *t, const int64_t *row_begin, const void *data, int64_t ld) {
  return move_rows(t, row_begin, (char *)data, ld, true);
}

sley_status sl_tiled_get_rows(const sl_tiled *t, const int64_t *row_begin, void *data, int64_t ld) {
  return move_rows(t, row_begin, data, ld, false);
}

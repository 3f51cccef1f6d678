/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and destroys a matrix in tiles. Every rank computes the same addresses of tiles. */
#include "tile/tiled.h"

#include <string.h>

#include "base/memory.h"

enum { TILE_GRAIN = 64 };

/* Creates a matrix without tiles. Not collective. */
static sley_status take_directory(sl_comm *comm, const sl_tiling *tiling, sley_dtype dtype, bool sparse,
                                  sl_tiled **out) {
  const unsigned needed = SL_ONE_SIDED_GET | SL_ONE_SIDED_ATOMICS | SL_ONE_SIDED_PASSIVE;
  sl_tiled *t;
  if ((comm->one_sided & needed) != needed)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "matrices in tiles are read while their owners compute, which transport %s on device %s "
                   "does not support: use fewer ranks, or ranks that are processes",
                   comm->transport, comm->device->ops->name);
  SL_TRY(SL_NEW_ZERO(t, 1, "a matrix in tiles"));
  *t = (sl_tiled){.comm = comm, .tiling = *tiling, .sparse = sparse, .dtype = dtype};
  t->index = sl_index_for(sl_tile_width(tiling, 0)); /* no tile is wider */
  sley_status status = SL_NEW_ZERO(t->pointers, sl_tiles(tiling), "a directory of tiles");
  if (status != SLEY_OK) {
    sl_free(t);
    return status;
  }
  for (int64_t n = 0; n < sl_tiles(tiling); n++)
    t->pointers[n].rank = sl_tile_owner(tiling, n / tiling->across, n % tiling->across);
  *out = t;
  return SLEY_OK;
}

sley_status sl_tiled_begin(sl_comm *comm, const sl_tiling *tiling, sley_dtype dtype, bool sparse,
                           sl_tiled **out) {
  *out = NULL;
  sley_status status = sl_agree(comm, take_directory(comm, tiling, dtype, sparse, out));
  if (status != SLEY_OK) {
    sl_tiled_destroy(*out);
    *out = NULL;
  }
  return status;
}

/* Records the figures of a tile, as its owner reports them, in the directory, and refuses impossible figures.
 * If few rows have entries, only they are stored, with their numbers; otherwise all rows are stored. */
static sley_status note_tile(sl_tiled *t, int64_t i, int64_t j, const int64_t tally[2]) {
  const int64_t rows = sl_tile_height(&t->tiling, i), filled = tally[0], entries = tally[1];
  sl_tile_pointer *p = &t->pointers[sl_tile_number(&t->tiling, i, j)];
  if (filled < 0 || filled > rows || entries < filled ||
      (entries > 0 && (filled == 0 || sl_tile_width(&t->tiling, j) == 0)))
    return sl_fail_peer(
        sl_tile_owner(&t->tiling, i, j),
        "it has sent impossible figures of its tile (%lld, %lld): %lld entries in %lld of %lld rows",
        (long long)i, (long long)j, (long long)entries, (long long)filled, (long long)rows);
  p->stored = sl_tile_stored_rows(rows, filled);
  p->entries = entries;
  return SLEY_OK;
}

sley_status sl_tiled_share_sizes(sl_tiled *t, sley_status status, const int64_t *tally) {
  const sl_tiling *g = &t->tiling;
  const int size = t->comm->size;
  const int64_t most = 2 * sl_own_count(g, 0); /* no rank has more tiles than the first */
  int64_t *mine = NULL, *all = NULL;
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(mine, most, "sizes of tiles");
  if (status == SLEY_OK)
    status = SL_NEW(all, most * size, "sizes of tiles");
  if (status == SLEY_OK)
    memcpy(mine, tally, 2 * (size_t)sl_own_count(g, t->comm->rank) * sizeof *mine);
  status = sl_agree(t->comm, status);
  if (status == SLEY_OK)
    status = t->comm->ops->allgather(t->comm, mine, most * (int64_t)sizeof *mine, all);
  if (status == SLEY_OK) {
    for (int r = 0; r < size && status == SLEY_OK; r++)
      for (sl_own_tile at = sl_own_first(g, r); sl_own_is(g, &at) && status == SLEY_OK; sl_own_next(g, &at))
        status = note_tile(t, at.i, at.j, all + most * r + 2 * at.local);
    status = sl_agree(t->comm, status);
  }
  sl_free(mine);
  sl_free(all);
  return status;
}

sl_tile_shape sl_tile_shape_of(const sl_tiled *t, int64_t i, int64_t j) {
  const sl_tile_pointer *p = sl_tile_at(t, i, j);
  return (sl_tile_shape){.rows = sl_tile_height(&t->tiling, i),
                         .cols = sl_tile_width(&t->tiling, j),
                         .stored = p->stored,
                         .entries = p->entries,
                         .index = t->index,
                         .dtype = t->dtype};
}

/* Bytes of tile (i, j), a multiple of the grain; returns false if 64 bits do not suffice. */
static bool tile_bytes(const sl_tiled *t, int64_t i, int64_t j, int64_t *bytes) {
  const sl_tile_shape shape = sl_tile_shape_of(t, i, j);
  if (t->sparse)
    return sl_tile_shape_bytes(&shape, bytes);
  if (__builtin_mul_overflow(shape.rows, shape.cols, bytes) ||
      __builtin_mul_overflow(*bytes, (int64_t)sley_dtype_bytes(t->dtype), bytes) ||
      *bytes > INT64_MAX - TILE_GRAIN)
    return false;
  *bytes = (*bytes + TILE_GRAIN - 1) / TILE_GRAIN * TILE_GRAIN;
  return true;
}

/* Computes the offsets of all tiles. filled (one per rank, zeroed) receives the length of each rank's
 * block. */
static sley_status place_tiles(sl_tiled *t, int64_t *filled) {
  const sl_tiling *g = &t->tiling;
  for (int64_t i = 0; i < g->down; i++)
    for (int64_t j = 0; j < g->across; j++) {
      sl_tile_pointer *p = &t->pointers[sl_tile_number(g, i, j)];
      p->offset = filled[p->rank];
      if (!tile_bytes(t, i, j, &p->bytes) ||
          __builtin_add_overflow(filled[p->rank], p->bytes, &filled[p->rank]))
        return sl_fail(SLEY_ERR_OVERFLOW, "the tiles of rank %d do not fit 64-bit sizes: use more ranks",
                       p->rank);
    }
  return SLEY_OK;
}

sley_status sl_tiled_lay_out(sl_tiled *t) {
  int64_t *filled;
  sley_status status = SL_NEW_ZERO(filled, t->comm->size, "sizes of blocks");
  if (status == SLEY_OK)
    status = place_tiles(t, filled);
  if (status == SLEY_OK)
    status = SL_NEW(t->blocks, t->comm->size, "addresses of blocks");
  status = sl_agree(t->comm, status);
  if (status == SLEY_OK) {
    t->own_bytes = filled[t->comm->rank];
    status = sl_symm_alloc(t->comm, t->own_bytes, &t->symm);
  }
  sl_free(filled);
  if (status != SLEY_OK)
    return status;
  for (int r = 0; r < t->comm->size; r++)
    t->blocks[r] = sl_peer_ptr(t->symm, r);
  return t->comm->ops->barrier(t->comm); /* addresses may be queried only while their owners exist */
}

sley_status sl_tiled_create_dense(sl_comm *comm, const sl_tiling *tiling, sley_dtype dtype, sl_tiled **out) {
  sl_tiled *t;
  *out = NULL;
  SL_TRY(sl_tiled_begin(comm, tiling, dtype, false, &t));
  sley_status status = sl_tiled_lay_out(t);
  if (status != SLEY_OK) {
    sl_tiled_destroy(t);
    return status;
  }
  *out = t;
  return SLEY_OK;
}

void sl_tiled_describe(const sl_tiled *t, sley_tiled_info *out) {
  const sl_tiling *g = &t->tiling;
  *out = (sley_tiled_info){.rows = g->rows,
                           .cols = g->cols,
                           .tiling = {g->grid_rows, g->grid_cols, g->down, g->across},
                           .dtype = t->dtype,
                           .sparse = t->sparse,
                           .own_tiles = sl_own_count(g, t->comm->rank)};
  for (int r = 0; r < t->comm->size; r++) {
    int64_t sum = 0;
    for (sl_own_tile at = sl_own_first(g, r); sl_own_is(g, &at); sl_own_next(g, &at)) {
      const sl_tile_pointer *p = sl_tile_at(t, at.i, at.j);
      const int64_t entries = t->sparse ? p->entries : sl_tile_height(g, at.i) * sl_tile_width(g, at.j);
      sum += entries;
      out->tile_entries = entries > out->tile_entries ? entries : out->tile_entries;
      out->own_bytes += r == t->comm->rank ? p->bytes : 0;
    }
    out->entries += sum;
    out->rank_entries = sum > out->rank_entries ? sum : out->rank_entries;
  }
}

void sl_tiled_destroy(sl_tiled *t) {
  if (!t)
    return;
  if (t->symm)
    sl_symm_free(t->symm);
  sl_free(t->blocks);
  sl_free(t->pointers);
  sl_free(t);
}

int64_t sl_tile_values_offset(const sl_tiled *t, int64_t i, int64_t j) {
  const sl_tile_shape shape = sl_tile_shape_of(t, i, j);
  return t->sparse ? sl_sparse_tile_values(&shape) : 0;
}

sl_tile sl_tile_view(const sl_tiled *t, int64_t i, int64_t j, const char *at) {
  const sl_tile_shape shape = sl_tile_shape_of(t, i, j);
  if (t->sparse)
    return sl_sparse_tile_view(&shape, at);
  return (sl_tile){
      .rows = shape.rows, .cols = shape.cols, .stored = shape.stored, .entries = shape.entries, .val = at};
}

char *sl_tile_own(const sl_tiled *t, int64_t i, int64_t j) {
  return t->blocks[t->comm->rank] + sl_tile_at(t, i, j)->offset;
}

/* ---- this rank's block, for the host */

/* Copies between the block and a copy of it. */
static sley_status copy_own(const sl_tiled *t, sl_copy_kind kind, char *copy) {
  const sl_device_ops *ops = t->comm->device->ops;
  char *block = t->blocks[t->comm->rank];
  if (t->own_bytes == 0)
    return SLEY_OK;
  SL_TRY(ops->copy(t->comm->queue, kind, kind == SL_COPY_TO_HOST ? copy : block,
                   kind == SL_COPY_TO_HOST ? block : copy, t->own_bytes));
  return t->comm->ops->wait(t->comm);
}

sley_status sl_tiled_own_open(const sl_tiled *t, bool filled, char **out) {
  *out = sl_tiled_block(t, t->comm->rank);
  if (*out)
    return SLEY_OK;
  if (!(*out = sl_alloc_zero(t->own_bytes, 1, "a copy of tiles")))
    return SLEY_ERR_MEMORY;
  const sley_status status = filled ? copy_own(t, SL_COPY_TO_HOST, *out) : SLEY_OK;
  if (status != SLEY_OK) {
    sl_free(*out);
    *out = NULL;
  }
  return status;
}

sley_status sl_tiled_own_close(const sl_tiled *t, char *own, sley_status status) {
  if (own == sl_tiled_block(t, t->comm->rank))
    return status;
  if (status == SLEY_OK)
    status = copy_own(t, SL_COPY_TO_DEVICE, own);
  sl_free(own);
  return status;
}

void sl_tiled_own_drop(const sl_tiled *t, char *own) {
  if (own != sl_tiled_block(t, t->comm->rank))
    sl_free(own);
}

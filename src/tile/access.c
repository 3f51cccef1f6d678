/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/access.h"

#include <string.h>

#include "base/memory.h"

/* ---- get */

sley_status sl_tile_future_begin(const sl_tiled *tiled, int64_t i, int64_t j, sl_tile_future **out) {
  sl_tile_future *f;
  *out = NULL;
  SL_TRY(SL_NEW_ZERO(f, 1, "a future"));
  sley_status status = sl_tile_fetch_open_one(&f->fetch, tiled, i, j);
  if (status == SLEY_OK)
    status = sl_tile_begin(&f->fetch, i, j);
  if (status != SLEY_OK) {
    sl_tile_future_destroy(f);
    return status;
  }
  *out = f;
  return SLEY_OK;
}

void sl_tile_future_destroy(sl_tile_future *f) {
  if (!f)
    return;
  sl_tile_fetch_close(&f->fetch);
  sl_free(f);
}

sley_status sl_tile_future_matrix(sl_tile_future *f, sley_matrix **out) {
  const sl_tiled *of = f->fetch.of;
  sl_csr_arrays arrays;
  sl_tile tile;
  *out = NULL;
  SL_TRY(sl_tile_wait(&f->fetch, &tile));
  SL_TRY(sl_sparse_tile_copy(&tile, of->index, of->dtype, &arrays));
  return sl_matrix_adopt(tile.rows, tile.cols, of->index, of->dtype, arrays, -1, out);
}

sley_status sl_tile_future_values(sl_tile_future *f, void *data, int64_t ld) {
  const size_t value = sley_dtype_bytes(f->fetch.of->dtype);
  sl_tile tile;
  SL_TRY(sl_tile_wait(&f->fetch, &tile));
  const size_t row_bytes = (size_t)tile.cols * value;
  for (int64_t r = 0; r < tile.rows && row_bytes > 0; r++)
    memcpy((char *)data + (size_t)(r * ld) * value, (const char *)tile.val + (size_t)r * row_bytes,
           row_bytes);
  return SLEY_OK;
}

/* ---- put */

sley_status sl_tile_put(sl_tiled *tiled, int64_t i, int64_t j, const void *values) {
  const sl_tile_pointer *p = sl_tile_at(tiled, i, j);
  const sl_tiling *t = &tiled->tiling;
  const int64_t offset = p->offset + sl_tile_values_offset(tiled, i, j),
                count = tiled->sparse ? p->entries : sl_tile_height(t, i) * sl_tile_width(t, j),
                bytes = count * (int64_t)sley_dtype_bytes(tiled->dtype);
  char *block = sl_tiled_block(tiled, p->rank);
  if (bytes == 0)
    return SLEY_OK;
  if (!block) {
    SL_TRY(sl_put(tiled->symm, p->rank, offset, values, bytes));
    return sl_flush(tiled->symm, p->rank);
  }
  memcpy(block + offset, values, (size_t)bytes);
  tiled->comm->ops->counters_add(tiled->comm, sl_link_to(tiled->comm, p->rank), bytes, 1);
  return SLEY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts stored rows into tiles. */
#include "device/row_tiles.h"

#include "base/memory.h"
#include "base/status.h"

/* Goes through the rows. If tile is not NULL, stores tiles from `tile` on, and the data of long rows in out;
 * else only counts. */
static void cut(int64_t rows, const int64_t *rowptr, int most_rows, int64_t most_entries, sl_chunk *tile,
                sl_row_tiles *out) {
  int64_t tiles = 0, fragments = 0, longs = 0;
  sl_chunk open = {.slot = -1, .long_row = -1};
  for (int64_t i = 0; i < rows; i++) {
    const int64_t begin = rowptr[i] - rowptr[0], here = rowptr[i + 1] - rowptr[i];
    const bool is_long = here > most_entries;
    if (open.rows > 0 && (is_long || open.rows == most_rows || open.count + here > most_entries)) {
      if (tile)
        tile[tiles] = open;
      tiles++;
      open.rows = 0;
    }
    if (!is_long) {
      if (open.rows == 0) {
        open.begin = begin;
        open.row = (int32_t)i;
        open.count = 0;
      }
      open.rows++;
      open.count += (int32_t)here;
      continue;
    }
    const int64_t count = (here + most_entries - 1) / most_entries;
    if (tile)
      out->long_row[longs] = (sl_long_row){(int32_t)i, (int32_t)fragments};
    for (int64_t f = 0; f < count && tile; f++) {
      const int64_t from = here * f / count, to = here * (f + 1) / count;
      out->chunk[fragments + f] = (sl_chunk){.begin = begin + from,
                                             .count = (int32_t)(to - from),
                                             .row = (int32_t)i,
                                             .rows = 1,
                                             .slot = (int32_t)(fragments + f),
                                             .long_row = (int32_t)longs};
    }
    longs++;
    fragments += count;
  }
  if (open.rows > 0) {
    if (tile)
      tile[tiles] = open;
    tiles++;
  }
  out->chunks = fragments + tiles;
  out->fragments = fragments;
  out->longs = longs;
}

void sl_row_tiles_count(int64_t rows, const int64_t *rowptr, int most_rows, int64_t most_entries,
                        sl_row_tiles *out) {
  *out = (sl_row_tiles){0};
  cut(rows, rowptr, most_rows, most_entries, NULL, out);
}

sley_status sl_row_tiles_make(int64_t rows, const int64_t *rowptr, int most_rows, int64_t most_entries,
                              sl_row_tiles *out) {
  sl_row_tiles_count(rows, rowptr, most_rows, most_entries, out);
  if (rows >= INT32_MAX || out->chunks >= INT32_MAX / 2)
    return sl_fail(SLEY_ERR_OVERFLOW,
                   "%lld rows with %lld entries are too many for one device: use more ranks", (long long)rows,
                   (long long)(rowptr[rows] - rowptr[0]));
  SL_TRY(SL_NEW(out->chunk, out->chunks, "tiles of rows"));
  SL_TRY(SL_NEW(out->long_row, out->longs + 1, "tiles of rows"));
  cut(rows, rowptr, most_rows, most_entries, out->chunk + out->fragments, out);
  out->long_row[out->longs] = (sl_long_row){-1, (int32_t)out->fragments};
  return SLEY_OK;
}

void sl_row_tiles_free(sl_row_tiles *tiles) {
  sl_free(tiles->chunk);
  sl_free(tiles->long_row);
  *tiles = (sl_row_tiles){0};
}

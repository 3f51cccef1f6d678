/* SPDX-License-Identifier: Apache-2.0 */
/* Stored rows cut into tiles of a few consecutive rows, each for one group of workers of a device that sums a
 * tile whole before it goes on with it. A row with many more entries than a tile should have is a tile of its
 * own, and its entries are cut into fragments that are summed before. Plain host code. */
#ifndef SLEY_DEVICE_ROW_TILES_H
#define SLEY_DEVICE_ROW_TILES_H

#include "device/chunks.h"

typedef struct sl_row_tile {
  int32_t row;   /* its first stored row */
  int32_t rows;  /* stored rows, also those without entries */
  int32_t slot;  /* -1; of a long row: of its first fragment */
  int32_t piece; /* 0; for the user of the list to fill */
} sl_row_tile;

typedef struct sl_row_tiles {
  sl_row_tile *tile; /* in order of rows; together they have every stored row once */
  int64_t tiles;
  sl_chunk
      *fragment; /* of long rows, in order: begin, count, row (stored), rows = 1, slot, long_row, piece = 0 */
  int64_t fragments;
  sl_long_row *long_row; /* longs + 1, the row being a stored one; the last holds the number of fragments */
  int64_t longs;
} sl_row_tiles;

/* At most `most_rows` rows a tile and, of more than one row, `most_entries` entries; a row of more entries is
 * long, and cut into fragments of at most so many. Both above 0; most_entries at most SL_TILE_ENTRIES.
 * Ended by sl_row_tiles_free, also on error. Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. */
enum { SL_TILE_ENTRIES = 1 << 20 };
sley_status sl_row_tiles_make(int64_t rows, const int64_t *rowptr, int most_rows, int64_t most_entries,
                              sl_row_tiles *out);

/* Only the numbers that sl_row_tiles_make would give: tiles, fragments, longs. */
void sl_row_tiles_count(int64_t rows, const int64_t *rowptr, int most_rows, int64_t most_entries,
                        sl_row_tiles *out);

void sl_row_tiles_free(sl_row_tiles *tiles);

/* The counters of fragments, as those of chunks (chunks.h). */
static inline int64_t sl_row_tile_counters(const sl_row_tiles *t) {
  return t->longs > 0 ? 2 * t->longs + t->fragments / SL_FRAGMENT_GROUP + 1 : 0;
}

#endif

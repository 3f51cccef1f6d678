/* SPDX-License-Identifier: Apache-2.0 */
/* Stored rows cut into tiles of a few consecutive rows, each for one group of workers of a device that sums a
 * tile whole before it goes on with it. A row with more entries than a tile may have is cut into fragments:
 * whoever sums the last of them goes on with the row. Plain host code. */
#ifndef SLEY_DEVICE_ROW_TILES_H
#define SLEY_DEVICE_ROW_TILES_H

#include "device/chunks.h"

/* Chunks are fragments of long rows, in order, as they take longest; then tiles, in order of rows. Together
 * they have every stored row once, also those without entries. row is a stored row; rows at most most_rows,
 * 1 of fragments; piece 0. */
typedef struct sl_row_tiles {
  sl_chunk *chunk;
  int64_t chunks, fragments;
  sl_long_row *long_row; /* longs + 1, the row being a stored one; the last holds the number of fragments */
  int64_t longs;
} sl_row_tiles;

/* At most `most_rows` rows and `most_entries` entries a tile; a row of more entries is long, and cut into
 * fragments of at most so many. Both above 0; most_entries at most SL_TILE_ENTRIES.
 * Ended by sl_row_tiles_free, also on error. Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. */
enum { SL_TILE_ENTRIES = 1 << 20 };
sley_status sl_row_tiles_make(int64_t rows, const int64_t *rowptr, int most_rows, int64_t most_entries,
                              sl_row_tiles *out);

/* Only the numbers that sl_row_tiles_make would give: chunks, fragments, longs. */
void sl_row_tiles_count(int64_t rows, const int64_t *rowptr, int most_rows, int64_t most_entries,
                        sl_row_tiles *out);

void sl_row_tiles_free(sl_row_tiles *tiles);

/* The counters of fragments, as those of chunks (chunks.h). */
static inline int64_t sl_row_tile_counters(const sl_row_tiles *t) {
  return t->longs > 0 ? 2 * t->longs + t->fragments / SL_FRAGMENT_GROUP + 1 : 0;
}

#endif

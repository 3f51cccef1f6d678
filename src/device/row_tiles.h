/* SPDX-License-Identifier: Apache-2.0 */
/* Stored rows cut into tiles of a few consecutive rows, each for one group of workers of a device, which
 * completes a tile's sums before it continues with them. A row with more entries than a tile may have is cut
 * into fragments: the worker that sums the last fragment continues with the row. Plain host code. */
#ifndef SLEY_DEVICE_ROW_TILES_H
#define SLEY_DEVICE_ROW_TILES_H

#include "device/chunks.h"

/* First come fragments of long rows, in order, because they take longest; then tiles, in the order of rows.
 * Together they contain every stored row once, also rows without entries. In a chunk, row is a stored row;
 * rows is at most most_rows, 1 for fragments; piece is 0. */
typedef struct sl_row_tiles {
  sl_chunk *chunk;
  int64_t chunks, fragments;
  sl_long_row *long_row; /* longs + 1 elements; row is a stored row; first_slot of the last element is the
                          * number of fragments */
  int64_t longs;
} sl_row_tiles;

/* A tile has at most `most_rows` rows and `most_entries` entries; a row with more entries is long, and is cut
 * into fragments of at most that many. Both are above 0, and most_entries is at most SL_TILE_ENTRIES. The
 * caller calls sl_row_tiles_free, also after an error. Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. */
enum { SL_TILE_ENTRIES = 1 << 20 };
sley_status sl_row_tiles_make(int64_t rows, const int64_t *rowptr, int most_rows, int64_t most_entries,
                              sl_row_tiles *out);

/* Computes only the counts of sl_row_tiles_make: chunks, fragments, longs. */
void sl_row_tiles_count(int64_t rows, const int64_t *rowptr, int most_rows, int64_t most_entries,
                        sl_row_tiles *out);

void sl_row_tiles_free(sl_row_tiles *tiles);

/* Number of counters of fragments, as for chunks (chunks.h). */
static inline int64_t sl_row_tile_counters(const sl_row_tiles *t) {
  return t->longs > 0 ? 2 * t->longs + t->fragments / SL_FRAGMENT_GROUP + 1 : 0;
}

#endif

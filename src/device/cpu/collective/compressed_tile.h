/* SPDX-License-Identifier: Apache-2.0 */
/* Reads compressed arrays tile by tile. The input may be in any format and have any content: each tile is
 * checked before it is returned. */
#ifndef SLEY_DEVICE_CPU_COLLECTIVE_COMPRESSED_TILE_H
#define SLEY_DEVICE_CPU_COLLECTIVE_COMPRESSED_TILE_H

#include "device/op/op_compress.h"

/* An array that is read by tiles. */
typedef struct sl_compressed_reader {
  bool absent; /* true: the header is invalid, and the array is read as zeros */
  sl_compressed_format format;
  int64_t value_bytes, count, nonzeros;
  const char *payload;
  sl_compressed_layout layout;
} sl_compressed_reader;

/* The values of a tile that are kept: values[j], j < kept, is value place[j] of the tile, or value j if
 * in_order. */
typedef struct sl_compressed_tile {
  const char *values;
  int kept;
  bool in_order;
  uint16_t place[SL_TILE_VALUES];
} sl_compressed_tile;

/* Opens the compressed array at src, of which at most `room` bytes may be read. src is aligned to 8 bytes.
 * Returns bits of sl_compressed_fault, 0 if the header is valid. */
unsigned sl_compressed_reader_open(const void *src, int64_t room, sley_type type, int64_t count,
                                   sl_compressed_reader *out);

/* Treats a dense array as an array of tiles. */
sl_compressed_reader sl_compressed_reader_dense(const void *src, sley_type type, int64_t count);

/* Reads one tile; an invalid tile is returned empty. Returns bits of sl_compressed_fault. */
unsigned sl_compressed_reader_get(const sl_compressed_reader *array, int64_t tile, sl_compressed_tile *out);

/* Values in a tile of an array of count values. */
static inline int sl_compressed_tile_length(int64_t count, int64_t tile) {
  int64_t rest = count - tile * SL_TILE_VALUES;
  return rest < SL_TILE_VALUES ? (int)rest : SL_TILE_VALUES;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads compressed arrays tile by tile. The input may be in any format and have any content: each tile is
 * checked before it is returned. */
#ifndef SLEY_DEVICE_CPU_COMPRESSED_TILE_H
#define SLEY_DEVICE_CPU_COMPRESSED_TILE_H

#include "device/op_compress.h"

/* An array that is read by tiles. */
typedef struct sl_tiled {
  bool absent; /* its header is invalid: it is read as zeros */
  sl_compressed_format format;
  int64_t value_bytes, count, nonzeros;
  const char *payload;
  sl_compressed_layout layout;
} sl_tiled;

/* The values of a tile that are kept: values[j], j < kept, is value place[j] of the tile, or value j if
 * in_order. */
typedef struct sl_tile {
  const char *values;
  int kept;
  bool in_order;
  uint16_t place[SL_TILE_VALUES];
} sl_tile;

/* Opens the compressed array at src, of which at most `room` bytes may be read. src is aligned to 8 bytes.
 * Returns bits of sl_compressed_fault, 0 if the header is valid. */
unsigned sl_tiled_open(const void *src, int64_t room, sley_type type, int64_t count, sl_tiled *out);

/* Treats a dense array as an array of tiles. */
sl_tiled sl_tiled_dense(const void *src, sley_type type, int64_t count);

/* Reads one tile; an invalid tile is returned empty. Returns bits of sl_compressed_fault. */
unsigned sl_tiled_get(const sl_tiled *array, int64_t tile, sl_tile *out);

/* Values in a tile of an array of count values. */
static inline int sl_tile_length(int64_t count, int64_t tile) {
  int64_t rest = count - tile * SL_TILE_VALUES;
  return rest < SL_TILE_VALUES ? (int)rest : SL_TILE_VALUES;
}

#endif

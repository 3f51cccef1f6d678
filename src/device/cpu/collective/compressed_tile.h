/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed arrays, tile by tile, of any format and with any content: what is handed out is checked. */
#ifndef SLEY_DEVICE_CPU_COLLECTIVE_COMPRESSED_TILE_H
#define SLEY_DEVICE_CPU_COLLECTIVE_COMPRESSED_TILE_H

#include "device/op/op_compress.h"

/* An array to be read by tiles. */
typedef struct sl_compressed_reader {
  bool absent; /* its header is wrong: it counts as zeros */
  sl_compressed_format format;
  int64_t value_bytes, count, nonzeros;
  const char *payload;
  sl_compressed_layout layout;
} sl_compressed_reader;

/* The values kept of a tile: values[j], j < kept, is value place[j] of the tile, or value j of it if
 * in_order.
 */
typedef struct sl_compressed_tile {
  const char *values;
  int kept;
  bool in_order;
  uint16_t place[SL_TILE_VALUES];
} sl_compressed_tile;

/* What is compressed at src, of which room bytes may be read; src is aligned to 8 bytes. Bits of
 * sl_compressed_fault. */
unsigned sl_compressed_reader_open(const void *src, int64_t room, sley_type type, int64_t count,
                                   sl_compressed_reader *out);

/* A dense array as it is. */
sl_compressed_reader sl_compressed_reader_dense(const void *src, sley_type type, int64_t count);

/* A tile of it; of one that is wrong, nothing. Bits of sl_compressed_fault. */
unsigned sl_compressed_reader_get(const sl_compressed_reader *array, int64_t tile, sl_compressed_tile *out);

/* Values in a tile of an array of count values. */
static inline int sl_compressed_tile_length(int64_t count, int64_t tile) {
  int64_t rest = count - tile * SL_TILE_VALUES;
  return rest < SL_TILE_VALUES ? (int)rest : SL_TILE_VALUES;
}

#endif

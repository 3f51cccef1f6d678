/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of compressed arrays. Each tile is checked by itself, and together the checks cover the whole
 * payload. Pici: the counts of a tile and of the next one differ by the number of set bits, and the first
 * count is 0. COO: the tile's positions, found by bisection, ascend within the tile, and the tiles together
 * use all positions. */
#include "device/cpu/collective/compressed_tile.h"

#include <string.h>

unsigned sl_compressed_reader_open(const void *src, int64_t room, sley_type type, int64_t count,
                                   sl_compressed_reader *out) {
  sl_compressed_header header = {0};
  if (room >= SL_COMPRESSED_HEADER)
    memcpy(&header, src, sizeof header);
  *out = (sl_compressed_reader){.absent = true, .count = count};
  if (sl_compressed_fault_of(&header, type, count, room))
    return SL_FAULT_HEADER;
  sl_compressed_format format = (sl_compressed_format)header.format;
  *out = (sl_compressed_reader){.format = format,
                                .value_bytes = (int64_t)sley_type_bytes(type),
                                .count = count,
                                .nonzeros = header.nonzeros,
                                .payload = (const char *)src + SL_COMPRESSED_HEADER,
                                .layout = sl_compressed_payload(format, type, count, header.nonzeros)};
  return 0;
}

sl_compressed_reader sl_compressed_reader_dense(const void *src, sley_type type, int64_t count) {
  return (sl_compressed_reader){.format = SL_COMPRESSED_DENSE,
                                .value_bytes = (int64_t)sley_type_bytes(type),
                                .count = count,
                                .payload = src};
}

/* Number of values kept before a tile, according to the payload. */
static uint64_t before_tile(const sl_compressed_reader *array, int64_t tile) {
  const void *index = array->payload + array->layout.index;
  return array->format == SL_COMPRESSED_PICI32 ? ((const uint32_t *)index)[tile]
                                               : ((const uint64_t *)index)[tile];
}

/* The bits of a column that stand for values, in a tile of `length` values. */
static uint64_t column_mask(int length, int column) {
  int rows = (length - column + SL_TILE_COLUMNS - 1) / SL_TILE_COLUMNS;
  return rows >= 64 ? UINT64_MAX : rows <= 0 ? 0 : (UINT64_C(1) << rows) - 1;
}

static unsigned pici_tile(const sl_compressed_reader *array, int64_t tile, sl_compressed_tile *out) {
  const uint64_t *words = (const uint64_t *)array->payload + tile * SL_TILE_COLUMNS;
  bool last = tile + 1 == sl_compressed_tiles(array->count);
  uint64_t begin = before_tile(array, tile), all = (uint64_t)array->nonzeros,
           end = last ? all : before_tile(array, tile + 1), beyond = 0;
  int length = sl_compressed_tile_length(array->count, tile), kept = 0;
  for (int c = 0; c < SL_TILE_COLUMNS; c++) {
    beyond |= words[c] & ~column_mask(length, c);
    kept += __builtin_popcountll(words[c]);
  }
  if (beyond || begin > end || end > all || end - begin != (uint64_t)kept || (tile == 0 && begin != 0))
    return SL_FAULT_PAYLOAD;
  out->values = array->payload + array->layout.values + (int64_t)begin * array->value_bytes;
  for (int c = 0; c < SL_TILE_COLUMNS; c++)
    for (uint64_t word = words[c]; word; word &= word - 1)
      out->place[out->kept++] = (uint16_t)(__builtin_ctzll(word) * SL_TILE_COLUMNS + c);
  return 0;
}

/* Number of positions below a limit, provided that they ascend. */
static int64_t below(const uint32_t *position, int64_t count, int64_t limit) {
  int64_t from = 0, to = count;
  while (from < to) {
    int64_t middle = from + (to - from) / 2;
    if (position[middle] < limit)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

static unsigned coo_tile(const sl_compressed_reader *array, int64_t tile, sl_compressed_tile *out) {
  const uint32_t *position = (const uint32_t *)array->payload;
  int64_t first = tile * SL_TILE_VALUES, end = first + sl_compressed_tile_length(array->count, tile);
  int64_t from = below(position, array->nonzeros, first), to = below(position, array->nonzeros, end);
  if (from > to || to - from > end - first || (end == array->count && to != array->nonzeros))
    return SL_FAULT_PAYLOAD;
  for (int64_t j = from, least = first; j < to; least = (int64_t)position[j++] + 1) {
    if (position[j] < least) /* the last one is below end, by the bisection */
      return SL_FAULT_PAYLOAD;
    out->place[j - from] = (uint16_t)(position[j] - first);
  }
  out->values = array->payload + array->layout.values + from * array->value_bytes;
  out->kept = (int)(to - from);
  return 0;
}

unsigned sl_compressed_reader_get(const sl_compressed_reader *array, int64_t tile, sl_compressed_tile *out) {
  out->kept = 0;
  out->in_order = false;
  out->values = NULL;
  if (array->absent)
    return 0;
  if (array->format == SL_COMPRESSED_COO)
    return coo_tile(array, tile, out);
  if (array->format != SL_COMPRESSED_DENSE)
    return pici_tile(array, tile, out);
  out->in_order = true;
  out->values = array->payload + tile * SL_TILE_VALUES * array->value_bytes;
  out->kept = sl_compressed_tile_length(array->count, tile);
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the nonzero values of an array and compresses it by leaving out the zeros. The team works tile by
 * tile, once to count and once to write. The reference for all devices. */
#include <string.h>

#include "device/cpu/collective/compressed_tile.h"
#include "device/cpu/cpu.h"

enum { GRAIN_TILES = 16 };

/* Bits of value i. value_bytes is a constant at each call, which is inlined. */
static inline __attribute__((always_inline)) uint64_t bits_at(const void *src, int64_t value_bytes,
                                                              int64_t i) {
  if (value_bytes == 1)
    return ((const uint8_t *)src)[i];
  if (value_bytes == 2)
    return ((const uint16_t *)src)[i];
  return value_bytes == 4 ? ((const uint32_t *)src)[i] : ((const uint64_t *)src)[i];
}

static inline __attribute__((always_inline)) void set_bits(void *dst, int64_t value_bytes, int64_t i,
                                                           uint64_t bits) {
  if (value_bytes == 1)
    ((uint8_t *)dst)[i] = (uint8_t)bits;
  else if (value_bytes == 2)
    ((uint16_t *)dst)[i] = (uint16_t)bits;
  else if (value_bytes == 4)
    ((uint32_t *)dst)[i] = (uint32_t)bits;
  else
    ((uint64_t *)dst)[i] = bits;
}

/* Selects the call with a constant in place of value_bytes. */
#define BY_WIDTH(value_bytes, call_1, call_2, call_4, call_8)                                                \
  ((value_bytes) == 1 ? (call_1) : (value_bytes) == 2 ? (call_2) : (value_bytes) == 4 ? (call_4) : (call_8))

/* ---- counting */

static inline __attribute__((always_inline)) int64_t count_in(const void *src, int64_t value_bytes,
                                                              int64_t count) {
  int64_t nonzeros = 0;
  for (int64_t i = 0; i < count; i++)
    nonzeros += bits_at(src, value_bytes, i) != 0;
  return nonzeros;
}

static int64_t count_nonzeros(const void *src, int64_t value_bytes, int64_t count) {
  return BY_WIDTH(value_bytes, count_in(src, 1, count), count_in(src, 2, count), count_in(src, 4, count),
                  count_in(src, 8, count));
}

static sley_status count_tiles(void *context, int64_t begin, int64_t end, int thread) {
  const sl_nonzeros_args *a = context;
  int64_t value_bytes = (int64_t)sley_type_bytes(a->type), values = end * SL_TILE_VALUES;
  (void)thread;
  begin *= SL_TILE_VALUES;
  values = (values < a->count ? values : a->count) - begin;
  int64_t found = count_nonzeros((const char *)a->src + begin * value_bytes, value_bytes, values);
  __atomic_fetch_add(a->nonzeros, found, __ATOMIC_RELAXED);
  return SLEY_OK;
}

static sley_status nonzeros_run(sl_queue *queue, const sl_kernel_args *args) {
  sl_nonzeros_args a = args->nonzeros;
  *a.nonzeros = 0;
  return sl_team_for(sl_cpu_queue_team(queue), sl_compressed_tiles(a.count), GRAIN_TILES, count_tiles, &a);
}

static bool nonzeros_ok(const sl_kernel_args *args) {
  return sl_compressible(args->nonzeros.type, args->nonzeros.count);
}

const sl_kernel sl_cpu_nonzeros = {.name = "nonzeros",
                                   .op = SL_OP_NONZEROS,
                                   .ok = nonzeros_ok,
                                   .cost = sl_cost_of_bytes,
                                   SL_KERNEL_KEEPS_NOTHING,
                                   .run = nonzeros_run};

/* ---- compressing */

typedef struct compression {
  const sl_compress_part *a;
  sley_type type;
  int64_t value_bytes;
  int64_t *before; /* tiles + 1 offsets: values kept before each tile; until they are summed, values kept in
                    * each tile */
  sl_compressed_format format;
  sl_compressed_layout layout;
  char *payload;
} compression;

static const char *tile_of(const compression *c, int64_t tile) {
  return (const char *)c->a->src + tile * SL_TILE_VALUES * c->value_bytes;
}

static sley_status count_each(void *context, int64_t begin, int64_t end, int thread) {
  const compression *c = context;
  (void)thread;
  for (int64_t tile = begin; tile < end; tile++) {
    const int length = sl_compressed_tile_length(c->a->count, tile);
    c->before[tile] = count_nonzeros(tile_of(c, tile), c->value_bytes, length);
    if (c->a->copy)
      memcpy((char *)c->a->copy + tile * SL_TILE_VALUES * c->value_bytes, tile_of(c, tile),
             (size_t)(length * c->value_bytes));
  }
  return SLEY_OK;
}

static inline __attribute__((always_inline)) void pici_in(const void *src, int64_t value_bytes, int length,
                                                          uint64_t *words, void *values) {
  int64_t kept = 0;
  memset(words, 0, SL_TILE_COLUMNS * sizeof *words);
  for (int i = 0; i < length; i++)
    words[i % SL_TILE_COLUMNS] |= (uint64_t)(bits_at(src, value_bytes, i) != 0) << (i / SL_TILE_COLUMNS);
  for (int c = 0; c < SL_TILE_COLUMNS; c++)
    for (uint64_t word = words[c]; word; word &= word - 1)
      set_bits(values, value_bytes, kept++,
               bits_at(src, value_bytes, __builtin_ctzll(word) * SL_TILE_COLUMNS + c));
}

static void write_pici(const compression *c, int64_t tile) {
  const char *src = tile_of(c, tile);
  int length = sl_compressed_tile_length(c->a->count, tile);
  uint64_t *words = (uint64_t *)c->payload + tile * SL_TILE_COLUMNS;
  char *index = c->payload + c->layout.index;
  char *values = c->payload + c->layout.values + c->before[tile] * c->value_bytes;
  if (c->format == SL_COMPRESSED_PICI32)
    ((uint32_t *)index)[tile] = (uint32_t)c->before[tile];
  else
    ((uint64_t *)index)[tile] = (uint64_t)c->before[tile];
  BY_WIDTH(c->value_bytes, pici_in(src, 1, length, words, values), pici_in(src, 2, length, words, values),
           pici_in(src, 4, length, words, values), pici_in(src, 8, length, words, values));
}

/* Number of values tested together; skipped if all of them are zero. */
enum { BLOCK = 16 };

static inline __attribute__((always_inline)) bool is_zero_block(const void *src, int64_t value_bytes, int i) {
  const char *at = (const char *)src + i * value_bytes;
  uint64_t any = 0;
  for (int64_t b = 0; b < BLOCK * value_bytes; b += (int64_t)sizeof any) {
    uint64_t bits;
    memcpy(&bits, at + b, sizeof bits);
    any |= bits;
  }
  return any == 0;
}

/* Writes the positions and values of the `keeps` values of a tile that are kept. Each value is stored, and
 * the index advances only if it is kept; a branch would be mispredicted for about every value kept. */
static inline __attribute__((always_inline)) void coo_in(const void *src, int64_t value_bytes, int length,
                                                         int64_t first, int64_t keeps, uint32_t *position,
                                                         void *values) {
  int64_t kept = 0;
  for (int begin = 0; begin < length && kept < keeps; begin += BLOCK) {
    int end = begin + BLOCK < length ? begin + BLOCK : length;
    if (end - begin == BLOCK && is_zero_block(src, value_bytes, begin))
      continue;
    for (int i = begin; i < end && kept < keeps; i++) {
      uint64_t bits = bits_at(src, value_bytes, i);
      position[kept] = (uint32_t)(first + i);
      set_bits(values, value_bytes, kept, bits);
      kept += bits != 0;
    }
  }
}

static void write_coo(const compression *c, int64_t tile) {
  const char *src = tile_of(c, tile);
  int length = sl_compressed_tile_length(c->a->count, tile);
  int64_t first = tile * SL_TILE_VALUES, keeps = c->before[tile + 1] - c->before[tile];
  uint32_t *position = (uint32_t *)c->payload + c->before[tile];
  char *values = c->payload + c->layout.values + c->before[tile] * c->value_bytes;
  BY_WIDTH(c->value_bytes, coo_in(src, 1, length, first, keeps, position, values),
           coo_in(src, 2, length, first, keeps, position, values),
           coo_in(src, 4, length, first, keeps, position, values),
           coo_in(src, 8, length, first, keeps, position, values));
}

static sley_status write_tiles(void *context, int64_t begin, int64_t end, int thread) {
  const compression *c = context;
  (void)thread;
  for (int64_t tile = begin; tile < end; tile++)
    if (c->format == SL_COMPRESSED_COO)
      write_coo(c, tile);
    else if (c->format != SL_COMPRESSED_DENSE)
      write_pici(c, tile);
    else
      memcpy(c->payload + tile * SL_TILE_VALUES * c->value_bytes, tile_of(c, tile),
             (size_t)(sl_compressed_tile_length(c->a->count, tile) * c->value_bytes));
  return SLEY_OK;
}

/* Writes zeros after an array of the payload, up to the next multiple of the alignment. */
static void pad(const compression *c, int64_t end) {
  memset(c->payload + end, 0, (size_t)(sl_compressed_padded(end) - end));
}

static void write_header_and_pads(const compression *c, int64_t tiles, int64_t nonzeros) {
  sl_compressed_header header = {.magic = SL_COMPRESSED_MAGIC,
                                 .version = SL_COMPRESSED_VERSION,
                                 .format = (uint8_t)c->format,
                                 .type = (uint8_t)c->type,
                                 .count = c->a->count,
                                 .nonzeros = nonzeros,
                                 .payload_bytes = c->layout.bytes};
  memcpy(c->a->dst, &header, sizeof header);
  pad(c, c->layout.values + (c->format == SL_COMPRESSED_DENSE ? c->a->count : nonzeros) * c->value_bytes);
  if (c->format == SL_COMPRESSED_COO)
    pad(c, nonzeros * (int64_t)sizeof(uint32_t));
  if (c->format == SL_COMPRESSED_PICI32)
    pad(c, c->layout.index + tiles * (int64_t)sizeof(uint32_t));
}

static sley_status compress_part(sl_team *team, const sl_compress_part *a, sley_type type, void *work) {
  compression c = {.a = a,
                   .type = type,
                   .value_bytes = (int64_t)sley_type_bytes(type),
                   .before = work,
                   .format = a->format,
                   .payload = (char *)a->dst + SL_COMPRESSED_HEADER};
  int64_t tiles = sl_compressed_tiles(a->count), nonzeros = 0;
  SL_TRY(sl_team_for(team, tiles, GRAIN_TILES, count_each, &c));
  for (int64_t tile = 0; tile < tiles; tile++) {
    int64_t kept = c.before[tile];
    c.before[tile] = nonzeros;
    nonzeros += kept;
  }
  c.before[tiles] = nonzeros;
  if (!sl_compressed_serves(a->format, a->count) ||
      sl_compressed_bytes(a->format, type, a->count, nonzeros) > a->room)
    c.format = SL_COMPRESSED_DENSE;
  c.layout = sl_compressed_payload(c.format, type, a->count, nonzeros);
  write_header_and_pads(&c, tiles, nonzeros);
  return sl_team_for(team, tiles, GRAIN_TILES, write_tiles, &c);
}

/* Compresses one part after the other; all use the start of the working memory. */
static sley_status compress_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_compress_args *a = &args->compress;
  for (int p = 0; p < a->parts; p++)
    SL_TRY(compress_part(sl_cpu_queue_team(queue), &a->part[p], a->type, a->work));
  return SLEY_OK;
}

static bool compress_ok(const sl_kernel_args *args) {
  return sl_compresses(&args->compress);
}

const sl_kernel sl_cpu_compress = {.name = "compress",
                                   .op = SL_OP_COMPRESS,
                                   .ok = compress_ok,
                                   .cost = sl_cost_of_bytes,
                                   SL_KERNEL_KEEPS_NOTHING,
                                   .run = compress_run};

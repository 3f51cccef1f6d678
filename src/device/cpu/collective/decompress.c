/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses arrays to dense ones, and sums them, tile by tile over the team. The reference for all
 * devices. */
#include <stddef.h>
#include <string.h>

#include "base/value.h"
#include "device/cpu/collective/compressed_tile.h"
#include "device/cpu/cpu.h"

enum { GRAIN_TILES = 4 };

static void report(uint32_t *wrong, unsigned fault) {
  if (fault)
    __atomic_fetch_or(wrong, fault, __ATOMIC_RELAXED);
}

/* ---- one array */

typedef struct decompression {
  const sl_compressed_part *part;
  uint32_t *wrong;
  sl_compressed_reader array;
  int64_t value_bytes;
} decompression;

#define PLACE(type)                                                                                          \
  for (int j = 0; j < tile->kept; j++)                                                                       \
  ((type *)dst)[tile->place[j]] = ((const type *)tile->values)[j]

static void place_values(const sl_compressed_tile *tile, int64_t value_bytes, void *dst) {
  if (value_bytes == 1)
    PLACE(uint8_t);
  else if (value_bytes == 2)
    PLACE(uint16_t);
  else if (value_bytes == 4)
    PLACE(uint32_t);
  else
    PLACE(uint64_t);
}

static sley_status decompress_tiles(void *context, int64_t begin, int64_t end, int thread) {
  const decompression *d = context;
  sl_compressed_tile tile;
  (void)thread;
  for (int64_t t = begin; t < end; t++) {
    char *dst = (char *)d->part->dst + t * SL_TILE_VALUES * d->value_bytes;
    size_t bytes = (size_t)(sl_compressed_tile_length(d->part->count, t) * d->value_bytes);
    report(d->wrong, sl_compressed_reader_get(&d->array, t, &tile));
    if (tile.in_order) {
      memcpy(dst, tile.values, bytes);
    } else {
      memset(dst, 0, bytes);
      place_values(&tile, d->value_bytes, dst);
    }
  }
  return SLEY_OK;
}

static sley_status decompress_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_decompress_args *a = &args->decompress;
  decompression d = {.wrong = a->wrong, .value_bytes = (int64_t)sley_type_bytes(a->type)};
  for (int p = 0; p < a->parts; p++) {
    d.part = &a->part[p];
    report(a->wrong, sl_compressed_reader_open(d.part->src, d.part->room, a->type, d.part->count, &d.array));
    SL_TRY(sl_team_for(sl_cpu_queue_team(queue), sl_compressed_tiles(d.part->count), GRAIN_TILES,
                       decompress_tiles, &d));
  }
  return SLEY_OK;
}

static bool decompress_ok(const sl_kernel_args *args) {
  return sl_decompressible(&args->decompress);
}

const sl_kernel sl_cpu_decompress = {.name = "decompress",
                                     .op = SL_OP_DECOMPRESS,
                                     .ok = decompress_ok,
                                     .cost = sl_cost_of_bytes,
                                     SL_KERNEL_KEEPS_NOTHING,
                                     .run = decompress_run};

/* ---- sums */

/* The sums of a tile. They begin as +0. Adding to +0 keeps every value except -0, and values left out add
 * nothing. Only a sum of nothing but -0 needs special care: minus counts the terms that are -0. */
typedef struct tile_sums {
  union {
    float f32[SL_TILE_VALUES];
    double f64[SL_TILE_VALUES];
  };
  bool has_minus;
  uint32_t minus[SL_TILE_VALUES]; /* valid only if has_minus */
} tile_sums;

static void count_minus(tile_sums *sums, int place) {
  if (!sums->has_minus)
    memset(sums->minus, 0, sizeof sums->minus);
  sums->has_minus = true;
  sums->minus[place]++;
}

/* type is a constant at each call, which is inlined. It has at most 32 bits, so the cast to float is
 * exact. */
static inline __attribute__((always_inline)) void add_f32(tile_sums *sums, const sl_compressed_tile *tile,
                                                          sley_dtype type) {
  for (int j = 0; j < tile->kept; j++) {
    int place = tile->in_order ? j : tile->place[j];
    float value = (float)sl_value_at(tile->values, type, j);
    sums->f32[place] += value;
    if (value == 0 && __builtin_signbit(value))
      count_minus(sums, place);
  }
}

static void add_f64(tile_sums *sums, const sl_compressed_tile *tile) {
  for (int j = 0; j < tile->kept; j++) {
    int place = tile->place[j];
    double value = ((const double *)tile->values)[j];
    sums->f64[place] += value;
    if (value == 0 && __builtin_signbit(value))
      count_minus(sums, place);
  }
}

/* For tiles from which no value was left out. Counts -0 in a loop apart from the sums, so that the compiler
 * vectorizes both. */
static void add_all_f32(tile_sums *sums, const sl_compressed_tile *tile) {
  const float *values = (const float *)(const void *)tile->values;
  uint32_t found = 0;
  for (int j = 0; j < tile->kept; j++) {
    uint32_t bits;
    memcpy(&bits, &values[j], sizeof bits);
    found |= bits == UINT32_C(1) << 31;
    sums->f32[j] += values[j];
  }
  for (int j = 0; found && j < tile->kept; j++)
    if (values[j] == 0 && __builtin_signbit(values[j]))
      count_minus(sums, j);
}

static void add_all_f64(tile_sums *sums, const sl_compressed_tile *tile) {
  const double *values = (const double *)(const void *)tile->values;
  uint64_t found = 0;
  for (int j = 0; j < tile->kept; j++) {
    uint64_t bits;
    memcpy(&bits, &values[j], sizeof bits);
    found |= bits == UINT64_C(1) << 63;
    sums->f64[j] += values[j];
  }
  for (int j = 0; found && j < tile->kept; j++)
    if (values[j] == 0 && __builtin_signbit(values[j]))
      count_minus(sums, j);
}

static void add_tile(tile_sums *sums, const sl_compressed_tile *tile, sley_type type) {
  if (type == SLEY_TYPE_F64 && tile->in_order)
    add_all_f64(sums, tile);
  else if (type == SLEY_TYPE_F64)
    add_f64(sums, tile);
  else if (type == SLEY_TYPE_F32 && tile->in_order)
    add_all_f32(sums, tile);
  else if (type == SLEY_TYPE_F32)
    add_f32(sums, tile, SLEY_F32);
  else if (type == SLEY_TYPE_F16)
    add_f32(sums, tile, SLEY_F16);
  else
    add_f32(sums, tile, SLEY_BF16);
}

/* Sets the sign of zeros, and replaces every NaN by the documented one. */
#define SETTLE(sums, member, length, parts, quiet)                                                           \
  do {                                                                                                       \
    for (int i = 0; i < (length); i++)                                                                       \
      (sums)->member[i] = (sums)->member[i] != (sums)->member[i] ? (quiet) : (sums)->member[i];              \
    for (int i = 0; (sums)->has_minus && i < (length); i++)                                                  \
      if ((sums)->minus[i] == (uint32_t)(parts))                                                             \
        (sums)->member[i] = -(sums)->member[i];                                                              \
  } while (0)

static void store_tile(tile_sums *sums, int length, int parts, sley_type type, void *dst) {
  if (type == SLEY_TYPE_F64) {
    SETTLE(sums, f64, length, parts, __builtin_nan(""));
    memcpy(dst, sums->f64, (size_t)length * sizeof(double));
    return;
  }
  SETTLE(sums, f32, length, parts, __builtin_nanf(""));
  if (type == SLEY_TYPE_F32)
    memcpy(dst, sums->f32, (size_t)length * sizeof(float));
  else if (type == SLEY_TYPE_F16)
    for (int i = 0; i < length; i++)
      ((uint16_t *)dst)[i] = sl_f16_of_f32(sums->f32[i]);
  else
    for (int i = 0; i < length; i++)
      ((uint16_t *)dst)[i] = sl_bf16_of_f32(sums->f32[i]);
}

/* Opens part p. Its header is checked again for every range of tiles, which is cheaper than keeping the
 * result. */
static unsigned open_part(const sl_sparse_sum_args *a, int p, sl_compressed_reader *out) {
  if (p == a->own) {
    *out = sl_compressed_reader_dense(a->own_src, a->type, a->count);
    return 0;
  }
  return sl_compressed_reader_open(a->src[p], a->room, a->type, a->count, out);
}

static sley_status sum_tiles(void *context, int64_t begin, int64_t end, int thread) {
  const sl_sparse_sum_args *a = context;
  int64_t value_bytes = (int64_t)sley_type_bytes(a->type);
  tile_sums sums;
  sl_compressed_tile tile;
  sl_compressed_reader part;
  (void)thread;
  for (int64_t t = begin; t < end; t++) {
    memset(&sums, 0, offsetof(tile_sums, minus));
    for (int p = 0; p < a->parts; p++) {
      report(a->wrong, open_part(a, p, &part));
      report(a->wrong, sl_compressed_reader_get(&part, t, &tile));
      add_tile(&sums, &tile, a->type);
    }
    store_tile(&sums, sl_compressed_tile_length(a->count, t), a->parts, a->type,
               (char *)a->dst + t * SL_TILE_VALUES * value_bytes);
  }
  return SLEY_OK;
}

static sley_status sparse_sum_run(sl_queue *queue, const sl_kernel_args *args) {
  sl_sparse_sum_args a = args->sparse_sum;
  sl_compressed_reader part;
  for (int p = 0; p < a.parts; p++) /* checks the headers even if there are no tiles */
    report(a.wrong, open_part(&a, p, &part));
  return sl_team_for(sl_cpu_queue_team(queue), sl_compressed_tiles(a.count), GRAIN_TILES, sum_tiles, &a);
}

static bool sparse_sum_ok(const sl_kernel_args *args) {
  return sl_sparsely_summable(&args->sparse_sum);
}

const sl_kernel sl_cpu_sparse_sum = {.name = "sparse-sum",
                                     .op = SL_OP_SPARSE_SUM,
                                     .ok = sparse_sum_ok,
                                     .cost = sl_cost_of_bytes,
                                     SL_KERNEL_KEEPS_NOTHING,
                                     .run = sparse_sum_run};

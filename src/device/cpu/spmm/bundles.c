/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/spmm/bundles.h"

#include "base/memory.h"
#include "base/value.h"

static int64_t row_numbers(const sl_spmm_matrix *a) {
  return a->rowid ? 2 : 1;
}

int64_t sl_bundles_bytes(const sl_spmm_matrix *a, int64_t bundles, int height) {
  int64_t entry = (int64_t)sizeof(int32_t) + (int64_t)sley_dtype_bytes(sl_sum_dtype(a->dtype));
  return bundles * ((int64_t)sizeof(sl_bundle) + row_numbers(a) * height * (int64_t)sizeof(int32_t)) +
         sl_spmm_entries(a) * entry;
}

sley_status sl_bundles_alloc(const sl_spmm_matrix *a, int64_t k, int64_t bundles, int height, int window,
                             sl_bundles **out) {
  int64_t entries = sl_spmm_entries(a), rows = bundles * height;
  *out = NULL;
  sl_bundles *s;
  SL_TRY(SL_NEW_ZERO(s, 1, "the bundles of a part"));
  s->height = height;
  s->window = window;
  s->k = (int32_t)k;
  s->bundle = sl_alloc(bundles, sizeof *s->bundle, "the bundles of a part");
  s->row = sl_alloc(rows * row_numbers(a), sizeof *s->row, "the bundles of a part");
  s->y = a->rowid && s->row ? s->row + rows : s->row;
  s->x = sl_alloc(entries, sizeof *s->x, "the bundles of a part");
  s->val = sl_alloc(entries, sley_dtype_bytes(sl_sum_dtype(a->dtype)), "the bundles of a part");
  if (s->bundle && s->row && s->x && s->val) {
    *out = s;
    return SLEY_OK;
  }
  sl_bundles_free(s);
  return SLEY_ERR_MEMORY;
}

void sl_bundles_free(sl_bundles *bundles) {
  if (!bundles)
    return;
  sl_free(bundles->bundle);
  sl_free(bundles->row);
  sl_free(bundles->x);
  sl_free(bundles->val);
  sl_free(bundles);
}

/* Classes of row lengths: one for each length below EXACT; STEPS between each power of two and the next, up
 * to 2^(EXACT_BITS + POWERS); one for all longer rows. */
enum {
  EXACT_BITS = 8,
  EXACT = 1 << EXACT_BITS,
  STEP_BITS = 3,
  STEPS = 1 << STEP_BITS,
  POWERS = 14,
  LENGTHS = EXACT + STEPS * POWERS
};

static int64_t length_of(const sl_spmm_matrix *a, int64_t row) {
  return a->rowptr[row + 1] - a->rowptr[row];
}

/* Sort key of a row: longer rows have a lower rank. */
static int rank_of(const sl_spmm_matrix *a, int64_t row) {
  int64_t length = length_of(a, row);
  if (length < EXACT)
    return (int)(LENGTHS - length);
  int power = 63 - __builtin_clzll((uint64_t)length) - EXACT_BITS;
  if (power >= POWERS)
    return 0;
  int step = (int)(length >> (power + EXACT_BITS - STEP_BITS)) - STEPS;
  return STEPS * (POWERS - power) - step;
}

/* Writes the numbers of stored rows [first, first + count) to out, longer rows first; rows of the same class
 * keep their order. */
static void sort_rows(const sl_spmm_matrix *a, int64_t first, int count, int32_t *out) {
  int at[LENGTHS + 1] = {0};
  for (int i = 0; i < count; i++)
    at[rank_of(a, first + i)]++;
  for (int l = 0; l < LENGTHS; l++)
    at[l + 1] += at[l];
  for (int i = count - 1; i >= 0; i--)
    out[--at[rank_of(a, first + i)]] = (int32_t)(first + i);
}

typedef struct source {
  const sl_spmm_matrix *a;
  const void *val;
} source;

static inline __attribute__((always_inline)) void put(sl_bundles *s, const source *from, int64_t entry,
                                                      int64_t to, const bool columns,
                                                      const sley_dtype dtype) {
  if (columns)
    s->x[to] = s->k * (from->a->index == SLEY_I32 ? ((const int32_t *)from->a->col)[entry]
                                                  : (int32_t)((const int64_t *)from->a->col)[entry]);
  sl_value_set(s->val, sl_sum_dtype(dtype), to, sl_value_at(from->val, dtype, entry));
}

static inline __attribute__((always_inline)) void put_bundle(sl_bundles *s, const source *from, int64_t index,
                                                             const bool columns, const sley_dtype dtype) {
  const sl_bundle bundle = s->bundle[index];
  const int32_t *row = s->row + index * s->height;
  const int64_t *rowptr = from->a->rowptr;
  int64_t to = bundle.first;
  for (int n = 0; n < bundle.common; n++)
    for (int r = 0; r < bundle.rows; r++)
      put(s, from, rowptr[row[r]] + n, to++, columns, dtype);
  if (!bundle.ragged)
    return;
  for (int r = 0; r < bundle.rows; r++)
    for (int64_t entry = rowptr[row[r]] + bundle.common; entry < rowptr[row[r] + 1]; entry++)
      put(s, from, entry, to++, columns, dtype);
}

static inline __attribute__((always_inline)) void
put_bundles(sl_bundles *s, const source *from, int64_t begin, int64_t end, const bool columns) {
  for (int64_t i = begin; i < end; i++)
    switch (from->a->dtype) {
    case SLEY_F32:
      put_bundle(s, from, i, columns, SLEY_F32);
      break;
    case SLEY_F64:
      put_bundle(s, from, i, columns, SLEY_F64);
      break;
    case SLEY_F16:
      put_bundle(s, from, i, columns, SLEY_F16);
      break;
    case SLEY_BF16:
      put_bundle(s, from, i, columns, SLEY_BF16);
      break;
    }
}

/* Fills bundle `index` with these rows. Their entries go to the arrays from *entry on, which is advanced. */
static void make_bundle(sl_bundles *b, const sl_spmm_matrix *a, int64_t index, const int32_t *row, int rows,
                        int64_t *entry) {
  int64_t entries = 0, least = INT32_MAX;
  int32_t *y = b->y + index * b->height;
  bool joined = rows == b->height;
  for (int r = 0; r < rows; r++) {
    int64_t length = length_of(a, row[r]);
    b->row[index * b->height + r] = row[r];
    if (a->rowid)
      y[r] = (int32_t)a->rowid[row[r]];
    joined = joined && y[r] == y[0] + r;
    entries += length;
    least = length < least ? length : least;
  }
  int64_t common = rows == b->height ? least : 0;
  b->bundle[index] = (sl_bundle){.first = *entry,
                                 .common = (int32_t)common,
                                 .rows = (int16_t)rows,
                                 .ragged = entries > common * rows,
                                 .joined = joined};
  *entry += entries;
}

void sl_bundles_fill(sl_bundles *b, const sl_spmm_matrix *a, int64_t first, int64_t row, int64_t row_end) {
  int64_t entry = a->rowptr[row] - a->rowptr[0], index = first;
  for (int64_t begin = row; begin < row_end; begin += b->window) {
    int32_t sorted[SL_BUNDLES_WINDOW];
    int rows = (int)(row_end - begin < b->window ? row_end - begin : b->window);
    sort_rows(a, begin, rows, sorted);
    for (int r = 0; r < rows; r += b->height)
      make_bundle(b, a, index++, sorted + r, rows - r < b->height ? rows - r : b->height, &entry);
  }
  put_bundles(b, &(source){a, a->val}, first, index, true);
}

void sl_bundles_refill(sl_bundles *s, const sl_spmm_matrix *a, const void *val, int64_t begin, int64_t end) {
  put_bundles(s, &(source){a, val}, begin, end, false);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/sparse_tile.h"

#include <string.h>

#include "base/value.h"

enum { GRAIN = 64, WORD = sizeof(int64_t) };

static bool add_product(int64_t *sum, int64_t a, int64_t b) {
  int64_t product;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(*sum, product, sum);
}

/* Bytes of the arrays of a tile that has entries. */
static bool array_bytes(const sl_tile_shape *s, int64_t *bytes) {
  *bytes = 0;
  return add_product(bytes, s->stored, s->stored < s->rows ? 2 * WORD : WORD) &&
         add_product(bytes, s->entries, (int64_t)(sl_index_bytes(s->index) + sley_dtype_bytes(s->dtype))) &&
         add_product(bytes, 1, WORD) && *bytes <= INT64_MAX - GRAIN;
}

bool sl_tile_shape_bytes(const sl_tile_shape *s, int64_t *bytes) {
  *bytes = 0;
  if (s->entries == 0)
    return true;
  if (!array_bytes(s, bytes))
    return false;
  *bytes = (*bytes + GRAIN - 1) / GRAIN * GRAIN;
  return true;
}

/* Returns whether values come before columns: the wider of both comes first, so that both are aligned. */
static bool values_first(const sl_tile_shape *s) {
  return sley_dtype_bytes(s->dtype) >= sl_index_bytes(s->index);
}

int64_t sl_sparse_tile_values(const sl_tile_shape *s) {
  if (s->entries == 0)
    return 0;
  return (s->stored + 1 + (s->stored < s->rows ? s->stored : 0)) * WORD +
         (values_first(s) ? 0 : s->entries * (int64_t)sl_index_bytes(s->index));
}

sl_tile sl_sparse_tile_view(const sl_tile_shape *s, const char *at) {
  sl_tile tile = {.rows = s->rows, .cols = s->cols, .stored = s->stored, .entries = s->entries};
  if (s->entries == 0)
    return tile;
  const int64_t *words = (const int64_t *)(const void *)at;
  tile.rowptr = words;
  if (s->stored < s->rows)
    tile.rowid = words + s->stored + 1;
  const char *val = at + sl_sparse_tile_values(s);
  tile.val = val;
  tile.col = values_first(s) ? val + s->entries * (int64_t)sley_dtype_bytes(s->dtype)
                             : val - s->entries * (int64_t)sl_index_bytes(s->index);
  return tile;
}

void sl_sparse_tile_write_rows(const sl_tile_shape *s, const int64_t *from, int64_t *words) {
  int64_t *rowptr = words, *rowid = s->stored < s->rows ? words + s->stored + 1 : NULL, stored = 0;
  if (s->entries == 0)
    return;
  rowptr[0] = 0;
  for (int64_t row = 0; row < s->rows; row++) {
    if (rowid && from[row + 1] == from[row])
      continue;
    if (rowid)
      rowid[stored] = row;
    rowptr[++stored] = from[row + 1];
  }
}

void sl_sparse_tile_pad(const sl_tile_shape *s, char *at) {
  int64_t used, bytes;
  if (s->entries > 0 && array_bytes(s, &used) && sl_tile_shape_bytes(s, &bytes))
    memset(at + used, 0, (size_t)(bytes - used));
}

void sl_sparse_tile_rowptr(const sl_tile *tile, int64_t *rowptr) {
  int64_t stored = 0;
  for (int64_t row = 0; row <= tile->rows; row++) {
    while (tile->rowid && stored < tile->stored && tile->rowid[stored] < row)
      stored++;
    rowptr[row] = tile->entries == 0 ? 0 : tile->rowptr[tile->rowid ? stored : row];
  }
}

sley_status sl_sparse_tile_copy(const sl_tile *tile, sley_index index, sley_dtype dtype, sl_csr_arrays *out) {
  SL_TRY(sl_csr_arrays_alloc(tile->rows, tile->entries, index, dtype, out));
  sl_sparse_tile_rowptr(tile, out->rowptr);
  if (tile->entries > 0) {
    memcpy(out->col, tile->col, (size_t)tile->entries * sl_index_bytes(index));
    memcpy(out->val, tile->val, (size_t)tile->entries * sley_dtype_bytes(dtype));
  }
  return SLEY_OK;
}

bool sl_sparse_tile_is_csr(const sl_tile *tile, sley_index index) {
  const int64_t *rowptr = tile->rowptr;
  bool good = rowptr[0] == 0 && rowptr[tile->stored] == tile->entries;
  for (int64_t s = 0; s < tile->stored; s++)
    good &= rowptr[s] <= rowptr[s + 1];
  int64_t before = -1;
  for (int64_t s = 0; tile->rowid && s < tile->stored; s++) {
    good &= tile->rowid[s] > before && tile->rowid[s] < tile->rows;
    before = tile->rowid[s];
  }
  uint64_t last = 0; /* as an unsigned number, a negative column is large */
  if (index == SLEY_I32)
    for (int64_t e = 0; e < tile->entries; e++) {
      const uint64_t col = ((const uint32_t *)tile->col)[e];
      last = col > last ? col : last;
    }
  else
    for (int64_t e = 0; e < tile->entries; e++) {
      const uint64_t col = ((const uint64_t *)tile->col)[e];
      last = col > last ? col : last;
    }
  return good && last < (uint64_t)tile->cols;
}

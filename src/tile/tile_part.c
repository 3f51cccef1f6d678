/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/tile_part.h"

#include <string.h>

#include "base/memory.h"
#include "base/value.h"

enum { WORD = sizeof(int64_t) };

/* Reads bytes of tile (i, j) from an offset in it on. */
static sley_status read_bytes(const sl_tiled *t, int64_t i, int64_t j, int64_t offset, void *to,
                              int64_t bytes) {
  const sl_tile_pointer *p = sl_tile_at(t, i, j);
  const char *block = sl_tiled_block(t, p->rank);
  if (bytes == 0)
    return SLEY_OK;
  if (!block)
    return sl_get(t->symm, p->rank, p->offset + offset, to, bytes);
  memcpy(to, block + p->offset + offset, (size_t)bytes);
  t->comm->ops->counters_add(t->comm, sl_link_to(t->comm, p->rank), bytes, 1);
  return SLEY_OK;
}

/* ---- dense tiles */

sley_status sl_tile_part_values(const sl_tiled *t, int64_t i, int64_t j, const sley_tile_part *part,
                                void *data, int64_t ld) {
  const size_t value = sley_dtype_bytes(t->dtype);
  const int64_t row_bytes = sl_tile_width(&t->tiling, j) * (int64_t)value;
  char *rows = sl_alloc(part->rows * row_bytes, 1, "rows of a tile");
  if (!rows)
    return SLEY_ERR_MEMORY;
  const sley_status status = read_bytes(t, i, j, part->first_row * row_bytes, rows, part->rows * row_bytes);
  for (int64_t r = 0; status == SLEY_OK && part->cols > 0 && r < part->rows; r++)
    memcpy((char *)data + (size_t)(r * ld) * value, rows + r * row_bytes + part->first_col * (int64_t)value,
           (size_t)part->cols * value);
  sl_free(rows);
  return status;
}

/* ---- sparse tiles */

/* Stored rows of a part, and their arrays. */
typedef struct rows {
  sl_tile_shape shape;
  int64_t first, count;    /* stored rows */
  int64_t *rowid, *rowptr; /* of all stored rows, or NULL; of the rows of the part, count + 1 */
  char *col, *val;
} rows;

static void free_rows(rows *r) {
  sl_free(r->rowid);
  sl_free(r->rowptr);
  sl_free(r->col);
  sl_free(r->val);
}

static sley_status invalid(const sl_tiled *t, int64_t i, int64_t j) {
  return sl_fail_peer(sl_tile_at(t, i, j)->rank, "its tile (%lld, %lld) is not a CSR matrix", (long long)i,
                      (long long)j);
}

/* Finds the stored rows of the part. */
static sley_status find_rows(const sl_tiled *t, int64_t i, int64_t j, const sley_tile_part *part, rows *r) {
  r->first = part->first_row;
  r->count = part->rows;
  if (r->shape.stored == r->shape.rows)
    return SLEY_OK;
  SL_TRY(SL_NEW(r->rowid, r->shape.stored, "row numbers of a tile"));
  SL_TRY(read_bytes(t, i, j, (r->shape.stored + 1) * WORD, r->rowid, r->shape.stored * WORD));
  r->first = r->count = 0;
  for (int64_t s = 0, before = -1; s < r->shape.stored; before = r->rowid[s++]) {
    if (r->rowid[s] <= before || r->rowid[s] >= r->shape.rows)
      return invalid(t, i, j);
    r->first += r->rowid[s] < part->first_row;
    r->count += r->rowid[s] >= part->first_row && r->rowid[s] < part->first_row + part->rows;
  }
  return SLEY_OK;
}

/* Reads the row pointers and entries of the stored rows. */
static sley_status read_rows(const sl_tiled *t, int64_t i, int64_t j, rows *r) {
  const int64_t index = (int64_t)sl_index_bytes(t->index), value = (int64_t)sley_dtype_bytes(t->dtype);
  const int64_t val_at = sl_sparse_tile_values(&r->shape), col_at = value >= index
                                                                        ? val_at + r->shape.entries * value
                                                                        : val_at - r->shape.entries * index;
  SL_TRY(SL_NEW(r->rowptr, r->count + 1, "row pointers of a tile"));
  SL_TRY(read_bytes(t, i, j, r->first * WORD, r->rowptr, (r->count + 1) * WORD));
  if (r->rowptr[0] < 0 || r->rowptr[r->count] > r->shape.entries)
    return invalid(t, i, j);
  for (int64_t s = 0; s < r->count; s++)
    if (r->rowptr[s] > r->rowptr[s + 1])
      return invalid(t, i, j);
  const int64_t from = r->rowptr[0], count = r->rowptr[r->count] - from;
  r->col = sl_alloc(count, (size_t)index, "columns of a tile");
  r->val = r->col ? sl_alloc(count, (size_t)value, "values of a tile") : NULL;
  if (!r->val)
    return SLEY_ERR_MEMORY;
  SL_TRY(read_bytes(t, i, j, col_at + from * index, r->col, count * index));
  SL_TRY(read_bytes(t, i, j, val_at + from * value, r->val, count * value));
  for (int64_t e = 0; e < count; e++)
    if ((uint64_t)sl_index_at(r->col, t->index, e) >= (uint64_t)r->shape.cols)
      return invalid(t, i, j);
  return SLEY_OK;
}

/* Copies the entries in the part's columns, or counts them in out->rowptr if out->col is NULL. */
static void take_entries(const sl_tiled *t, const rows *r, const sley_tile_part *part, sl_csr_arrays *out) {
  int64_t at = 0, row = 0;
  for (int64_t s = 0; s < r->count; s++) {
    const int64_t to = r->rowid ? r->rowid[r->first + s] - part->first_row : s;
    for (; row <= to; row++)
      out->rowptr[row] = at;
    for (int64_t e = r->rowptr[s] - r->rowptr[0]; e < r->rowptr[s + 1] - r->rowptr[0]; e++) {
      const int64_t col = sl_index_at(r->col, t->index, e) - part->first_col;
      if (col < 0 || col >= part->cols)
        continue;
      if (out->col) {
        sl_index_set(out->col, t->index, at, col);
        sl_value_copy(out->val, at, r->val, e, t->dtype);
      }
      at++;
    }
  }
  for (; row <= part->rows; row++)
    out->rowptr[row] = at;
}

static sley_status gather(const sl_tiled *t, int64_t i, int64_t j, const sley_tile_part *part, rows *r,
                          sl_csr_arrays *out) {
  r->shape = sl_tile_shape_of(t, i, j);
  SL_TRY(SL_NEW_ZERO(out->rowptr, part->rows + 1, "row pointers"));
  if (r->shape.entries > 0) {
    SL_TRY(find_rows(t, i, j, part, r));
    SL_TRY(read_rows(t, i, j, r));
    take_entries(t, r, part, out);
  }
  out->val = sl_alloc(out->rowptr[part->rows], sley_dtype_bytes(t->dtype), "values");
  out->col = out->val ? sl_alloc(out->rowptr[part->rows], sl_index_bytes(t->index), "columns") : NULL;
  if (!out->col)
    return SLEY_ERR_MEMORY;
  if (r->shape.entries > 0)
    take_entries(t, r, part, out);
  return SLEY_OK;
}

sley_status sl_tile_part_matrix(const sl_tiled *t, int64_t i, int64_t j, const sley_tile_part *part,
                                sley_matrix **out) {
  sl_csr_arrays arrays = {0};
  rows r = {0};
  *out = NULL;
  const sley_status status = gather(t, i, j, part, &r, &arrays);
  free_rows(&r);
  if (status != SLEY_OK) {
    sl_csr_arrays_free(&arrays);
    return status;
  }
  return sl_matrix_adopt(part->rows, part->cols, t->index, t->dtype, arrays, -1, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tile_case.h"

#include <math.h>

#include "base/memory.h"
#include "base/random.h"

enum { MOST_ROWS = 45, MOST_TILES = 9, LARGEST = 3 };

double tile_value(uint64_t seed, int64_t row, int64_t col) {
  return (double)(sl_below(sl_random(seed, (uint64_t)row, (uint64_t)col), 2 * LARGEST + 1) - LARGEST);
}

void *tile_rows(uint64_t seed, sley_dtype dtype, int64_t first, int64_t last, int64_t cols, int64_t pad) {
  char *rows = malloc((size_t)((last - first) * (cols + pad)) * sley_dtype_bytes(dtype) + 1);
  assert_non_null(rows);
  for (int64_t i = 0; i < last - first; i++)
    for (int64_t j = 0; j < cols + pad; j++)
      sl_value_set(rows, dtype, i * (cols + pad) + j, j < cols ? tile_value(seed, first + i, j) : NAN);
  return rows;
}

/* Draws the columns of a row: none, few or most, and sometimes one of them twice. */
static int64_t draw_row(const tile_case *c, int64_t row, int64_t *cols) {
  const uint64_t bits = sl_random(c->seed, 11, (uint64_t)row);
  const int64_t share = bits % 3 == 0 ? 0 : bits % 3 == 1 ? 10 : (int64_t)(bits >> 8) % 90;
  int64_t count = 0;
  for (int64_t j = 0; j < c->n; j++) {
    const int64_t drawn = sl_below(sl_random(c->seed, 1000 + (uint64_t)row, (uint64_t)j), 100);
    for (int64_t times = drawn == 0 ? 2 : 1; drawn < share && times > 0; times--)
      cols[count++] = j;
  }
  return count;
}

static sley_matrix *draw_matrix(tile_case *c) {
  sl_csr_arrays arrays;
  sley_matrix *matrix;
  int64_t cols[2 * MOST_ROWS + 1];
  assert_sley_ok(sl_csr_arrays_alloc(c->m, 2 * c->m * c->n, SLEY_I32, c->dtype, &arrays));
  arrays.rowptr[0] = 0;
  for (int64_t i = 0; i < c->m; i++) {
    const int64_t count = draw_row(c, i, cols), from = arrays.rowptr[i];
    for (int64_t e = 0; e < count; e++) {
      const double value = tile_value(c->seed + 1, i, from + e);
      sl_index_set(arrays.col, SLEY_I32, from + e, cols[e]);
      sl_value_set(arrays.val, c->dtype, from + e, value);
      c->dense[i * c->n + cols[e]] += value;
    }
    arrays.rowptr[i + 1] = from + count;
  }
  assert_sley_ok(sl_matrix_adopt(c->m, c->n, SLEY_I32, c->dtype, arrays, -1, &matrix));
  return matrix;
}

/* A matrix with the same pattern and doubled values. */
static sley_matrix *renew(const sley_matrix *a) {
  sl_csr_arrays arrays;
  sley_matrix *matrix;
  assert_sley_ok(sl_csr_arrays_alloc(a->rows, a->nnz, a->index, a->dtype, &arrays));
  memcpy(arrays.rowptr, a->rowptr, ((size_t)a->rows + 1) * sizeof *arrays.rowptr);
  memcpy(arrays.col, a->col, (size_t)a->nnz * sl_index_bytes(a->index));
  for (int64_t e = 0; e < a->nnz; e++)
    sl_value_set(arrays.val, a->dtype, e, 2 * sl_value_at(a->val, a->dtype, e));
  assert_sley_ok(sl_matrix_adopt(a->rows, a->cols, a->index, a->dtype, arrays, -1, &matrix));
  return matrix;
}

/* Draws the rows of ranks: equal shares, or random shares of which some are empty. */
static void draw_rows(uint64_t seed, int ranks, int64_t rows, int64_t *begin) {
  for (int r = 0; r <= ranks; r++)
    begin[r] =
        seed % 2 ? sl_share_begin(rows, ranks, r) : sl_below(sl_random(seed, 5, (uint64_t)r), rows + 1);
  begin[0] = 0;
  begin[ranks] = rows;
  for (int a = 1; a < ranks; a++)
    for (int b = a; b > 1 && begin[b] < begin[b - 1]; b--) {
      const int64_t swapped = begin[b];
      begin[b] = begin[b - 1];
      begin[b - 1] = swapped;
    }
}

static int draw_factor(uint64_t bits, int of) {
  int factor[TILE_MOST_RANKS], count = 0;
  for (int f = 1; f <= of; f++)
    if (of % f == 0)
      factor[count++] = f;
  return factor[bits % (uint64_t)count];
}

tile_case tile_case_draw(uint64_t seed, int ranks) {
  uint64_t word[8];
  for (uint64_t i = 0; i < 8; i++)
    word[i] = sl_random(seed, 3, i);
  tile_case c = {.seed = seed,
                 .ranks = ranks,
                 .m = word[0] % 11 == 0 ? 0 : sl_below(word[0], MOST_ROWS),
                 .n = word[1] % 11 == 0 ? 0 : sl_below(word[1], MOST_ROWS),
                 .k = (const int64_t[]){0, 1, 3, 7, 16, 33}[word[2] % 6],
                 .dtype = (sley_dtype)(word[3] % 4),
                 .whole = word[4] % 3 == 0};
  const int grid_rows = draw_factor(word[5], ranks);
  const int64_t down = 1 + sl_below(word[6], MOST_TILES), inner = 1 + sl_below(word[7], MOST_TILES),
                across = 1 + sl_below(sl_mix(word[7]), MOST_TILES);
  c.a = (sl_tiling){c.m, c.n, down, inner, grid_rows, ranks / grid_rows};
  c.x = (sl_tiling){c.n, c.k, inner, across, grid_rows, ranks / grid_rows};
  c.y = (sl_tiling){c.m, c.k, down, across, grid_rows, ranks / grid_rows};
  c.dense = sl_alloc_zero(c.m * c.n, sizeof *c.dense, "a matrix");
  assert_non_null(c.dense);
  c.matrix = draw_matrix(&c);
  c.renewed = renew(c.matrix);
  draw_rows(word[4], ranks, c.m, c.row_begin);
  draw_rows(word[5], ranks, c.n, c.col_begin);
  return c;
}

void tile_case_free(tile_case *c) {
  sl_matrix_destroy(c->matrix);
  sl_matrix_destroy(c->renewed);
  sl_free(c->dense);
}

sley_status tile_block(const tile_case *c, const sley_matrix *matrix, int rank, sley_matrix **out) {
  const int64_t first = c->whole ? 0 : c->row_begin[rank], last = c->whole ? c->m : c->row_begin[rank + 1];
  return sl_matrix_view(matrix, first, last - first, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "roofline/roofline_tiles.h"

#include <math.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"

enum { WORD = 8, GRAIN = 64 };

/* The part that contains `at`: the first total % parts parts are one longer. */
static int64_t part_of(int64_t total, int64_t parts, int64_t at) {
  const int64_t length = total / parts, longer = total % parts;
  const int64_t in_longer = longer * (length + 1);
  return at < in_longer ? at / (length + 1) : longer + (at - in_longer) / length;
}

/* Counts a row's entries by tiles; the entries ascend by column. */
static void count_row(const sley_matrix *m, int64_t row, const sl_tile_sizes *s, int64_t *entries,
                      int64_t *filled) {
  int64_t tile = -1, end = -1;
  for (int64_t e = m->rowptr[row]; e < m->rowptr[row + 1]; e++) {
    const int64_t col = sl_index_at(m->col, m->index, e);
    if (col >= end) {
      tile = part_of(m->cols, s->across, col);
      end = sl_share_begin(m->cols, s->across, tile + 1);
      filled[tile]++;
    }
    entries[tile]++;
  }
}

sley_status sl_tile_sizes_count(const sley_matrix *m, int64_t down, int64_t across, sl_tile_sizes *out) {
  *out = (sl_tile_sizes){.down = down, .across = across};
  SL_TRY(SL_NEW_ZERO(out->entries, down * across, "sizes of tiles"));
  SL_TRY(SL_NEW_ZERO(out->filled, down * across, "sizes of tiles"));
  for (int64_t i = 0; i < down; i++) {
    SL_TRY(sl_interrupted());
    for (int64_t row = sl_share_begin(m->rows, down, i); row < sl_share_begin(m->rows, down, i + 1); row++)
      count_row(m, row, out, out->entries + i * across, out->filled + i * across);
  }
  return SLEY_OK;
}

void sl_tile_sizes_end(sl_tile_sizes *sizes) {
  sl_free(sizes->entries);
  sl_free(sizes->filled);
  *sizes = (sl_tile_sizes){0};
}

/* Counts the entries of each column of A in the rows of one row of tiles. */
static void count_columns(const sley_matrix *a, int64_t first, int64_t end, int64_t *count) {
  memset(count, 0, (size_t)a->cols * sizeof *count);
  for (int64_t e = a->rowptr[first]; e < a->rowptr[end]; e++)
    count[sl_index_at(a->col, a->index, e)]++;
}

/* Counts the products of one row of tiles of A: `products` has between x across elements. Each entry of row k
 * of B meets the entries of column k of A. */
static void count_products(const sley_matrix *b, const sl_tile_cut *cut, const int64_t *count,
                           int64_t *products) {
  for (int64_t l = 0; l < cut->between; l++, products += cut->across)
    for (int64_t k = sl_share_begin(b->rows, cut->between, l);
         k < sl_share_begin(b->rows, cut->between, l + 1); k++) {
      if (count[k] == 0)
        continue;
      int64_t tile = -1, end = -1;
      for (int64_t e = b->rowptr[k]; e < b->rowptr[k + 1]; e++) {
        const int64_t col = sl_index_at(b->col, b->index, e);
        if (col >= end) {
          tile = part_of(b->cols, cut->across, col);
          end = sl_share_begin(b->cols, cut->across, tile + 1);
        }
        products[tile] += count[k];
      }
    }
}

sley_status sl_tile_products_count(const sley_matrix *a, const sley_matrix *b, const sl_tile_cut *cut,
                                   int64_t **out) {
  int64_t *count = NULL;
  *out = NULL;
  SL_TRY(SL_NEW_ZERO(*out, cut->down * cut->between * cut->across, "products of tiles"));
  sley_status status = SL_NEW(count, a->cols, "entries of columns");
  for (int64_t i = 0; status == SLEY_OK && i < cut->down; i++) {
    status = sl_interrupted();
    count_columns(a, sl_share_begin(a->rows, cut->down, i), sl_share_begin(a->rows, cut->down, i + 1), count);
    count_products(b, cut, count, *out + i * cut->between * cut->across);
  }
  sl_free(count);
  if (status != SLEY_OK) {
    sl_free(*out);
    *out = NULL;
  }
  return status;
}

double sl_tile_padded(double bytes) {
  return ceil(bytes / GRAIN) * GRAIN;
}

double sl_sparse_tile_bytes(int64_t rows, int64_t filled, int64_t entries, double entry_bytes) {
  if (entries == 0)
    return 0;
  const int64_t stored = sl_tile_stored(rows, filled);
  return sl_tile_padded((double)stored * (stored < rows ? 2 * WORD : WORD) + WORD +
                        (double)entries * entry_bytes);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Minimum covers of all blocks between parts, as one bipartite graph whose connected pieces are the blocks.
 * Its rows are pairs of a row and the part that owns columns of it; its columns are pairs of a column and the
 * part that owns rows of it. Of a symmetric pattern only the blocks (p, q) with p < q are covered. */
#include "order/cover_parts.h"

#include <string.h>

#include "base/memory.h"
#include "matrix/cover.h"

sley_status sl_cover_parts_create(const sl_pattern *pattern, int parts, const int32_t *part, int shift,
                                  sl_cover_parts *out) {
  const int32_t n = pattern->count;
  *out = (sl_cover_parts){.pattern = pattern, .parts = parts, .words = (parts + 63) / 64};
  SL_TRY(SL_NEW(out->part, n, "parts"));
  SL_TRY(SL_NEW_ZERO(out->size, parts, "parts"));
  SL_TRY(SL_NEW(out->sent[0], (int64_t)n * out->words, "covers of parts"));
  out->sent[1] = out->sent[0];
  if (pattern->sides == 2)
    SL_TRY(SL_NEW(out->sent[1], (int64_t)n * out->words, "covers of parts"));
  for (int32_t v = 0; v < n; v++)
    out->size[out->part[v] = part[v] >> shift]++;
  return sl_cover_parts_solve(out);
}

void sl_cover_parts_free(sl_cover_parts *parts) {
  if (parts->sent[1] != parts->sent[0])
    sl_free(parts->sent[1]);
  sl_free(parts->sent[0]);
  sl_free(parts->size);
  sl_free(parts->part);
  *parts = (sl_cover_parts){0};
}

int64_t sl_cover_parts_rows(const sl_cover_parts *parts) {
  int64_t rows = 0, words = (int64_t)parts->pattern->count * parts->words;
  for (int side = 0; side < parts->pattern->sides; side++)
    for (int64_t w = 0; w < words; w++)
      rows += __builtin_popcountll(parts->sent[side][w]);
  return rows * (3 - parts->pattern->sides);
}

/* The graph of all blocks. Columns are numbered by vertices, then by parts; the bits of sent[SL_OF_COLUMNS]
 * are those of the columns that exist. */
typedef struct blocks {
  sl_cover_parts *parts;
  int64_t edges, rows, cols;
  int64_t *first_col; /* number of the first column of each vertex, and the end */
  int64_t *rowptr;
  int32_t *adjacency;
  int32_t *row_vertex; /* vertex of each row */
  uint8_t *row_part;   /* part of the columns of each row */
  int64_t *at;         /* for each part: edges of a row in it, then the position of the next */
  int32_t *met;        /* parts met in a row */
} blocks;

static bool is_cut(const sl_cover_parts *s, int32_t row, int32_t col) {
  return s->pattern->sides == 2 ? s->part[row] != s->part[col] : s->part[row] < s->part[col];
}

static sley_status number_columns(blocks *b) {
  const sl_cover_parts *s = b->parts;
  const sl_pattern *p = s->pattern;
  memset(s->sent[SL_OF_COLUMNS], 0, (size_t)p->count * (size_t)s->words * sizeof(uint64_t));
  for (int32_t i = 0; i < p->count; i++)
    for (int64_t e = p->begin[0][i]; e < p->begin[0][i + 1]; e++) {
      int32_t j = p->neighbour[0][e];
      if (!is_cut(s, i, j))
        continue;
      sl_sent_bits(s, SL_OF_COLUMNS, j)[s->part[i] >> 6] |= UINT64_C(1) << (s->part[i] & 63);
      b->edges++;
    }
  SL_TRY(SL_NEW(b->first_col, (int64_t)p->count + 1, "blocks of parts"));
  for (int32_t j = 0; j < p->count; j++) {
    b->first_col[j] = b->cols;
    for (int w = 0; w < s->words; w++)
      b->cols += __builtin_popcountll(sl_sent_bits(s, SL_OF_COLUMNS, j)[w]);
  }
  b->first_col[p->count] = b->cols;
  return SLEY_OK;
}

static int32_t column_of(const blocks *b, int32_t vertex, int part) {
  const uint64_t *bits = sl_sent_bits(b->parts, SL_OF_COLUMNS, vertex);
  int64_t column = b->first_col[vertex];
  for (int w = 0; w < part >> 6; w++)
    column += __builtin_popcountll(bits[w]);
  return (int32_t)(column + __builtin_popcountll(bits[part >> 6] & ((UINT64_C(1) << (part & 63)) - 1)));
}

/* Adds the rows of vertex i, whose edges begin at position `placed`; returns the position after them. */
static int64_t add_rows(blocks *b, int32_t i, int64_t placed) {
  const sl_cover_parts *s = b->parts;
  const sl_pattern *p = s->pattern;
  int mets = 0;
  for (int64_t e = p->begin[0][i]; e < p->begin[0][i + 1]; e++) {
    int32_t j = p->neighbour[0][e];
    if (is_cut(s, i, j) && b->at[s->part[j]]++ == 0)
      b->met[mets++] = s->part[j];
  }
  for (int m = 0; m < mets; m++) {
    int64_t edges = b->at[b->met[m]];
    b->rowptr[b->rows] = b->at[b->met[m]] = placed;
    b->row_vertex[b->rows] = i;
    b->row_part[b->rows++] = (uint8_t)b->met[m];
    placed += edges;
  }
  for (int64_t e = p->begin[0][i]; mets > 0 && e < p->begin[0][i + 1]; e++) {
    int32_t j = p->neighbour[0][e];
    if (is_cut(s, i, j))
      b->adjacency[b->at[s->part[j]]++] = column_of(b, j, s->part[i]);
  }
  for (int m = 0; m < mets; m++)
    b->at[b->met[m]] = 0;
  return placed;
}

static sley_status make_blocks(blocks *b) {
  const int32_t n = b->parts->pattern->count;
  SL_TRY(number_columns(b));
  if (b->edges > INT32_MAX)
    return sl_fail(SLEY_ERR_OVERFLOW, "more than 2^31 - 1 entries lie between parts: use rabbit");
  SL_TRY(SL_NEW(b->rowptr, b->edges + 1, "blocks of parts"));
  SL_TRY(SL_NEW(b->adjacency, b->edges, "blocks of parts"));
  SL_TRY(SL_NEW(b->row_vertex, b->edges, "blocks of parts"));
  SL_TRY(SL_NEW(b->row_part, b->edges, "blocks of parts"));
  SL_TRY(SL_NEW_ZERO(b->at, b->parts->parts, "blocks of parts"));
  SL_TRY(SL_NEW(b->met, b->parts->parts, "blocks of parts"));
  int64_t placed = 0;
  for (int32_t i = 0; i < n; i++)
    placed = add_rows(b, i, placed);
  b->rowptr[b->rows] = placed;
  return SLEY_OK;
}

/* Keeps the bits of the columns that are in the cover, and sets those of the rows. */
static void keep_cover(const blocks *b, const sl_cover *cover) {
  const sl_cover_parts *s = b->parts;
  const int64_t words = (int64_t)s->pattern->count * s->words;
  int64_t column = 0;
  for (int64_t w = 0; w < words; w++)
    for (uint64_t bits = s->sent[SL_OF_COLUMNS][w]; bits; bits &= bits - 1, column++)
      if (!cover->col_in[column])
        s->sent[SL_OF_COLUMNS][w] ^= bits & -bits;
  if (s->pattern->sides == 2)
    memset(s->sent[SL_OF_ROWS], 0, (size_t)words * sizeof(uint64_t));
  for (int64_t r = 0; r < b->rows; r++)
    if (cover->row_in[r])
      sl_sent_bits(s, SL_OF_ROWS, b->row_vertex[r])[b->row_part[r] >> 6] |= UINT64_C(1)
                                                                            << (b->row_part[r] & 63);
}

sley_status sl_cover_parts_solve(sl_cover_parts *parts) {
  blocks b = {.parts = parts};
  sl_cover cover = {0};
  sley_status status = make_blocks(&b);
  if (status == SLEY_OK) {
    sl_bipartite graph = {(int32_t)b.rows, (int32_t)b.cols, b.rowptr, b.adjacency};
    status = sl_min_vertex_cover(&graph, &cover);
  }
  if (status == SLEY_OK)
    keep_cover(&b, &cover);
  sl_cover_free(&cover);
  sl_free(b.met);
  sl_free(b.at);
  sl_free(b.row_part);
  sl_free(b.row_vertex);
  sl_free(b.adjacency);
  sl_free(b.rowptr);
  sl_free(b.first_col);
  return status;
}

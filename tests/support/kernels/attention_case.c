/* SPDX-License-Identifier: Apache-2.0 */
/* Random patterns and operands of attention. */
#include "attention_case.h"

#include <math.h>

#include "base/value.h"

static void *zeros(int64_t count, size_t each) {
  void *p = calloc((size_t)count + 1, each);
  assert_non_null(p);
  return p;
}

static int by_number(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* Builds the pattern by columns; the entries of each column are in ascending order of their rows. */
static void transpose(drawn_pattern *p) {
  p->rowptr_t = zeros(p->cols + 1, sizeof *p->rowptr_t);
  p->col_t = zeros(p->entries, sizeof *p->col_t);
  p->place_t = zeros(p->entries, sizeof *p->place_t);
  int64_t *next = zeros(p->cols + 1, sizeof *next);
  for (int64_t j = 0; j < p->entries; j++)
    p->rowptr_t[p->col[j] + 1]++;
  for (int64_t n = 0; n < p->cols; n++)
    p->rowptr_t[n + 1] += p->rowptr_t[n];
  memcpy(next, p->rowptr_t, (size_t)(p->cols + 1) * sizeof *next);
  for (int64_t i = 0; i < p->rows; i++)
    for (int64_t j = p->rowptr[i]; j < p->rowptr[i + 1]; j++) {
      const int64_t to = next[p->col[j]]++;
      p->col_t[to] = (int32_t)i;
      p->place_t[to] = (int32_t)(j - p->rowptr[i]);
    }
  free(next);
}

static int64_t draw_length(int64_t long_row, int64_t i) {
  return i == long_row ? 1000 + draw(300) : PICK(0, 0, 1, 2, 3, 7, 16, 20, 64, 65, 150);
}

static int32_t *list_long(const int64_t *rowptr, int64_t rows, int64_t *count) {
  int32_t *list = zeros(rows, sizeof *list);
  for (int64_t i = 0; i < rows; i++)
    if (rowptr[i + 1] - rowptr[i] > SL_LONG_ROW)
      list[(*count)++] = (int32_t)i;
  return list;
}

drawn_pattern pattern_draw(void) {
  drawn_pattern p = {.rows = PICK(0, 1, 3, 10, 40), .cols = PICK(0, 1, 5, 40, 90)};
  const int64_t long_row = p.rows && draw(4) == 0 ? draw(p.rows) : -1;
  p.mean_entries = PICK(0, 8, 16, 40, 200);
  p.rowptr = zeros(p.rows + 1, sizeof *p.rowptr);
  for (int64_t i = 0; i < p.rows; i++)
    p.rowptr[i + 1] = p.rowptr[i] + (p.cols ? draw_length(long_row, i) : 0);
  p.entries = p.rowptr[p.rows];
  p.col = zeros(p.entries, sizeof *p.col);
  const int64_t used = p.cols > 2 ? p.cols - 2 : p.cols; /* the last columns are empty */
  for (int64_t j = 0; j < p.entries; j++)
    p.col[j] = (int32_t)draw(used);
  for (int64_t i = 0; i < p.rows; i++)
    qsort(p.col + p.rowptr[i], (size_t)(p.rowptr[i + 1] - p.rowptr[i]), sizeof *p.col, by_number);
  transpose(&p);
  if (draw(4)) {
    p.long_row = list_long(p.rowptr, p.rows, &p.long_rows);
    p.long_row_t = list_long(p.rowptr_t, p.cols, &p.long_rows_t);
  }
  return p;
}

void pattern_free(drawn_pattern *p) {
  free(p->rowptr);
  free(p->rowptr_t);
  free(p->col);
  free(p->col_t);
  free(p->place_t);
  free(p->long_row);
  free(p->long_row_t);
}

/* Random values of magnitude up to size, rounded to the dtype. */
static double *draw_values(sley_dtype dtype, int64_t count, double size, bool special) {
  double *values = zeros(count, sizeof *values), rounded;
  for (int64_t i = 0; i < count; i++) {
    double value = size * draw_real();
    const int64_t odd = special ? draw(60) : 5;
    if (odd <= 1)
      value = odd == 0 && draw(3) == 0 ? (double)NAN : -(double)INFINITY;
    sl_value_set(&rounded, dtype, 0, value);
    values[i] = sl_value_at(&rounded, dtype, 0);
  }
  return values;
}

attention_case attention_draw(sl_attention kind, sley_dtype dtype, sl_heads shape, double size,
                              bool special) {
  attention_case c = {.pattern = pattern_draw(), .kind = kind, .dtype = dtype, .shape = shape};
  const int64_t rows = c.pattern.rows, cols = c.pattern.cols;
  const bool gat = kind == SL_ATTENTION_GAT;
  c.features = sl_features(&shape);
  c.q_width = gat ? shape.heads : c.features;
  c.k_width = kind == SL_ATTENTION_GATV2 ? 0 : c.q_width;
  c.slope = draw(8) == 0 ? (double)PICK(0, 1, -1) : 0.2;
  if (kind == SL_ATTENTION_DOT)
    c.slope = 1 / sqrt((double)shape.width + 1);
  c.q = draw_values(dtype, rows * c.q_width, size, special && gat);
  c.k = draw_values(dtype, cols * c.k_width, size, special && gat);
  c.v = draw_values(dtype, cols * c.features, 1, special && size <= 1 && draw(4) == 0);
  c.a = draw_values(dtype, c.features, 1, false);
  c.dy = draw_values(dtype, rows * c.features, 1, false);
  return c;
}

void attention_free(attention_case *c) {
  pattern_free(&c->pattern);
  free(c->q);
  free(c->k);
  free(c->v);
  free(c->a);
  free(c->dy);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Random patterns and operands for tests of the operations of graph networks. */
#include "graph_case.h"

#include <math.h>

#include "base/value.h"

static int by_value(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* The transpose, each column's entries in the order of the rows. */
static void transpose(graph_case *g) {
  const int64_t *rowptr = (const int64_t *)g->rowptr.data;
  const int32_t *col = (const int32_t *)g->col.data;
  g->colptr = block_of((size_t)(g->cols + 1) * sizeof(int64_t), 0);
  g->row = block_of((size_t)g->entries * sizeof(int32_t), 0);
  g->place = block_of((size_t)g->entries * sizeof(int32_t), 0);
  int64_t *colptr = (int64_t *)g->colptr.data;
  memset(colptr, 0, g->colptr.bytes);
  for (int64_t j = 0; j < g->entries; j++)
    colptr[col[j] + 1]++;
  for (int64_t c = 0; c < g->cols; c++)
    colptr[c + 1] += colptr[c];
  int64_t *at = malloc(g->colptr.bytes);
  memcpy(at, colptr, g->colptr.bytes);
  for (int64_t i = 0; i < g->rows; i++)
    for (int64_t j = rowptr[i]; j < rowptr[i + 1]; j++) {
      ((int32_t *)g->row.data)[at[col[j]]] = (int32_t)i;
      ((int32_t *)g->place.data)[at[col[j]]++] = (int32_t)(j - rowptr[i]);
    }
  free(at);
}

enum { LONG_BASE = 7 }; /* lists count rows from there */

static block long_rows(const block *rowptr, int64_t rows) {
  const int64_t *at = (const int64_t *)rowptr->data;
  block list = block_of((size_t)rows * sizeof(int32_t), 0);
  list.bytes = 0;
  for (int64_t i = 0; i < rows; i++)
    if (at[i + 1] - at[i] > SL_LONG_ROW) {
      ((int32_t *)list.data)[list.bytes / sizeof(int32_t)] = (int32_t)i + LONG_BASE;
      list.bytes += sizeof(int32_t);
    }
  return list;
}

graph_case graph_draw(void) {
  graph_case g = {.rows = PICK(0, 1, 2, 9, 40, 100, 100), .cols = PICK(0, 1, 3, 30, 70, 70)};
  g.mean_entries = PICK(0, 5, 8, 16, 40, 200);
  if (draw(30) == 0)
    g.rows = g.cols = 20000;
  const int64_t most = g.rows > 1000 ? 12 : PICK(1, 3, 12, 12), long_row = draw(2) ? draw(g.rows + 1) : -1;
  g.rowptr = block_of((size_t)(g.rows + 1) * sizeof(int64_t), 0);
  int64_t *rowptr = (int64_t *)g.rowptr.data;
  rowptr[0] = 0;
  for (int64_t i = 0; i < g.rows; i++) {
    const int64_t entries = i == long_row ? PICK(70, 500, 3000) : draw(3) ? draw(most + 1) : 0;
    rowptr[i + 1] = rowptr[i] + (g.cols > 0 ? entries : 0);
  }
  g.entries = rowptr[g.rows];
  g.col = block_of((size_t)g.entries * sizeof(int32_t), 0);
  int32_t *col = (int32_t *)g.col.data;
  const int64_t used = g.cols > 0 ? 1 + draw(g.cols) : 1; /* columns from there on are empty */
  for (int64_t j = 0; j < g.entries; j++)
    col[j] = (int32_t)draw(used);
  for (int64_t i = 0; i < g.rows; i++)
    qsort(col + rowptr[i], (size_t)(rowptr[i + 1] - rowptr[i]), sizeof *col, by_value);
  transpose(&g);
  if (draw(4)) {
    g.long_row = long_rows(&g.rowptr, g.rows);
    g.long_col = long_rows(&g.colptr, g.cols);
  }
  return g;
}

graph_case graph_listed(const graph_case *g) {
  const drawn_list rows = list_draw(g->rows);
  const int64_t *at = graph_rowptr(g, false);
  graph_case with = *g;
  with.listed = block_of((size_t)rows.count * sizeof(int32_t), 0);
  memcpy(with.listed.data, rows.number, with.listed.bytes);
  if (g->long_row.base) {
    with.long_row = block_of((size_t)rows.count * sizeof(int32_t), 0);
    with.long_row.bytes = 0;
    for (int64_t n = 0; n < rows.count; n++) {
      const int32_t i = rows.number[n], number = i + LONG_BASE;
      if (at[i + 1] - at[i] <= SL_LONG_ROW)
        continue;
      memcpy(with.long_row.data + with.long_row.bytes, &number, sizeof number);
      with.long_row.bytes += sizeof number;
    }
  }
  free(rows.number);
  return with;
}

void graph_listed_free(graph_case *listed) {
  free(listed->listed.base);
  free(listed->long_row.base);
}

void graph_free(graph_case *g) {
  free(g->rowptr.base);
  free(g->col.base);
  free(g->colptr.base);
  free(g->row.base);
  free(g->place.base);
  free(g->long_row.base);
  free(g->long_col.base);
}

int64_t graph_entry(const graph_case *g, bool by_columns, int64_t j) {
  if (!by_columns)
    return j;
  return graph_rowptr(g, false)[graph_col(g, true)[j]] + ((const int32_t *)g->place.data)[j];
}

static double draw_value(graph_values values) {
  static const double special[] = {0.0, -0.0, 1, -1, (double)INFINITY, -(double)INFINITY, (double)NAN, 1e-7},
                      few[] = {0.0, -0.0, 0.5, -0.5, 0.25, 1};
  if (values == GRAPH_FEW)
    return draw(200) ? few[draw(6)] : (double)NAN;
  return values == GRAPH_SPECIAL && draw(12) == 0 ? special[draw(8)] : draw_real();
}

static void fill(block *b, sley_dtype dtype, graph_values values) {
  for (size_t i = 0; i < b->bytes / sley_dtype_bytes(dtype); i++)
    sl_value_set(b->data, dtype, (int64_t)i, draw_value(values));
}

block graph_array(int64_t count, sley_dtype dtype, graph_values values) {
  const size_t each = sley_dtype_bytes(dtype);
  block b = block_of((size_t)count * each, (size_t)draw(3) * each);
  fill(&b, dtype, values);
  return b;
}

block graph_integers(int64_t count, int64_t least, int64_t limit) {
  block b = block_of((size_t)count * sizeof(int32_t), (size_t)draw(2) * sizeof(int32_t));
  for (int64_t i = 0; i < count; i++)
    ((int32_t *)b.data)[i] = (int32_t)(least + draw(limit - least));
  return b;
}

/* The number of values from the first value of the first row to the last value of the last row. */
static int64_t reach(int64_t rows, int64_t width, int64_t ld) {
  return rows > 0 ? (rows - 1) * ld + width : 0;
}

graph_dense graph_dense_draw(int64_t rows, int64_t width, sley_dtype dtype, graph_values values) {
  const int64_t near_rows = draw(2) ? rows : draw(rows + 1), near_ld = width + PICK(0, 0, 1, 5),
                far_ld = width + PICK(0, 0, 3);
  graph_dense d = {.rows = rows,
                   .width = width,
                   .dtype = dtype,
                   .near = graph_array(reach(near_rows, width, near_ld), dtype, values),
                   .far = graph_array(reach(rows - near_rows, width, far_ld), dtype, values),
                   .at = {.near_rows = near_rows, .near_ld = near_ld, .far_ld = far_ld}};
  d.at.near = d.near.data;
  d.at.far = d.far.data;
  return d;
}

graph_dense graph_dense_copy(const graph_dense *from) {
  graph_dense d = *from;
  d.near = block_copy(&from->near);
  d.far = block_copy(&from->far);
  d.at.near = d.near.data;
  d.at.far = d.far.data;
  return d;
}

void graph_dense_free(graph_dense *d) {
  free(d->near.base);
  free(d->far.base);
}

void graph_dense_copy_row(graph_dense *to, const graph_dense *from, int64_t i) {
  const size_t each = sley_dtype_bytes(to->dtype);
  if (to->width > 0)
    memcpy(sl_split_row(&to->at, i, (int64_t)each), sl_split_row(&from->at, i, (int64_t)each),
           (size_t)to->width * each);
}

double graph_dense_get(const graph_dense *d, int64_t i, int64_t f) {
  return sl_value_at(sl_split_row(&d->at, i, (int64_t)sley_dtype_bytes(d->dtype)), d->dtype, f);
}

void graph_dense_set(graph_dense *d, int64_t i, int64_t f, double value) {
  sl_value_set(sl_split_row(&d->at, i, (int64_t)sley_dtype_bytes(d->dtype)), d->dtype, f, value);
}

void *graph_image(graph_images *images, const block *b) {
  if (!b || !b->base)
    return NULL;
  assert_true((size_t)images->count < sizeof images->list / sizeof *images->list);
  image *i = &images->list[images->count++];
  *i = image_of_block(images->queue, b);
  return i->data;
}

sl_pattern graph_pattern(graph_images *images, const graph_case *g, bool by_columns) {
  sl_pattern p = {.rows = graph_count(g, by_columns),
                  .cols = graph_count(g, !by_columns),
                  .mean_entries = g->mean_entries};
  const block *list = by_columns ? &g->long_col : &g->long_row;
  p.rowptr = graph_image(images, by_columns ? &g->colptr : &g->rowptr);
  p.long_row = graph_image(images, list);
  p.long_rows = (int64_t)(list->bytes / sizeof(int32_t));
  p.long_base = LONG_BASE;
  p.col = graph_image(images, by_columns ? &g->row : &g->col);
  if (!by_columns && g->listed.base) {
    p.listed = graph_image(images, &g->listed);
    p.listed_rows = (int64_t)(g->listed.bytes / sizeof(int32_t));
  }
  if (by_columns) {
    p.place = graph_image(images, &g->place);
    p.of_row = graph_image(images, &g->rowptr);
  }
  return p;
}

sl_split_rows graph_dense_image(graph_images *images, const graph_dense *d) {
  sl_split_rows at = d->at;
  at.near = graph_image(images, &d->near);
  at.far = graph_image(images, &d->far);
  return at;
}

void graph_images_return(graph_images *images) {
  for (int i = 0; i < images->count; i++)
    image_return(&images->list[i]);
  images->count = 0;
}

double sum_fma(sley_dtype dtype, double a, double b, double c) {
  return dtype == SLEY_F64 ? fma(a, b, c) : (double)fmaf((float)a, (float)b, (float)c);
}

double sum_mul(sley_dtype dtype, double a, double b) {
  return dtype == SLEY_F64 ? a * b : (double)((float)a * (float)b);
}

double sum_add(sley_dtype dtype, double a, double b) {
  return dtype == SLEY_F64 ? a + b : (double)((float)a + (float)b);
}

double sum_div(sley_dtype dtype, double a, double b) {
  return dtype == SLEY_F64 ? a / b : (double)((float)a / (float)b);
}

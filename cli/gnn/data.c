/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the graph of `sley gnn` and the data that belongs to it. */
#include "gnn/data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "gnn/print.h"
#include "gnn/reading.h"
#include "gnn/split.h"
#include "matrix/job.h"

enum { LOOKED_AT = 1 << 20 };

/* ---- the graph */

/* Sums the values of row i in `column`, from entry *e on, and moves *e beyond them. *found: 1 if there was
 * such a value, else 0. */
static double take_column(const sley_csr *m, int64_t i, int64_t column, int64_t *e, int *found) {
  double sum = 0;
  for (*found = 0; *e < m->rowptr[i + 1] && cli_gnn_column(m, *e) == column; (*e)++, *found = 1)
    sum += cli_gnn_value(m, *e);
  return sum;
}

/* Merges row i of a and b: writes the ascending distinct columns from position `at` on, with the mean of a's
 * value and b's value if both have the column. col NULL: only counts. Returns the position after the last
 * column. */
static int64_t merge_row(const sley_csr *a, const sley_csr *b, int64_t i, int32_t *col, double *val,
                         int64_t at) {
  int64_t left = a->rowptr[i], right = b->rowptr[i];
  while (left < a->rowptr[i + 1] || right < b->rowptr[i + 1]) {
    const int64_t c = left < a->rowptr[i + 1] ? cli_gnn_column(a, left) : INT64_MAX,
                  d = right < b->rowptr[i + 1] ? cli_gnn_column(b, right) : INT64_MAX;
    const int64_t column = c < d ? c : d;
    int in_a, in_b;
    const double first = take_column(a, i, column, &left, &in_a),
                 second = take_column(b, i, column, &right, &in_b);
    if (col) {
      col[at] = (int32_t)column;
      val[at] = (first + second) / (in_a + in_b);
    }
    at++;
  }
  return at;
}

static sley_status merge(const sley_csr *a, const sley_csr *b, sley_matrix **out) {
  void *rowptr = NULL, *col = NULL, *val = NULL;
  int64_t entries = 0;
  sley_status status = sley_buffer_alloc((a->rows + 1) * (int64_t)sizeof(int64_t), &rowptr);
  for (int64_t i = 0; i < a->rows && status == SLEY_OK; i++) {
    ((int64_t *)rowptr)[i] = entries;
    entries = merge_row(a, b, i, NULL, NULL, entries);
  }
  if (status == SLEY_OK) {
    ((int64_t *)rowptr)[a->rows] = entries;
    status = sley_buffer_alloc(entries * (int64_t)sizeof(int32_t), &col);
  }
  if (status == SLEY_OK)
    status = sley_buffer_alloc(entries * (int64_t)sizeof(double), &val);
  for (int64_t i = 0; i < a->rows && status == SLEY_OK; i++)
    merge_row(a, b, i, col, val, ((int64_t *)rowptr)[i]);
  if (status == SLEY_OK)
    status = sley_matrix_from_csr(&(sley_csr){.rows = a->rows,
                                              .cols = a->cols,
                                              .rowptr = rowptr,
                                              .col = col,
                                              .val = val,
                                              .index = SLEY_I32,
                                              .dtype = SLEY_F64},
                                  SLEY_COPY, out);
  sley_buffer_free(val);
  sley_buffer_free(col);
  sley_buffer_free(rowptr);
  return status;
}

static sley_status make_undirected(cli_gnn_data *data, int threads) {
  sley_matrix *transposed = NULL, *merged = NULL;
  sley_csr a, b;
  sley_status status = sley_matrix_transpose(data->graph, threads, &transposed);
  if (status == SLEY_OK)
    status = sley_matrix_csr(data->graph, &a);
  if (status == SLEY_OK)
    status = sley_matrix_csr(transposed, &b);
  if (status == SLEY_OK)
    status = merge(&a, &b, &merged);
  sley_matrix_destroy(transposed);
  if (status != SLEY_OK)
    return status;
  sley_matrix_destroy(data->graph);
  data->graph = merged;
  return SLEY_OK;
}

/* Returns true if row i has an entry in `column`. Columns must ascend. */
static bool has_entry(const sley_csr *m, int64_t i, int64_t column) {
  int64_t low = m->rowptr[i], high = m->rowptr[i + 1];
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (cli_gnn_column(m, middle) < column)
      low = middle + 1;
    else
      high = middle;
  }
  return low < m->rowptr[i + 1] && cli_gnn_column(m, low) == column;
}

/* Counts, for the report, the entries whose value is not 1 and, in a sample of the entries (all of a small
 * graph), the entries without an opposite entry. */
static sley_status look_at(cli_gnn_data *data) {
  sley_csr m;
  const sley_status status = sley_matrix_csr(data->graph, &m);
  if (status != SLEY_OK)
    return status;
  const int64_t step = 1 + (m.rowptr[m.rows] - m.rowptr[0]) / LOOKED_AT;
  for (int64_t i = 0; i < m.rows; i++)
    for (int64_t e = m.rowptr[i]; e < m.rowptr[i + 1]; e++) {
      data->other_values += !(cli_gnn_value(&m, e) == 1);
      if (data->undirected || e % step > 0)
        continue;
      data->looked_at++;
      data->one_way += !has_entry(&m, cli_gnn_column(&m, e), i);
    }
  return SLEY_OK;
}

static sley_status read_graph(const cli_gnn_reading *r) {
  const cli_gnn_source *s = r->source;
  cli_gnn_data *data = r->data;
  sley_matrix_info info;
  r->path[0] = s->graph;
  sley_status status =
      cli_load(s->graph, s->weights ? "f64" : "f32", s->threads, s->seed, 0, s->reading, &data->graph);
  if (status == SLEY_OK)
    status = sley_matrix_info_get(data->graph, &info);
  if (status != SLEY_OK)
    return status;
  if (info.rows != info.cols || info.rows > INT32_MAX)
    return cli_gnn_refuse(r, s->graph, 0, "a graph is a square matrix of less than 2^31 rows");
  data->rows = info.rows;
  if (s->weights)
    status = cli_gnn_check_entries(r, s->graph, "entry", data->graph);
  if (status == SLEY_OK)
    status = look_at(data);
  if (status == SLEY_OK && s->prints)
    status = cli_gnn_print_matrix(data->graph, s->weights, &data->graph_print);
  return status == SLEY_OK && s->undirected ? make_undirected(data, (int)s->threads) : status;
}

sley_status cli_gnn_data_read(const cli_gnn_source *source, cli_gnn_data *out, char *message, size_t room,
                              const char **path) {
  const cli_gnn_reading r = {.source = source, .data = out, .message = message, .room = room, .path = path};
  *out = (cli_gnn_data){
      .undirected = source->undirected, .normalized = source->normalize, .weights = source->weights};
  message[0] = 0;
  const double begin = cli_now_ms();
  sley_status status = read_graph(&r);
  out->graph_ms = cli_now_ms() - begin;
  if (status == SLEY_OK)
    status = cli_gnn_features_read(&r);
  if (status == SLEY_OK && source->labels)
    status = cli_gnn_labels_read(&r);
  return status == SLEY_OK ? cli_gnn_split_make(&r) : status;
}

void cli_gnn_data_free(cli_gnn_data *data) {
  free(data->split.set);
  sley_buffer_free(data->label);
  sley_buffer_free(data->x);
  sley_matrix_destroy(data->sparse);
  sley_matrix_destroy(data->graph);
  *data = (cli_gnn_data){0};
}

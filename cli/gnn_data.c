/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs, features, labels and sets of `sley gnn`. */
#include "gnn_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gnn_reading.h"
#include "gnn_split.h"
#include "job.h"
#include "output.h"

enum { MOST_CLASSES = 1 << 20 };

static int64_t column_of(const sley_csr *m, int64_t e) {
  return m->index == SLEY_I64 ? ((const int64_t *)m->col)[e] : ((const int32_t *)m->col)[e];
}

/* ---- the graph */

/* Writes the columns of row i of both, ascending, each once, from `at` on; col NULL: counts. */
static int64_t merge_row(const sley_csr *a, const sley_csr *b, int64_t i, int32_t *col, int64_t at) {
  int64_t left = a->rowptr[i], right = b->rowptr[i], last = -1;
  while (left < a->rowptr[i + 1] || right < b->rowptr[i + 1]) {
    const int64_t c = left < a->rowptr[i + 1] ? column_of(a, left) : INT64_MAX,
                  d = right < b->rowptr[i + 1] ? column_of(b, right) : INT64_MAX;
    const int64_t column = c < d ? c : d;
    left += c <= d;
    right += d < c;
    if (column == last)
      continue;
    last = column;
    if (col)
      col[at] = (int32_t)column;
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
    entries = merge_row(a, b, i, NULL, entries);
  }
  if (status == SLEY_OK) {
    ((int64_t *)rowptr)[a->rows] = entries;
    status = sley_buffer_alloc(entries * (int64_t)sizeof(int32_t), &col);
  }
  if (status == SLEY_OK)
    status = sley_buffer_alloc(entries * (int64_t)sizeof(float), &val);
  for (int64_t i = 0; i < a->rows && status == SLEY_OK; i++)
    merge_row(a, b, i, col, ((int64_t *)rowptr)[i]);
  for (int64_t e = 0; e < entries && status == SLEY_OK; e++)
    ((float *)val)[e] = 1;
  if (status == SLEY_OK)
    status = sley_matrix_from_csr(&(sley_csr){.rows = a->rows,
                                              .cols = a->cols,
                                              .rowptr = rowptr,
                                              .col = col,
                                              .val = val,
                                              .index = SLEY_I32,
                                              .dtype = SLEY_F32},
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

static sley_status read_graph(const cli_gnn_reading *r) {
  const cli_gnn_source *s = r->source;
  sley_matrix_info info;
  sley_status status = cli_load(s->graph, "f32", s->threads, s->seed, 0, s->reading, &r->data->graph);
  if (status == SLEY_OK)
    status = sley_matrix_info_get(r->data->graph, &info);
  if (status != SLEY_OK)
    return status;
  if (info.rows != info.cols || info.rows > INT32_MAX)
    return cli_gnn_refuse(r, s->graph, 0, "a graph is a square matrix of less than 2^31 rows");
  r->data->rows = info.rows;
  return s->undirected ? make_undirected(r->data, (int)s->threads) : SLEY_OK;
}

/* ---- features */

static sley_status take_features(cli_gnn_data *data, int64_t features) {
  void *x;
  data->features = features;
  sley_status status = sley_buffer_alloc(data->rows * features * (int64_t)sizeof(float), &x);
  if (status == SLEY_OK)
    data->x = memset(x, 0, (size_t)(data->rows * features) * sizeof(float));
  return status;
}

static sley_status random_features(const cli_gnn_reading *r, const char *count) {
  char *end;
  errno = 0;
  const long long features = strtoll(count, &end, 10);
  if (errno || *end || end == count || features < 1 || features > INT32_MAX)
    return cli_gnn_refuse(r, r->source->features, 0, "random:K takes a number of features from 1 on");
  sley_status status = take_features(r->data, features);
  if (status == SLEY_OK)
    status = sley_dense_random((uint64_t)r->source->seed, 0, r->data->rows, features, NULL, SLEY_F32,
                               r->data->x, features);
  return status;
}

/* Archives of graph data have features as a matrix attr_ beside that of the graph. */
static sley_status load_features(const cli_gnn_reading *r, sley_matrix **out) {
  static const char prefix[] = "attr_";
  const char *path = r->source->features;
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  int64_t rows, cols;
  void *shape = NULL;
  options.threads = (int)r->source->threads;
  const bool there = cli_ends_with(path, ".npz") &&
                     sley_array_read(path, "attr_shape", SLEY_TYPE_I64, &rows, &cols, &shape) == SLEY_OK;
  sley_buffer_free(shape);
  return there ? sley_matrix_read_npz(path, prefix, &options, out)
               : cli_load(path, "f32", r->source->threads, r->source->seed, 0, NULL, out);
}

static sley_status sparse_features(const cli_gnn_reading *r) {
  const char *path = r->source->features;
  cli_gnn_data *data = r->data;
  sley_matrix *matrix = NULL;
  sley_csr m;
  sley_status status = load_features(r, &matrix);
  if (status == SLEY_OK)
    status = sley_matrix_csr(matrix, &m);
  if (status == SLEY_OK && m.rows != data->rows)
    status = cli_gnn_refuse(r, path, 0, "the graph has another number of rows");
  if (status == SLEY_OK)
    status = take_features(data, m.cols);
  for (int64_t i = 0; status == SLEY_OK && i < data->rows; i++)
    for (int64_t e = m.rowptr[i]; e < m.rowptr[i + 1]; e++)
      data->x[i * data->features + column_of(&m, e)] += ((const float *)m.val)[e];
  sley_matrix_destroy(matrix);
  return status;
}

static sley_status dense_features(const cli_gnn_reading *r) {
  void *x = NULL;
  int64_t rows, features;
  sley_status status = sley_dense_read(r->source->features, SLEY_F32, &rows, &features, &x);
  if (status != SLEY_OK)
    return status;
  r->data->x = x;
  r->data->features = features;
  return rows == r->data->rows
             ? SLEY_OK
             : cli_gnn_refuse(r, r->source->features, 0, "the graph has another number of rows");
}

/* Rows are divided by the sums of their magnitudes. */
static void normalize(cli_gnn_data *data) {
  for (int64_t i = 0; i < data->rows; i++) {
    float *row = data->x + i * data->features;
    double sum = 0;
    for (int64_t f = 0; f < data->features; f++)
      sum += row[f] < 0 ? -(double)row[f] : (double)row[f];
    for (int64_t f = 0; f < data->features && sum > 0; f++)
      row[f] = (float)((double)row[f] / sum);
  }
}

static sley_status read_features(const cli_gnn_reading *r) {
  static const char random[] = "random:";
  const char *path = r->source->features;
  sley_status status = strncmp(path, random, sizeof random - 1) == 0
                           ? random_features(r, path + sizeof random - 1)
                       : cli_ends_with(path, ".npy") ? dense_features(r)
                                                     : sparse_features(r);
  if (status == SLEY_OK && r->source->normalize)
    normalize(r->data);
  return status;
}

/* ---- labels */

static const char *take_label(const cli_gnn_reading *r, char *line, int64_t row, bool there) {
  cli_gnn_data *data = r->data;
  char *end;
  errno = 0;
  const long value = strtol(line, &end, 10);
  const size_t blanks = strspn(end, " \t\r\n");
  if (errno || end == line || end[blanks] || value < -1 || value >= MOST_CLASSES)
    return "a line has one whole number: a class from 0 to 2^20 - 1, or -1 for none";
  if (there) {
    data->label[row] = (int32_t)value;
    data->classes = value + 1 > data->classes ? value + 1 : data->classes;
  }
  return NULL;
}

/* The array of that name of a .npz. */
static sley_status archived_labels(const cli_gnn_reading *r) {
  const char *path = r->source->labels;
  cli_gnn_data *data = r->data;
  int64_t rows, cols;
  void *whole = NULL;
  sley_status status = sley_array_read(path, "labels", SLEY_TYPE_I64, &rows, &cols, &whole);
  const int64_t *label = whole;
  if (status == SLEY_OK && (rows != data->rows || (cols != SLEY_VECTOR && cols != 1)))
    status = cli_gnn_refuse(r, path, 0, "labels are not one for each row of the graph");
  for (int64_t i = 0; status == SLEY_OK && i < rows; i++) {
    if (label[i] < -1 || label[i] >= MOST_CLASSES)
      status = cli_gnn_refuse(r, path, 0, "a label is neither a class from 0 to 2^20 - 1 nor -1");
    else
      data->label[i] = (int32_t)label[i];
    data->classes = label[i] + 1 > data->classes ? label[i] + 1 : data->classes;
  }
  sley_buffer_free(whole);
  return status;
}

static sley_status file_labels(const cli_gnn_reading *r) {
  return cli_ends_with(r->source->labels, ".npz")
             ? archived_labels(r)
             : cli_gnn_read_lines(r, r->source->labels, "labels", take_label);
}

/* The class of a row is where random weights of its own and its neighbours' features are largest. */
static sley_status plant(const cli_gnn_reading *r, int64_t classes) {
  cli_gnn_data *data = r->data;
  void *scores_, *weights_ = NULL;
  sley_csr a;
  sley_status status = sley_matrix_csr(data->graph, &a);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(data->features * classes * (int64_t)sizeof(float), &weights_);
  if (status == SLEY_OK)
    status = sley_dense_random((uint64_t)r->source->seed + 1, 0, data->features, classes, NULL, SLEY_F32,
                               weights_, classes);
  if (status != SLEY_OK) {
    sley_buffer_free(weights_);
    return status;
  }
  status = sley_buffer_alloc(data->rows * classes * (int64_t)sizeof(double), &scores_);
  double *scores = scores_;
  const float *weights = weights_;
  for (int64_t i = 0; status == SLEY_OK && i < data->rows; i++)
    for (int64_t c = 0; c < classes; c++) {
      double sum = 0;
      for (int64_t f = 0; f < data->features; f++)
        sum += (double)data->x[i * data->features + f] * (double)weights[f * classes + c];
      scores[i * classes + c] = sum;
    }
  for (int64_t i = 0; status == SLEY_OK && i < data->rows; i++) {
    double best = 0;
    for (int64_t c = 0; c < classes; c++) {
      double sum = scores[i * classes + c];
      for (int64_t e = a.rowptr[i]; e < a.rowptr[i + 1]; e++)
        sum += scores[column_of(&a, e) * classes + c];
      if (c == 0 || sum > best) {
        best = sum;
        data->label[i] = (int32_t)c;
      }
    }
  }
  sley_buffer_free(scores_);
  sley_buffer_free(weights_);
  data->classes = classes;
  return status;
}

static sley_status read_labels(const cli_gnn_reading *r) {
  static const char planted[] = "planted:";
  const char *labels = r->source->labels;
  void *memory;
  sley_status status = sley_buffer_alloc(r->data->rows * (int64_t)sizeof(int32_t), &memory);
  if (status != SLEY_OK)
    return status;
  r->data->label = memory;
  if (strncmp(labels, planted, sizeof planted - 1) != 0)
    return file_labels(r);
  char *end;
  errno = 0;
  const long long classes = strtoll(labels + sizeof planted - 1, &end, 10);
  if (errno || *end || classes < 1 || classes > MOST_CLASSES)
    return cli_gnn_refuse(r, labels, 0, "planted:C takes a number of classes from 1 to 2^20");
  return plant(r, classes);
}

sley_status cli_gnn_data_read(const cli_gnn_source *source, cli_gnn_data *out, char *message, size_t room) {
  const cli_gnn_reading r = {.source = source, .data = out, .message = message, .room = room};
  *out = (cli_gnn_data){.undirected = source->undirected, .normalized = source->normalize};
  message[0] = 0;
  const double begin = cli_now_ms();
  sley_status status = read_graph(&r);
  out->graph_ms = cli_now_ms() - begin;
  if (status == SLEY_OK)
    status = read_features(&r);
  if (status == SLEY_OK && source->labels)
    status = read_labels(&r);
  return status == SLEY_OK ? cli_gnn_splits_make(&r) : status;
}

void cli_gnn_data_free(cli_gnn_data *data) {
  cli_gnn_splits_free(data);
  sley_buffer_free(data->label);
  sley_buffer_free(data->x);
  sley_matrix_destroy(data->graph);
  *data = (cli_gnn_data){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the labels of `sley gnn`: a class for each row, or none. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gnn/reading.h"
#include "output/output.h"
#include "ranks/loop.h"

enum { MOST_CLASSES = 1 << 20 };

static const char wanted[] = "a label is a class, a whole number from 0 on, or -1 or nan for none";

/* Stores the label of a row. Returns NULL, or a message about a wrong label. */
static const char *take(const cli_gnn_reading *r, int64_t row, double value) {
  static _Thread_local char what[200];
  cli_gnn_data *data = r->data;
  if (isnan(value) || value == -1) {
    data->label[row] = -1;
    return NULL;
  }
  if (value < 0 || value != floor(value))
    return wanted;
  if (value >= (double)data->rows || value >= MOST_CLASSES) {
    snprintf(what, sizeof what,
             "classes are counted from 0, and there are at most as many as rows, %" PRId64 ", and 2^20",
             data->rows);
    return what;
  }
  data->label[row] = (int32_t)value;
  data->classes = data->label[row] + 1 > data->classes ? data->label[row] + 1 : data->classes;
  return NULL;
}

/* ---- texts */

static const char *take_label(const cli_gnn_reading *r, char *line, int64_t row, bool there) {
  char *end;
  const double value = strtod(line, &end);
  const size_t blanks = strspn(end, " \t\r\n");
  if (end == line || end[blanks])
    return "a line has one label: a class, a whole number from 0 on, or -1 or nan for none";
  return there ? take(r, row, value) : NULL;
}

/* ---- arrays */

static sley_status take_array(const cli_gnn_reading *r, const char *name, int64_t rows, int64_t cols,
                              const double *label) {
  char what[320];
  const char *path = r->source->labels, *wrong = NULL;
  if (rows != r->data->rows || (cols != SLEY_VECTOR && cols != 1)) {
    snprintf(what, sizeof what, "%s%sthe array has %" PRId64, name, *name ? ": " : "", rows);
    const size_t used = strlen(what);
    if (cols == SLEY_VECTOR)
      snprintf(what + used, sizeof what - used, " values: labels are one number for each of %" PRId64 " rows",
               r->data->rows);
    else
      snprintf(what + used, sizeof what - used,
               " x %" PRId64 " values: labels are one number, the class, for each of %" PRId64 " rows", cols,
               r->data->rows);
    return cli_gnn_refuse(r, path, 0, what);
  }
  for (int64_t i = 0; i < rows && !wrong; i++)
    if ((wrong = take(r, i, label[i])))
      snprintf(what, sizeof what, "%s%srow %" PRId64 " has %.17g: %s", name, *name ? ": " : "", i + 1,
               label[i], wrong);
  return wrong ? cli_gnn_refuse(r, path, 0, what) : SLEY_OK;
}

static sley_status vector_labels(const cli_gnn_reading *r) {
  int64_t rows, cols;
  void *label = NULL;
  sley_status status = sley_dense_read(r->source->labels, SLEY_F64, &rows, &cols, &label);
  sley_dtype stored;
  int dims = 2;
  if (status == SLEY_OK && sley_stored_type(r->source->labels, &stored, &dims) == SLEY_OK && dims == 1)
    cols = SLEY_VECTOR;
  if (status == SLEY_OK)
    status = take_array(r, "", rows, cols, label);
  sley_buffer_free(label);
  return status;
}

/* Reads labels of an archive of graph data, in which they are called labels or y. */
static sley_status archived_labels(const cli_gnn_reading *r) {
  static const char *const names[] = {"labels", "y"};
  const char *path = r->source->labels;
  int64_t rows, cols;
  void *label = NULL;
  sley_status status = SLEY_OK;
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    status = sley_array_read(path, names[n], SLEY_TYPE_F64, &rows, &cols, &label);
    if (status == SLEY_OK) {
      status = take_array(r, names[n], rows, cols, label);
      sley_buffer_free(label);
      return status;
    }
    if (!strstr(sley_last_error(), "the archive has no"))
      return status;
  }
  return cli_gnn_refuse(r, path, 0, "it has no array called labels or y");
}

static sley_status file_labels(const cli_gnn_reading *r) {
  const char *path = r->source->labels;
  r->path[0] = path;
  return cli_ends_with(path, ".npz")   ? archived_labels(r)
         : cli_ends_with(path, ".npy") ? vector_labels(r)
                                       : cli_gnn_read_lines(r, path, "labels", take_label);
}

/* Stores a remark if some classes below the largest label have no row. */
static sley_status tell_gaps(const cli_gnn_reading *r) {
  cli_gnn_data *data = r->data;
  bool *has = calloc((size_t)data->classes + 1, sizeof *has);
  int64_t gaps = 0, first = -1;
  if (!has)
    return SLEY_ERR_MEMORY;
  for (int64_t i = 0; i < data->rows; i++)
    if (data->label[i] >= 0)
      has[data->label[i]] = true;
  for (int64_t c = data->classes - 1; c >= 0; c--)
    if (!has[c]) {
      first = c;
      gaps++;
    }
  free(has);
  if (gaps > 0)
    snprintf(data->told, sizeof data->told,
             "classes are counted from 0 to the largest label, %" PRId64 ": %" PRId64 " of these %" PRId64
             " have no row, the first is %" PRId64,
             data->classes - 1, gaps, data->classes, first);
  return SLEY_OK;
}

/* ---- planted labels */

/* The class of a row is the one with the largest score; the score is a random linear function of the sum of
 * the row's features and its neighbours' features. */
typedef struct planting {
  cli_gnn_data *data;
  sley_csr a;
  int64_t classes;
  float *weights; /* features x classes */
  double *scores; /* the function of each row's own features, rows x classes */
} planting;

static sley_status score_rows(void *context, int64_t begin, int64_t end) {
  const planting *p = context;
  const int64_t features = p->data->features;
  void *memory;
  const sley_status status = sley_buffer_alloc(features * (int64_t)sizeof(float), &memory);
  if (status != SLEY_OK)
    return status;
  float *row = memory;
  for (int64_t i = begin; i < end; i++) {
    cli_gnn_features_row(p->data, i, row);
    for (int64_t c = 0; c < p->classes; c++) {
      double sum = 0;
      for (int64_t f = 0; f < features; f++)
        sum += (double)row[f] * (double)p->weights[f * p->classes + c];
      p->scores[i * p->classes + c] = sum;
    }
  }
  sley_buffer_free(memory);
  return SLEY_OK;
}

static sley_status choose_classes(void *context, int64_t begin, int64_t end) {
  const planting *p = context;
  const sley_csr *a = &p->a;
  for (int64_t i = begin; i < end; i++) {
    double best = 0;
    for (int64_t c = 0; c < p->classes; c++) {
      double sum = p->scores[i * p->classes + c];
      for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++)
        sum += p->scores[cli_gnn_column(a, e) * p->classes + c];
      if (c == 0 || sum > best) {
        best = sum;
        p->data->label[i] = (int32_t)c;
      }
    }
  }
  return SLEY_OK;
}

static sley_status plant(const cli_gnn_reading *r, int64_t classes) {
  cli_gnn_data *data = r->data;
  planting p = {.data = data, .classes = classes};
  const int64_t threads = r->source->threads;
  void *weights = NULL, *scores = NULL;
  sley_status status = sley_matrix_csr(data->graph, &p.a);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(data->features * classes * (int64_t)sizeof(float), &weights);
  if (status == SLEY_OK)
    status = sley_dense_random((uint64_t)r->source->seed + 1, 0, data->features, classes, NULL, SLEY_F32,
                               weights, classes);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(data->rows * classes * (int64_t)sizeof(double), &scores);
  p.weights = weights;
  p.scores = scores;
  if (status == SLEY_OK)
    status = cli_loop(threads, data->rows, CLI_GNN_ROWS_AT_ONCE, score_rows, &p);
  if (status == SLEY_OK)
    status = cli_loop(threads, data->rows, CLI_GNN_ROWS_AT_ONCE, choose_classes, &p);
  sley_buffer_free(scores);
  sley_buffer_free(weights);
  data->classes = classes;
  return status;
}

sley_status cli_gnn_labels_read(const cli_gnn_reading *r) {
  static const char planted[] = "planted:";
  const char *labels = r->source->labels;
  void *memory;
  sley_status status = sley_buffer_alloc(r->data->rows * (int64_t)sizeof(int32_t), &memory);
  if (status != SLEY_OK)
    return status;
  r->data->label = memory;
  r->path[0] = labels;
  if (strncmp(labels, planted, sizeof planted - 1) != 0) {
    status = file_labels(r);
    return status == SLEY_OK ? tell_gaps(r) : status;
  }
  char *end;
  errno = 0;
  const long long classes = strtoll(labels + sizeof planted - 1, &end, 10);
  if (errno || *end || classes < 1 || classes > MOST_CLASSES)
    return cli_gnn_refuse(r, labels, 0, "planted:C takes a number of classes from 1 to 2^20");
  if (classes > r->data->rows)
    return cli_gnn_refuse(r, labels, 0, "there are at most as many classes as rows");
  return plant(r, classes);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the features of `sley gnn`: dense, or sparse as in their file. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gnn/print.h"
#include "gnn/reading.h"
#include "matrix/job.h"
#include "output/output.h"
#include "ranks/loop.h"

/* Features are kept sparse if at most one value in SPARSE_ENOUGH is present, because the network stores
 * sparse features twice, by rows and by columns, with indices. */
enum { SPARSE_ENOUGH = 8 };

static sley_status check_rows(const cli_gnn_reading *r, int64_t rows) {
  char what[160];
  if (rows == r->data->rows)
    return SLEY_OK;
  snprintf(what, sizeof what, "these are features of %" PRId64 " rows: the graph has %" PRId64, rows,
           r->data->rows);
  return cli_gnn_refuse(r, r->source->features, 0, what);
}

static sley_status check_count(const cli_gnn_reading *r, int64_t features) {
  return features > 0 && features <= INT32_MAX
             ? SLEY_OK
             : cli_gnn_refuse(r, r->source->features, 0, "a row has from 1 to 2^31 - 1 features");
}

/* ---- dense features */

/* Allocates dense features, which the caller fills. */
static sley_status take_features(cli_gnn_data *data, int64_t features) {
  void *x;
  int64_t bytes;
  data->features = features;
  if (__builtin_mul_overflow(data->rows, features * (int64_t)sizeof(float), &bytes))
    return SLEY_ERR_MEMORY;
  const sley_status status = sley_buffer_alloc(bytes, &x);
  if (status == SLEY_OK)
    data->x = x;
  return status;
}

typedef struct drawing {
  cli_gnn_data *data;
  uint64_t seed;
} drawing;

static sley_status draw_rows(void *context, int64_t begin, int64_t end) {
  const drawing *d = context;
  const int64_t features = d->data->features;
  return sley_dense_random(d->seed, begin, end - begin, features, NULL, SLEY_F32,
                           d->data->x + begin * features, features);
}

static sley_status random_features(const cli_gnn_reading *r, const char *count) {
  char *end;
  errno = 0;
  const long long features = strtoll(count, &end, 10);
  if (errno || *end || end == count || features < 1 || features > INT32_MAX)
    return cli_gnn_refuse(r, r->source->features, 0, "random:K takes a number of features from 1 on");
  sley_status status = take_features(r->data, features);
  if (status == SLEY_OK)
    status = cli_loop(r->source->threads, r->data->rows, CLI_GNN_ROWS_AT_ONCE, draw_rows,
                      &(drawing){r->data, (uint64_t)r->source->seed});
  return status;
}

/* Fills the features from `wide`, in f64, or, if that is NULL, keeps them as they are. Refuses the first
 * value that is not finite. */
static sley_status take_values(const cli_gnn_reading *r, const double *wide) {
  const int64_t features = r->data->features;
  float *x = r->data->x;
  for (int64_t i = 0; i < r->data->rows; i++)
    for (int64_t f = 0; f < features; f++) {
      const int64_t at = i * features + f;
      if (wide)
        x[at] = (float)wide[at];
      if (!isfinite(x[at]))
        return cli_gnn_refuse_value(r, r->source->features, "feature", i, f, wide ? wide[at] : x[at]);
    }
  return SLEY_OK;
}

static sley_status dense_features(const cli_gnn_reading *r) {
  const char *path = r->source->features;
  sley_dtype stored = SLEY_F32;
  void *x = NULL;
  int64_t rows, features;
  int dims;
  const bool wide = sley_stored_type(path, &stored, &dims) != SLEY_OK || stored == SLEY_F64;
  sley_status status =
      cli_input_status(sley_dense_read(path, wide ? SLEY_F64 : SLEY_F32, &rows, &features, &x), path);
  if (status != SLEY_OK)
    return status;
  features = features == SLEY_VECTOR ? 1 : features;
  status = check_rows(r, rows);
  if (status == SLEY_OK)
    status = check_count(r, features);
  r->data->features = features;
  if (wide && status == SLEY_OK)
    status = take_features(r->data, features);
  if (!wide)
    r->data->x = x;
  if (status == SLEY_OK)
    status = take_values(r, wide ? x : NULL);
  if (wide)
    sley_buffer_free(x);
  return status;
}

/* ---- sparse features */

/* Reads sparse features. Archives of graph data store them as a matrix with the prefix attr_, next to the
 * graph. */
static sley_status load_features(const cli_gnn_reading *r, sley_matrix **out) {
  static const char prefix[] = "attr_";
  const char *path = r->source->features;
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  int64_t rows, cols;
  void *shape = NULL;
  options.dtype = SLEY_F64;
  options.threads = (int)r->source->threads;
  const bool there = cli_ends_with(path, ".npz") &&
                     sley_array_read(path, "attr_shape", SLEY_TYPE_I64, &rows, &cols, &shape) == SLEY_OK;
  sley_buffer_free(shape);
  return there ? sley_matrix_read_npz(path, prefix, &options, out)
               : cli_load(path, "f64", r->source->threads, r->source->seed, 0, NULL, out);
}

static sley_status spread(cli_gnn_data *data, const sley_csr *m) {
  const sley_status status = take_features(data, m->cols);
  if (status == SLEY_OK)
    memset(data->x, 0, (size_t)m->rows * (size_t)m->cols * sizeof *data->x);
  for (int64_t i = 0; status == SLEY_OK && i < m->rows; i++)
    for (int64_t e = m->rowptr[i]; e < m->rowptr[i + 1]; e++)
      data->x[i * m->cols + cli_gnn_column(m, e)] += (float)cli_gnn_value(m, e);
  return status;
}

/* Copies the matrix with values in f32. */
static sley_status narrow(cli_gnn_data *data, const sley_csr *m) {
  void *values = NULL;
  sley_csr to = *m;
  const int64_t entries = m->rowptr[m->rows];
  sley_status status = sley_buffer_alloc(entries * (int64_t)sizeof(float), &values);
  for (int64_t e = 0; status == SLEY_OK && e < entries; e++)
    ((float *)values)[e] = (float)cli_gnn_value(m, e);
  to.val = values;
  to.dtype = SLEY_F32;
  data->features = m->cols;
  if (status == SLEY_OK)
    status = sley_matrix_from_csr(&to, SLEY_COPY, &data->sparse);
  sley_buffer_free(values);
  return status;
}

static sley_status sparse_features(const cli_gnn_reading *r) {
  sley_matrix *matrix = NULL;
  sley_csr m;
  sley_status status = load_features(r, &matrix);
  if (status == SLEY_OK)
    status = sley_matrix_csr(matrix, &m);
  if (status == SLEY_OK)
    status = check_rows(r, m.rows);
  if (status == SLEY_OK)
    status = check_count(r, m.cols);
  if (status == SLEY_OK)
    status = cli_gnn_check_entries(r, r->source->features, "feature", matrix);
  if (status == SLEY_OK) {
    const double entries = (double)m.rowptr[m.rows], all = (double)m.rows * (double)m.cols;
    const bool full = entries * SPARSE_ENOUGH > all;
    if (full || r->source->dense)
      r->data->made_dense = full ? CLI_GNN_FULL : CLI_GNN_ASKED;
    status = r->data->made_dense ? spread(r->data, &m) : narrow(r->data, &m);
  }
  sley_matrix_destroy(matrix);
  return status;
}

/* ---- both */

/* Divides a row by the sum of its magnitudes. */
static void normalize_row(float *value, int64_t count) {
  double sum = 0;
  for (int64_t f = 0; f < count; f++)
    sum += fabs((double)value[f]);
  for (int64_t f = 0; f < count && sum > 0; f++)
    value[f] = (float)((double)value[f] / sum);
}

/* The rows to be normalized. */
typedef struct normalizing {
  cli_gnn_data *data;
  sley_csr sparse; /* empty if features are dense */
} normalizing;

static sley_status normalize_rows(void *context, int64_t begin, int64_t end) {
  const normalizing *n = context;
  const cli_gnn_data *data = n->data;
  const sley_csr *m = &n->sparse;
  for (int64_t i = begin; i < end; i++)
    if (data->sparse) /* data->sparse belongs to this file, so its values may be changed */
      normalize_row((float *)m->val + m->rowptr[i], m->rowptr[i + 1] - m->rowptr[i]);
    else
      normalize_row(data->x + i * data->features, data->features);
  return SLEY_OK;
}

static sley_status normalize(const cli_gnn_reading *r) {
  normalizing n = {.data = r->data};
  const sley_status status = n.data->sparse ? sley_matrix_csr(n.data->sparse, &n.sparse) : SLEY_OK;
  return status == SLEY_OK
             ? cli_loop(r->source->threads, n.data->rows, CLI_GNN_ROWS_AT_ONCE, normalize_rows, &n)
             : status;
}

void cli_gnn_features_row(const cli_gnn_data *data, int64_t row, float *to) {
  sley_csr m;
  if (!data->sparse) {
    memcpy(to, data->x + row * data->features, (size_t)data->features * sizeof *to);
    return;
  }
  memset(to, 0, (size_t)data->features * sizeof *to);
  if (sley_matrix_csr(data->sparse, &m) == SLEY_OK)
    for (int64_t e = m.rowptr[row]; e < m.rowptr[row + 1]; e++)
      to[cli_gnn_column(&m, e)] += ((const float *)m.val)[e];
}

sley_status cli_gnn_features_read(const cli_gnn_reading *r) {
  static const char random[] = "random:";
  const char *path = r->source->features;
  r->path[0] = path;
  sley_status status = strncmp(path, random, sizeof random - 1) == 0
                           ? random_features(r, path + sizeof random - 1)
                       : cli_ends_with(path, ".npy") ? dense_features(r)
                                                     : sparse_features(r);
  if (status == SLEY_OK && r->source->prints)
    status = cli_gnn_print_features(r->data, &r->data->feature_print);
  return status == SLEY_OK && r->source->normalize ? normalize(r) : status;
}

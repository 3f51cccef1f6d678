/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs, features, labels and sets of `sley gnn`. */
#include "gnn_data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "output.h"

enum { MOST_CLASSES = 1 << 20 };

typedef struct reading {
  const cli_gnn_source *source;
  cli_gnn_data *data;
  char *message;
  size_t room;
} reading;

/* SLEY_ERR_INPUT with a message of the command's own. */
static sley_status refuse(const reading *r, const char *path, int64_t line, const char *what) {
  if (line > 0)
    snprintf(r->message, r->room, "%s:%" PRId64 ": %s", path, line, what);
  else
    snprintf(r->message, r->room, "%s: %s", path, what);
  return SLEY_ERR_INPUT;
}

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

static sley_status read_graph(const reading *r) {
  const cli_gnn_source *s = r->source;
  sley_matrix_info info;
  sley_status status = cli_load(s->graph, "f32", s->threads, s->seed, 0, &r->data->graph);
  if (status == SLEY_OK)
    status = sley_matrix_info_get(r->data->graph, &info);
  if (status != SLEY_OK)
    return status;
  if (info.rows != info.cols || info.rows > INT32_MAX)
    return refuse(r, s->graph, 0, "a graph is a square matrix of less than 2^31 rows");
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

static sley_status random_features(const reading *r, const char *count) {
  char *end;
  errno = 0;
  const long long features = strtoll(count, &end, 10);
  if (errno || *end || end == count || features < 1 || features > INT32_MAX)
    return refuse(r, r->source->features, 0, "random:K takes a number of features from 1 on");
  sley_status status = take_features(r->data, features);
  if (status == SLEY_OK)
    status = sley_dense_random((uint64_t)r->source->seed, 0, r->data->rows, features, NULL, SLEY_F32,
                               r->data->x, features);
  return status;
}

/* Archives of graph data have features as a matrix attr_ beside that of the graph. */
static sley_status load_features(const reading *r, sley_matrix **out) {
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
               : cli_load(path, "f32", r->source->threads, r->source->seed, 0, out);
}

static sley_status sparse_features(const reading *r) {
  const char *path = r->source->features;
  cli_gnn_data *data = r->data;
  sley_matrix *matrix = NULL;
  sley_csr m;
  sley_status status = load_features(r, &matrix);
  if (status == SLEY_OK)
    status = sley_matrix_csr(matrix, &m);
  if (status == SLEY_OK && m.rows != data->rows)
    status = refuse(r, path, 0, "the graph has another number of rows");
  if (status == SLEY_OK)
    status = take_features(data, m.cols);
  for (int64_t i = 0; status == SLEY_OK && i < data->rows; i++)
    for (int64_t e = m.rowptr[i]; e < m.rowptr[i + 1]; e++)
      data->x[i * data->features + column_of(&m, e)] += ((const float *)m.val)[e];
  sley_matrix_destroy(matrix);
  return status;
}

static sley_status dense_features(const reading *r) {
  void *x = NULL;
  int64_t rows, features;
  sley_status status = sley_dense_read(r->source->features, SLEY_F32, &rows, &features, &x);
  if (status != SLEY_OK)
    return status;
  r->data->x = x;
  r->data->features = features;
  return rows == r->data->rows ? SLEY_OK
                               : refuse(r, r->source->features, 0, "the graph has another number of rows");
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

static sley_status read_features(const reading *r) {
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

/* A line of a text that has one for each row: what is wrong with it, or NULL. It is kept for that row if
 * `there`, which is that the graph has the row. */
typedef const char *take_line(const reading *r, char *line, int64_t row, bool there);

static sley_status parse_lines(const reading *r, const char *path, FILE *stream, const char *what,
                               take_line *take) {
  char line[64], message[128];
  int64_t rows = 0;
  for (; fgets(line, sizeof line, stream); rows++) {
    const bool there = rows < r->data->rows;
    const char *wrong = take(r, line, rows, there);
    if (wrong)
      return refuse(r, path, rows + 1, wrong);
    snprintf(message, sizeof message, "there are more %s than the graph has rows", what);
    if (!there)
      return refuse(r, path, rows + 1, message);
  }
  if (ferror(stream))
    return refuse(r, path, rows + 1, "cannot read");
  snprintf(message, sizeof message, "there are fewer %s than the graph has rows", what);
  return rows == r->data->rows ? SLEY_OK : refuse(r, path, rows + 1, message);
}

static sley_status read_lines(const reading *r, const char *path, const char *what, take_line *take) {
  FILE *stream = fopen(path, "r");
  if (!stream)
    return refuse(r, path, 0, strerror(errno));
  const sley_status status = parse_lines(r, path, stream, what, take);
  fclose(stream);
  return status;
}

static const char *take_label(const reading *r, char *line, int64_t row, bool there) {
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
static sley_status archived_labels(const reading *r) {
  const char *path = r->source->labels;
  cli_gnn_data *data = r->data;
  int64_t rows, cols;
  void *whole = NULL;
  sley_status status = sley_array_read(path, "labels", SLEY_TYPE_I64, &rows, &cols, &whole);
  const int64_t *label = whole;
  if (status == SLEY_OK && (rows != data->rows || (cols != SLEY_VECTOR && cols != 1)))
    status = refuse(r, path, 0, "labels are not one for each row of the graph");
  for (int64_t i = 0; status == SLEY_OK && i < rows; i++) {
    if (label[i] < -1 || label[i] >= MOST_CLASSES)
      status = refuse(r, path, 0, "a label is neither a class from 0 to 2^20 - 1 nor -1");
    else
      data->label[i] = (int32_t)label[i];
    data->classes = label[i] + 1 > data->classes ? label[i] + 1 : data->classes;
  }
  sley_buffer_free(whole);
  return status;
}

static sley_status file_labels(const reading *r) {
  return cli_ends_with(r->source->labels, ".npz") ? archived_labels(r)
                                                  : read_lines(r, r->source->labels, "labels", take_label);
}

/* The class of a row is where random weights of its own and its neighbours' features are largest. */
static sley_status plant(const reading *r, int64_t classes) {
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

static sley_status read_labels(const reading *r) {
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
    return refuse(r, labels, 0, "planted:C takes a number of classes from 1 to 2^20");
  return plant(r, classes);
}

/* ---- sets */

typedef struct keyed {
  double key;
  int64_t row;
} keyed;

static int compare(const void *a, const void *b) {
  const keyed *x = a, *y = b;
  return x->key < y->key ? -1 : x->key > y->key ? 1 : x->row < y->row ? -1 : x->row > y->row;
}

static void deal(const cli_gnn_source *s, cli_gnn_data *data, const keyed *order, int64_t *dealt) {
  for (int64_t n = 0; n < data->rows; n++) {
    const int64_t row = order[n].row;
    const int32_t label = data->label[row];
    cli_gnn_set set = CLI_GNN_NONE;
    if (label >= 0) {
      const int64_t before = dealt[label]++;
      set = before < s->train ? CLI_GNN_TRAIN : before < s->train + s->valid ? CLI_GNN_VALID : CLI_GNN_TEST;
    }
    data->set[row] = (uint8_t)set;
    data->count[set]++;
  }
}

/* Rows in a random order, the same for the same seed, go to the sets of their classes. */
static sley_status draw_sets(const reading *r) {
  cli_gnn_data *data = r->data;
  double *key = malloc((size_t)data->rows * sizeof *key + 1);
  keyed *order = malloc((size_t)data->rows * sizeof *order + 1);
  int64_t *dealt = calloc((size_t)data->classes + 1, sizeof *dealt);
  data->set = malloc((size_t)data->rows + 1);
  sley_status status = key && order && dealt && data->set ? SLEY_OK : SLEY_ERR_MEMORY;
  if (status == SLEY_OK)
    status = sley_dense_random((uint64_t)r->source->seed + 2, 0, data->rows, 1, NULL, SLEY_F64, key, 1);
  if (status == SLEY_OK) {
    for (int64_t i = 0; i < data->rows; i++)
      order[i] = (keyed){key[i], i};
    qsort(order, (size_t)data->rows, sizeof *order, compare);
    deal(r->source, data, order, dealt);
  }
  free(dealt);
  free(order);
  free(key);
  return status;
}

static int set_of(const char *word) {
  static const char *const words[CLI_GNN_SETS] = {"none", "train", "valid", "test"};
  for (int set = 0; set < CLI_GNN_SETS; set++)
    if (strcmp(words[set], word) == 0)
      return set;
  return -1;
}

static const char *take_set(const reading *r, char *line, int64_t row, bool there) {
  cli_gnn_data *data = r->data;
  line[strcspn(line, " \t\r\n")] = 0;
  const int set = set_of(line);
  if (set < 0)
    return "a line has one word: train, valid, test or none";
  if (!there)
    return NULL;
  if (set != CLI_GNN_NONE && data->label[row] < 0)
    return "this row has no label: it is in no set";
  data->set[row] = (uint8_t)set;
  data->count[set]++;
  return NULL;
}

static sley_status file_sets(const reading *r) {
  r->data->set = malloc((size_t)r->data->rows + 1);
  return r->data->set ? read_lines(r, r->source->split, "lines", take_set) : SLEY_ERR_MEMORY;
}

static sley_status read_sets(const reading *r) {
  const sley_status status = r->source->split ? file_sets(r) : draw_sets(r);
  if (status == SLEY_OK && r->data->count[CLI_GNN_TRAIN] == 0)
    return refuse(r, r->source->split ? r->source->split : r->source->labels, 0,
                  "there is no row with a label to train on");
  return status;
}

/* Without labels every row is in no set. */
static sley_status no_labels(const reading *r) {
  r->data->set = calloc((size_t)r->data->rows + 1, 1);
  return r->data->set ? SLEY_OK : SLEY_ERR_MEMORY;
}

sley_status cli_gnn_data_read(const cli_gnn_source *source, cli_gnn_data *out, char *message, size_t room) {
  const reading r = {.source = source, .data = out, .message = message, .room = room};
  *out = (cli_gnn_data){.undirected = source->undirected, .normalized = source->normalize};
  message[0] = 0;
  sley_status status = read_graph(&r);
  if (status == SLEY_OK)
    status = read_features(&r);
  if (status == SLEY_OK && !source->labels)
    return no_labels(&r);
  if (status == SLEY_OK)
    status = read_labels(&r);
  return status == SLEY_OK ? read_sets(&r) : status;
}

void cli_gnn_data_free(cli_gnn_data *data) {
  free(data->set);
  sley_buffer_free(data->label);
  sley_buffer_free(data->x);
  sley_matrix_destroy(data->graph);
  *data = (cli_gnn_data){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the graph of `sley gnn` and the data that belongs to it. */
#include "gnn/data.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "gnn/print.h"
#include "gnn/reading.h"
#include "gnn/split.h"
#include "matrix/job.h"
#include "output/terminal.h"
#include "ranks/loop.h"

enum { LOOKED_AT = 1 << 20 };

/* ---- the graph */

static sley_status make_undirected(cli_gnn_data *data, int threads) {
  sley_matrix *undirected;
  cli_watch("making the graph undirected");
  const sley_status status = sley_matrix_undirected(data->graph, threads, &undirected);
  cli_watch_end();
  if (status != SLEY_OK)
    return status;
  sley_matrix_destroy(data->graph);
  data->graph = undirected;
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

/* Sums over the entries of a graph. */
typedef struct look {
  sley_csr m;
  int64_t step; /* entries are searched for an opposite at this distance; 0: none */
  _Atomic int64_t other_values, looked_at, one_way;
} look;

static sley_status look_at_rows(void *context, int64_t begin, int64_t end) {
  look *l = context;
  const sley_csr *m = &l->m;
  int64_t other_values = 0, looked_at = 0, one_way = 0;
  for (int64_t i = begin; i < end; i++) {
    for (int64_t e = m->rowptr[i]; e < m->rowptr[i + 1]; e++)
      other_values += !(cli_gnn_value(m, e) == 1);
    if (l->step == 0)
      continue;
    for (int64_t e = (m->rowptr[i] + l->step - 1) / l->step * l->step; e < m->rowptr[i + 1]; e += l->step) {
      looked_at++;
      one_way += !has_entry(m, cli_gnn_column(m, e), i);
    }
  }
  atomic_fetch_add(&l->other_values, other_values);
  atomic_fetch_add(&l->looked_at, looked_at);
  atomic_fetch_add(&l->one_way, one_way);
  return SLEY_OK;
}

/* Counts, for the report, the entries whose value is not 1 and, in a sample of the entries (all of a small
 * graph), the entries without an opposite entry. */
static sley_status look_at(cli_gnn_data *data, int64_t threads) {
  look l = {.step = 0};
  sley_status status = sley_matrix_csr(data->graph, &l.m);
  if (status != SLEY_OK)
    return status;
  if (!data->undirected)
    l.step = 1 + (l.m.rowptr[l.m.rows] - l.m.rowptr[0]) / LOOKED_AT;
  status = cli_loop(threads, l.m.rows, CLI_GNN_ROWS_AT_ONCE, look_at_rows, &l);
  data->other_values = l.other_values;
  data->looked_at = l.looked_at;
  data->one_way = l.one_way;
  return status;
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
    status = look_at(data, s->threads);
  if (status == SLEY_OK && s->prints)
    status = cli_gnn_print_matrix(data->graph, s->weights, &data->graph_print);
  if (status == SLEY_OK && s->undirected)
    status = make_undirected(data, (int)s->threads);
  if (status == SLEY_OK)
    status = sley_matrix_info_get(data->graph, &info);
  data->entries = info.nnz;
  return status;
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Steps over drawn neighbourhoods. Each step has a separate network over the drawn rows, which shares the
 * parameters of the trained network. */
#include "gnn/sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "matrix/job.h"

/* ---- reading --sample */

/* Reads a number from 1 on, or `all`, which must end at a comma or at the end of the text; moves *text beyond
 * it. Returns false if it is neither. */
static bool take_fan_out(const char **text, int64_t *out) {
  static const char all[] = "all";
  char *end;
  if (strncmp(*text, all, sizeof all - 1) == 0) {
    *out = SLEY_GNN_ALL;
    *text += sizeof all - 1;
  } else {
    errno = 0;
    *out = strtoll(*text, &end, 10);
    if (errno || end == *text || *out < 1)
      return false;
    *text = end;
  }
  return **text == 0 || **text == ',';
}

int cli_gnn_sampling_parse(const char *words, int64_t layers, int hops, int64_t batch,
                           cli_gnn_sampling *out) {
  const int64_t all = layers * hops;
  const char *at = words;
  int64_t count = 0;
  *out = (cli_gnn_sampling){.words = words, .batch = batch};
  if (!words)
    return CLI_DONE;
  for (bool more = true; more; count++) {
    int64_t fan_out;
    if (!take_fan_out(&at, &fan_out))
      return cli_refuse(SLEY_ERR_ARG,
                        "gnn train: --sample %s: for each hop give a whole number from 1 on, or all, with "
                        "commas between",
                        words);
    if (count < all && count < CLI_GNN_MOST_HOPS)
      out->fan_out[count] = fan_out;
    more = *at == ',';
    at += more;
  }
  if (all > CLI_GNN_MOST_HOPS)
    return cli_refuse(SLEY_ERR_ARG, "gnn train: --sample draws at most %d hops: these layers make %" PRId64,
                      CLI_GNN_MOST_HOPS, all);
  if (count != all)
    return cli_refuse(SLEY_ERR_ARG,
                      "gnn train: --sample %s has numbers for %" PRId64 " hops: %" PRId64
                      " layers of this model make %" PRId64,
                      words, count, layers, all);
  out->hops = (int)all;
  return CLI_DONE;
}

int64_t cli_gnn_sampling_steps(const cli_gnn_sampling *s, int64_t rows) {
  return s->words ? (rows - 1) / s->batch + 1 : 1;
}

/* ---- memory */

static sley_status create(const cli_gnn_data *data, const sley_matrix *graph,
                          const cli_gnn_sampling *sampling, uint64_t seed, sley_gnn_sampler **out) {
  sley_gnn_sampler_options o = SLEY_GNN_SAMPLER_OPTIONS_INIT;
  int64_t *row = malloc((size_t)data->split.count[CLI_GNN_TRAIN] * sizeof *row + 1);
  if (!row)
    return SLEY_ERR_MEMORY;
  for (int64_t i = 0; i < data->rows; i++)
    if (data->split.set[i] == CLI_GNN_TRAIN)
      row[o.rows++] = i;
  o.row = row;
  o.batch = sampling->batch;
  o.fan_out = sampling->fan_out;
  o.hops = sampling->hops;
  o.seed = seed;
  const sley_status status = sley_gnn_sampler_create(graph, &o, out);
  free(row);
  return status;
}

sley_status cli_gnn_sampler_open(sley_comm *comm, const sley_gnn *gnn, const cli_gnn_data *data,
                                 const sley_matrix *graph, const cli_gnn_sampling *sampling, uint64_t seed,
                                 cli_gnn_sampler *out) {
  *out = (cli_gnn_sampler){.comm = comm, .gnn = gnn, .data = data};
  out->steps = cli_gnn_sampling_steps(sampling, data->split.count[CLI_GNN_TRAIN]);
  return create(data, graph, sampling, seed, &out->sampler);
}

static void free_rows(cli_gnn_sampler *s) {
  sley_comm_free(s->comm, s->label);
  sley_comm_free(s->comm, s->x);
  free(s->host_label);
  free(s->host_x);
  s->label = s->x = NULL;
  s->host_label = NULL;
  s->host_x = NULL;
  s->room = 0;
}

static sley_status make_room(cli_gnn_sampler *s, int64_t rows) {
  const int64_t row = s->data->features * (int64_t)sizeof(float);
  if (rows <= s->room)
    return SLEY_OK;
  free_rows(s);
  s->host_x = malloc((size_t)(rows * row) + 1);
  s->host_label = malloc((size_t)rows * sizeof *s->host_label);
  if (!s->host_x || !s->host_label)
    return SLEY_ERR_MEMORY;
  sley_status status = sley_comm_alloc(s->comm, rows * row, &s->x);
  if (status == SLEY_OK)
    status = sley_comm_alloc(s->comm, rows * (int64_t)sizeof *s->host_label, &s->label);
  if (status == SLEY_OK)
    s->room = rows;
  return status;
}

void cli_gnn_sampler_close(cli_gnn_sampler *s) {
  if (!s->comm)
    return;
  free_rows(s);
  sley_gnn_sampler_destroy(s->sampler);
  *s = (cli_gnn_sampler){0};
}

/* ---- steps */

/* Copies the features and labels of the drawn rows to the device. */
static sley_status place(cli_gnn_sampler *s, const sley_gnn_drawn *drawn) {
  const cli_gnn_data *data = s->data;
  const size_t row = (size_t)data->features * sizeof(float);
  sley_status status = make_room(s, drawn->rows);
  if (status != SLEY_OK)
    return status;
  for (int64_t i = 0; i < drawn->rows; i++) {
    cli_gnn_features_row(data, drawn->row[i], s->host_x + i * data->features);
    s->host_label[i] = i < drawn->seeds ? data->label[drawn->row[i]] : -1;
  }
  status = sley_comm_copy(s->comm, s->x, s->host_x, drawn->rows * (int64_t)row, SLEY_TO_DEVICE);
  if (status == SLEY_OK)
    status = sley_comm_copy(s->comm, s->label, s->host_label, drawn->rows * (int64_t)sizeof *s->host_label,
                            SLEY_TO_DEVICE);
  return status;
}

static sley_status prepare(cli_gnn_sampler *s, int64_t epoch, int64_t step, sley_gnn **gnn) {
  sley_gnn_drawn drawn;
  sley_status status = sley_gnn_sampler_draw(s->sampler, epoch, step, &drawn);
  if (status == SLEY_OK)
    status = place(s, &drawn);
  if (status == SLEY_OK)
    status = sley_gnn_create_shared(s->gnn, drawn.graph, (const int64_t[]){0, drawn.rows}, gnn);
  return status;
}

static sley_status take_step(cli_gnn_sampler *s, sley_gnn *gnn, const sley_gnn_batch *how, int64_t number,
                             double *sum) {
  sley_gnn_batch batch = *how;
  double loss = 0;
  int64_t counted = 0;
  batch.x = s->x;
  batch.ldx = s->data->features;
  batch.label = s->label;
  batch.step = number;
  sley_status status = sley_gnn_train(gnn, &batch, &loss, &counted);
  *sum += loss * (double)counted;
  return status == SLEY_OK ? sley_comm_wait(s->comm) : status;
}

sley_status cli_gnn_sampler_epoch(cli_gnn_sampler *s, int64_t number, const sley_gnn_batch *how, double *loss,
                                  double *drawn_ms) {
  sley_status status = SLEY_OK;
  double sum = 0;
  *drawn_ms = 0;
  for (int64_t step = 0; step < s->steps && status == SLEY_OK; step++) {
    sley_gnn *gnn = NULL;
    const double begin = cli_now_ms();
    status = prepare(s, number, step, &gnn);
    *drawn_ms += cli_now_ms() - begin;
    if (status == SLEY_OK)
      status = take_step(s, gnn, how, number * s->steps + step, &sum);
    sley_gnn_destroy(gnn);
  }
  *loss = sum / (double)s->data->split.count[CLI_GNN_TRAIN];
  return status;
}

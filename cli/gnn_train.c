/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs over ranks. */
#include "gnn_train.h"

#include <stdlib.h>

#include "agree.h"
#include "job.h"

/* A rank's part, in its device's memory but for logits. */
typedef struct part {
  cli_gnn_training *t;
  sley_comm *comm;
  sley_gnn *gnn;
  int64_t first, rows;
  void *x, *label, *logits; /* label: of training rows, -1 of others */
  float *host;              /* rows x classes */
} part;

typedef struct shared {
  cli_gnn_training *t;
  int64_t *begin;
} shared;

static sley_status place(part *p) {
  const cli_gnn_data *data = p->t->data;
  const int64_t row = data->features * (int64_t)sizeof(float), out = data->classes * (int64_t)sizeof(float);
  int32_t *label = malloc((size_t)p->rows * sizeof *label + 1);
  p->host = malloc((size_t)(p->rows * out) + 1);
  if (!label || !p->host) {
    free(label);
    return SLEY_ERR_MEMORY;
  }
  for (int64_t i = 0; i < p->rows; i++)
    label[i] = data->set[p->first + i] == CLI_GNN_TRAIN ? data->label[p->first + i] : -1;
  sley_status status = sley_comm_alloc(p->comm, p->rows * row, &p->x);
  if (status == SLEY_OK)
    status = sley_comm_alloc(p->comm, p->rows * (int64_t)sizeof *label, &p->label);
  if (status == SLEY_OK)
    status = sley_comm_alloc(p->comm, p->rows * out, &p->logits);
  if (status == SLEY_OK)
    status =
        sley_comm_copy(p->comm, p->x, data->x + p->first * data->features, p->rows * row, SLEY_TO_DEVICE);
  if (status == SLEY_OK)
    status = sley_comm_copy(p->comm, p->label, label, p->rows * (int64_t)sizeof *label, SLEY_TO_DEVICE);
  free(label);
  return status;
}

static sley_status make(part *p, const int64_t *begin) {
  sley_matrix *block = NULL;
  sley_status status =
      cli_agree_status(p->comm, sley_matrix_row_block(p->t->data->graph, p->first, p->rows, &block));
  if (status == SLEY_OK)
    status = sley_gnn_create(p->comm, block, begin, &p->t->model, &p->gnn);
  sley_matrix_destroy(block);
  return status == SLEY_OK ? cli_agree_status(p->comm, place(p)) : status;
}

/* Adds the rank's rows that are right to those of the others. */
static sley_status count_right(part *p, cli_gnn_epoch *epoch) {
  const cli_gnn_data *data = p->t->data;
  int64_t right[CLI_GNN_SETS] = {0};
  for (int64_t i = 0; i < p->rows; i++) {
    const float *logits = p->host + i * data->classes;
    int64_t best = 0;
    for (int64_t c = 1; c < data->classes; c++)
      best = logits[c] > logits[best] ? c : best;
    right[data->set[p->first + i]] += best == data->label[p->first + i];
  }
  sley_status status = sley_comm_allreduce(p->comm, SLEY_SUM, right, CLI_GNN_SETS);
  for (int set = 0; set < CLI_GNN_SETS; set++)
    epoch->right[set] = data->count[set] > 0 ? (double)right[set] / (double)data->count[set] : 0;
  return status;
}

static sley_status run_epoch(part *p, int64_t number, cli_gnn_epoch *epoch) {
  sley_gnn_batch batch = SLEY_GNN_BATCH_INIT;
  batch.x = p->x;
  batch.ldx = p->t->data->features;
  batch.label = p->label;
  batch.step = number;
  batch.rate = p->t->rate;
  batch.decay = p->t->decay;
  const double begin = cli_now_ms();
  sley_status status = sley_gnn_train(p->gnn, &batch, &epoch->loss, NULL);
  if (status == SLEY_OK)
    status = sley_comm_wait(p->comm);
  epoch->ms = cli_now_ms() - begin;
  if (status == SLEY_OK)
    status = sley_gnn_infer(p->gnn, &batch, p->logits, p->t->data->classes, NULL);
  if (status == SLEY_OK)
    status = sley_comm_copy(p->comm, p->host, p->logits,
                            p->rows * p->t->data->classes * (int64_t)sizeof(float), SLEY_TO_HOST);
  return status == SLEY_OK ? count_right(p, epoch) : status;
}

/* All ranks decide alike: what they look at is the same on all. */
static sley_status run_epochs(part *p) {
  const cli_gnn_training *t = p->t;
  double best = -1;
  int64_t best_at = 0;
  for (int64_t number = 0; number < t->epochs; number++) {
    cli_gnn_epoch epoch;
    sley_status status = run_epoch(p, number, &epoch);
    if (status != SLEY_OK)
      return status;
    if (sley_comm_rank(p->comm) == 0) {
      p->t->epoch[number] = epoch;
      p->t->done = number + 1;
      if (t->tell)
        t->tell(t->context, number, &epoch);
    }
    if (epoch.right[CLI_GNN_VALID] > best) {
      best = epoch.right[CLI_GNN_VALID];
      best_at = number;
    }
    if (t->patience > 0 && number - best_at >= t->patience)
      break;
  }
  return SLEY_OK;
}

static sley_status rank_main(sley_comm *comm, void *arg) {
  const shared *s = arg;
  part p = {.t = s->t, .comm = comm};
  p.first = s->begin[sley_comm_rank(comm)];
  p.rows = s->begin[sley_comm_rank(comm) + 1] - p.first;
  if (sley_comm_rank(comm) == 0)
    snprintf(p.t->found, sizeof p.t->found, "%s", sley_comm_device(comm));
  sley_status status = make(&p, s->begin);
  if (status == SLEY_OK)
    status = run_epochs(&p);
  sley_gnn_destroy(p.gnn);
  sley_comm_free(comm, p.logits);
  sley_comm_free(comm, p.label);
  sley_comm_free(comm, p.x);
  free(p.host);
  return status;
}

sley_status cli_gnn_train(cli_gnn_training *t) {
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  shared s = {.t = t};
  int64_t *cols = NULL;
  ranks.ranks = t->ranks;
  ranks.threads = t->threads;
  ranks.device = t->device;
  sley_status status = cli_partition(t->data->graph, "nnz", t->ranks, &s.begin, &cols);
  if (status == SLEY_OK)
    status = sley_run_ranks(&ranks, rank_main, &s);
  sley_buffer_free(cols);
  sley_buffer_free(s.begin);
  return status;
}

int64_t cli_gnn_best(const cli_gnn_training *t) {
  if (t->data->count[CLI_GNN_VALID] == 0)
    return t->done - 1;
  int64_t best = -1;
  for (int64_t i = 0; i < t->done; i++)
    if (best < 0 || t->epoch[i].right[CLI_GNN_VALID] > t->epoch[best].right[CLI_GNN_VALID])
      best = i;
  return best;
}

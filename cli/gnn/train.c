/* SPDX-License-Identifier: Apache-2.0 */
/* Runs epochs of training, or inference, on ranks. */
#include "gnn/train.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gnn/memory.h"
#include "gnn/place.h"
#include "gnn/state.h"
#include "matrix/job.h"
#include "output/terminal.h"
#include "ranks/agree.h"

/* Data that all ranks share, in training and in inference. */
typedef struct shared {
  cli_gnn_data *data;
  const sley_gnn_options *model;
  cli_gnn_training *training;   /* exactly one of training and inference */
  cli_gnn_inference *inference; /* is not NULL */
  cli_gnn_result *result;
  cli_gnn_layouts *layouts;
} shared;

/* A rank's state. Arrays are in device memory, except host. */
typedef struct part {
  shared *s;
  const cli_gnn_layout *layout;
  sley_comm *comm;
  sley_gnn *gnn;
  int64_t first, rows;
  void *x, *label, *logits; /* label: -1 for rows that are not for training */
  float *host;              /* logits in host memory, rows x classes */
  cli_gnn_sampler sampler;  /* used if neighbourhoods are drawn */
  cli_gnn_kept kept;        /* best weights; on rank 0, if a state is written */
  int64_t saved;            /* number of epochs in the written state */
  bool stop;                /* a signal has asked for the end */
} part;

static bool leads(const part *p) {
  return sley_comm_rank(p->comm) == 0;
}

/* Number of classes of the network, which in inference may be larger than the number in the data. */
static int64_t classes_of(const part *p) {
  return p->s->model->classes;
}

static sley_status place(part *p) {
  const int64_t out = classes_of(p) * (int64_t)sizeof(float);
  p->host = malloc((size_t)(p->rows * out) + 1);
  if (!p->host)
    return SLEY_ERR_MEMORY;
  sley_status status = cli_gnn_place(p->comm, p->s->data, p->layout, &p->x, &p->label);
  return status == SLEY_OK ? sley_comm_alloc(p->comm, p->rows * out, &p->logits) : status;
}

/* Planning can then use the graph's memory. */
static void graph_copied(void *context) {
  cli_gnn_layouts_copied(context);
}

static sley_status make(part *p) {
  const double begin = cli_now_ms();
  sley_gnn_options model = *p->s->model;
  if (p->s->training && !p->s->training->sampling.words) {
    model.copied = graph_copied;
    model.copied_context = p->s->layouts;
  }
  if (leads(p))
    cli_watch("planning");
  sley_status status = cli_gnn_network(p->comm, p->s->data, p->layout, &model, &p->gnn);
  if (leads(p)) {
    p->s->result->plan_ms = cli_now_ms() - begin;
    cli_watch_end();
  }
  return status == SLEY_OK ? cli_agree_status(p->comm, place(p)) : status;
}

/* Indices of sums over the ranks: numbers of correct rows and of all rows of each set, logits that are not
 * finite, and requests to stop. */
enum { RIGHT, COUNT = CLI_GNN_SETS, STRANGE = 2 * CLI_GNN_SETS, STOP, SUMS };

static void count_row(const part *p, int64_t i, int64_t *sums) {
  const cli_gnn_data *data = p->s->data;
  const int64_t classes = classes_of(p), row = cli_gnn_row_name(p->layout, p->first + i);
  const float *logits = p->host + i * classes;
  int64_t best = 0;
  for (int64_t c = 0; c < classes; c++) {
    sums[STRANGE] += !isfinite(logits[c]);
    best = logits[c] > logits[best] ? c : best;
  }
  const int set = data->split.set[row];
  if (!data->label || data->label[row] < 0 || set >= CLI_GNN_SETS)
    return;
  sums[COUNT + set]++;
  sums[RIGHT + set] += best == data->label[row];
}

/* Computes the shares of correct rows of each set over all ranks. *strange: number of logits that are not
 * finite. Collective. */
static sley_status count_right(part *p, cli_gnn_epoch *epoch, int64_t *strange) {
  int64_t sums[SUMS] = {0};
  for (int64_t i = 0; i < p->rows; i++)
    count_row(p, i, sums);
  sums[STOP] = atomic_load(&p->s->result->patience.asked) != 0;
  const sley_status status = sley_comm_allreduce(p->comm, SLEY_SUM, sums, SUMS);
  for (int set = 0; set < CLI_GNN_SETS; set++)
    epoch->right[set] = sums[COUNT + set] > 0 ? (double)sums[RIGHT + set] / (double)sums[COUNT + set] : NAN;
  *strange = sums[STRANGE];
  p->stop = sums[STOP] > 0;
  return status;
}

static sley_gnn_batch batch_of(const part *p) {
  sley_gnn_batch batch = SLEY_GNN_BATCH_INIT;
  batch.x = p->x; /* NULL if features are sparse, because then the network has them */
  batch.ldx = p->s->data->features;
  batch.label = p->label;
  return batch;
}

/* Computes the logits, copies them to the host, and computes the shares of correct rows. Collective. */
static sley_status look(part *p, const sley_gnn_batch *batch, cli_gnn_epoch *epoch, int64_t *strange) {
  const int64_t classes = classes_of(p);
  sley_status status = sley_gnn_infer(p->gnn, batch, p->logits, classes, NULL);
  if (status == SLEY_OK)
    status =
        sley_comm_copy(p->comm, p->host, p->logits, p->rows * classes * (int64_t)sizeof(float), SLEY_TO_HOST);
  return status == SLEY_OK ? count_right(p, epoch, strange) : status;
}

/* Makes one step over the whole graph, or one step per batch. */
static sley_status take_steps(part *p, const sley_gnn_batch *batch, cli_gnn_epoch *epoch) {
  if (p->sampler.steps > 0)
    return cli_gnn_sampler_epoch(&p->sampler, batch->step, batch, &epoch->loss, &epoch->drawn_ms);
  const sley_status status = sley_gnn_train(p->gnn, batch, &epoch->loss, NULL);
  return status == SLEY_OK ? sley_comm_wait(p->comm) : status;
}

/* Checks after epoch `number`, counted from 0, that the loss, the weights and the logits are finite; if not,
 * training ends with a message. Loss and weights are equal on all ranks, so only rank 0 checks the weights.
 * Collective, agreed. */
static sley_status check_finite(part *p, int64_t number, double loss, int64_t strange) {
  char where[160] = "";
  bool finite = isfinite(loss);
  sley_status status = SLEY_OK;
  if (!finite)
    snprintf(where, sizeof where, "the loss is %g", loss);
  else if (leads(p))
    status = cli_gnn_weights_finite(p->comm, p->gnn, where, sizeof where, &finite);
  if (status == SLEY_OK && finite && strange > 0) {
    snprintf(where, sizeof where, "%" PRId64 " logits are not finite", strange);
    finite = false;
  }
  if (leads(p) && !finite) {
    cli_gnn_message *message = &p->s->result->message;
    snprintf(message->text, sizeof message->text,
             "gnn train: epoch %" PRId64 ": %s: training has diverged; try a smaller --rate", number + 1,
             where);
    p->s->result->end = CLI_GNN_DIVERGED;
  }
  return cli_agree_status(p->comm, status != SLEY_OK ? status : finite ? SLEY_OK : SLEY_ERR_INTERNAL);
}

static sley_status run_epoch(part *p, int64_t number, cli_gnn_epoch *epoch) {
  const cli_gnn_training *t = p->s->training;
  sley_gnn_batch batch = batch_of(p);
  *epoch = (cli_gnn_epoch){0};
  batch.step = number;
  batch.rate = t->rate;
  batch.decay = t->decay;
  batch.optimizer = t->optimizer;
  const double begin = cli_now_ms();
  int64_t strange = 0;
  sley_status status = take_steps(p, &batch, epoch);
  epoch->ms = cli_now_ms() - begin;
  if (status == SLEY_OK)
    status = look(p, &batch, epoch, &strange);
  return status == SLEY_OK ? check_finite(p, number, epoch->loss, strange) : status;
}

/* The next epoch, and the best epoch so far with its share. */
typedef struct progress {
  int64_t next, best_at;
  double best;
} progress;

/* Updates the best epoch. If no rows are for validation, it is the last epoch. */
static void see(progress *at, const cli_gnn_split *split, const cli_gnn_epoch *epoch) {
  if (epoch->right[CLI_GNN_VALID] > at->best || split->count[CLI_GNN_VALID] == 0) {
    at->best = epoch->right[CLI_GNN_VALID];
    at->best_at = at->next;
  }
  at->next++;
}

static sley_status save(part *p, int64_t epochs) {
  const cli_gnn_training *t = p->s->training;
  p->saved = epochs;
  return cli_gnn_state_write(p->gnn, t->out, t, leads(p) ? &p->kept : NULL);
}

/* Opens the sampler if neighbourhoods are drawn, and reads the state from which training continues, if there
 * is one. Collective, agreed. */
static sley_status start(part *p, progress *at) {
  const cli_gnn_training *t = p->s->training;
  *at = (progress){.best = -1};
  sley_status status = SLEY_OK;
  if (t->sampling.words)
    status = cli_gnn_sampler_open(p->comm, p->gnn, p->s->data, p->layout->graph, &t->sampling, t->model.seed,
                                  &p->sampler);
  if (status == SLEY_OK && t->out && leads(p))
    status = cli_gnn_kept_open(p->gnn, &p->kept);
  status = cli_agree_status(p->comm, status);
  if (status != SLEY_OK || !t->resumes)
    return status;
  status = sley_gnn_load(p->gnn, t->out, NULL);
  if (status == SLEY_OK && !t->anew)
    status = cli_agree_status(p->comm, leads(p) ? cli_gnn_keep_from(&p->kept, t->out, &p->s->result->message)
                                                : SLEY_OK);
  for (int64_t i = 0; i < t->before; i++)
    if (t->anew)
      at->next++;
    else
      see(at, &p->s->data->split, &p->s->result->epoch[i]);
  p->saved = t->before;
  return status;
}

static bool ends(const part *p, const progress *at) {
  const cli_gnn_training *t = p->s->training;
  cli_gnn_end *end = &p->s->result->end;
  const bool no_better = t->patience > 0 && at->next > 0 && at->best > -1 &&
                         at->next - 1 - at->best_at >= t->patience,
             all = at->next >= t->epochs;
  if (leads(p) && (all || no_better || p->stop))
    *end = all ? CLI_GNN_ALL_EPOCHS : no_better ? CLI_GNN_NO_BETTER : CLI_GNN_INTERRUPTED;
  return all || no_better || p->stop;
}

/* Records an epoch on rank 0, and writes the state if it is due. Collective. */
static sley_status note(part *p, const cli_gnn_epoch *epoch, const progress *at) {
  const cli_gnn_training *t = p->s->training;
  sley_status status = SLEY_OK;
  if (leads(p)) {
    p->s->result->epoch[at->next - 1] = *epoch;
    p->s->result->done = at->next;
    if (t->out && at->best_at == at->next - 1)
      status = cli_gnn_keep(&p->kept, p->comm, p->gnn, at->best_at);
    if (t->tell)
      t->tell(t, at->next - 1, epoch);
  }
  if (!t->out)
    return SLEY_OK;
  status = cli_agree_status(p->comm, status);
  return status == SLEY_OK && at->next % t->every == 0 ? save(p, at->next) : status;
}

/* Trains until an end condition holds. All ranks make the same decision, because they have the same data.
 * From the first epoch on, a signal ends training after the current epoch, and the state is written.
 * Collective. */
static sley_status run_epochs(part *p, progress *at) {
  const cli_gnn_training *t = p->s->training;
  sley_status status = start(p, at);
  atomic_store(&p->s->result->patience.ready, 1);
  while (status == SLEY_OK && !ends(p, at)) {
    cli_gnn_epoch epoch;
    status = run_epoch(p, at->next, &epoch);
    if (status != SLEY_OK)
      break;
    see(at, &p->s->data->split, &epoch);
    status = note(p, &epoch, at);
  }
  cli_gnn_sampler_close(&p->sampler);
  if (status == SLEY_OK && t->out && p->saved != at->next)
    status = save(p, at->next);
  return status == SLEY_OK && p->stop && at->next < t->epochs ? SLEY_ERR_INTERRUPTED : status;
}

/* Trains, and records on rank 0 how it ended. */
static sley_status train(part *p) {
  cli_gnn_result *result = p->s->result;
  progress at = {0};
  sley_status status = cli_gnn_memory_gather(p->comm, p->gnn, p->s->training->bytes);
  if (status == SLEY_OK)
    status = run_epochs(p, &at);
  if (leads(p)) {
    result->best = at.best_at;
    result->ended =
        status == SLEY_OK || (at.next > p->s->training->before && result->end >= CLI_GNN_INTERRUPTED);
  }
  return status;
}

static sley_status infer(part *p) {
  const cli_gnn_inference *f = p->s->inference;
  const sley_gnn_batch batch = batch_of(p);
  const int64_t classes = classes_of(p);
  cli_gnn_epoch epoch = {0};
  int64_t strange = 0;
  const double begin = cli_now_ms();
  sley_status status = sley_gnn_load(p->gnn, f->weights, f->last ? NULL : CLI_GNN_BEST);
  if (status == SLEY_OK)
    status = look(p, &batch, &epoch, &strange);
  if (status == SLEY_OK && strange > 0) {
    if (leads(p))
      snprintf(p->s->result->message.text, sizeof p->s->result->message.text,
               "gnn infer: %" PRId64 " logits by the weights of %s are not finite", strange, f->weights);
    status = SLEY_ERR_INTERNAL;
  }
  epoch.ms = cli_now_ms() - begin;
  if (status == SLEY_OK && f->out)
    status = sley_dense_write_rows(p->comm, f->out, SLEY_F32, p->s->data->rows, classes, p->first, p->rows,
                                   p->host, classes);
  if (leads(p)) {
    p->s->result->epoch[0] = epoch;
    p->s->result->done = 1;
  }
  return status;
}

static sley_status rank_main(sley_comm *comm, void *arg) {
  shared *s = arg;
  part p = {.s = s, .comm = comm};
  if (leads(&p)) {
    snprintf(s->result->found, sizeof s->result->found, "%s", sley_comm_device(comm));
    snprintf(s->result->transport, sizeof s->result->transport, "%s", sley_comm_transport(comm));
  }
  sley_status status = cli_gnn_layouts_choose(comm, s->layouts, s->model, &s->result->order, &p.layout);
  if (status == SLEY_OK) {
    p.first = p.layout->begin[sley_comm_rank(comm)];
    p.rows = p.layout->begin[sley_comm_rank(comm) + 1] - p.first;
    status = make(&p);
  }
  if (status == SLEY_OK)
    status = s->training ? train(&p) : infer(&p);
  cli_gnn_sampler_close(&p.sampler);
  sley_gnn_destroy(p.gnn);
  cli_gnn_kept_close(&p.kept);
  sley_comm_free(comm, p.logits);
  sley_comm_free(comm, p.label);
  sley_comm_free(comm, p.x);
  free(p.host);
  return status;
}

static sley_status run(shared *s, const char *order, const sley_rank_options *ranks) {
  const sley_status status = cli_gnn_layouts_make(s->data, order, ranks, (int64_t)s->model->seed, s->layouts);
  return status == SLEY_OK ? sley_run_ranks(ranks, rank_main, s) : status;
}

sley_status cli_gnn_train(cli_gnn_training *t) {
  shared s = {
      .data = t->data, .model = &t->model, .training = t, .result = t->result, .layouts = &t->layouts};
  cli_be_patient(&t->result->patience);
  return run(&s, t->order, &t->ranks);
}

sley_status cli_gnn_infer(cli_gnn_inference *f) {
  cli_gnn_layouts layouts;
  shared s = {.data = f->data, .model = &f->model, .inference = f, .result = f->result, .layouts = &layouts};
  const sley_status status = run(&s, "none", &f->ranks);
  cli_gnn_layouts_free(&layouts);
  return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs steps of training on ranks, and times them. */
#include "gnn/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "gnn/memory.h"
#include "gnn/place.h"
#include "matrix/job.h"
#include "output/terminal.h"
#include "ranks/agree.h"

enum { HALVES = 2, NS_PER_MS = 1000000 };

/* Series of times with one number per step: the whole step, the sum of a step timed by kind of work, and four
 * series per kind of work. */
enum { STEP, SPLIT, WORK };
enum { FORWARD, BACKWARD, BOTH, SLOWEST, OF_WORK };
enum { SERIES = WORK + CLI_GNN_WORKS * OF_WORK };

typedef struct part {
  cli_gnn_bench *bench;
  const cli_gnn_layout *layout;
  sley_comm *comm;
  sley_gnn *gnn;
  int64_t step; /* number of steps of the model so far */
  void *x, *label;
  double *ms; /* SERIES x repeat */
} part;

static bool leads(const part *p) {
  return sley_comm_rank(p->comm) == 0;
}

static int64_t ns_of(double ms) {
  return (int64_t)(ms * NS_PER_MS);
}

/* ---- a step */

/* Makes one step; all ranks begin together. *ms: this rank's time. Collective. */
static sley_status make_step(part *p, double *ms) {
  const cli_gnn_bench *b = p->bench;
  sley_gnn_batch batch = SLEY_GNN_BATCH_INIT;
  batch.x = p->x;
  batch.ldx = b->data->features;
  batch.label = p->label;
  batch.step = p->step++;
  batch.rate = b->rate;
  batch.decay = b->decay;
  batch.optimizer = b->optimizer;
  sley_status status = sley_comm_wait(p->comm);
  if (status == SLEY_OK)
    status = sley_comm_barrier(p->comm);
  const double begin = cli_now_ms();
  if (status == SLEY_OK)
    status = sley_gnn_train(p->gnn, &batch, NULL, NULL);
  if (status == SLEY_OK)
    status = sley_comm_wait(p->comm);
  *ms = cli_now_ms() - begin;
  return status;
}

/* Address of number i of a series. */
static double *at(const part *p, int series, int64_t i) {
  return &p->ms[series * p->bench->repeat + i];
}

static double ms_of(int64_t ns) {
  return (double)ns / NS_PER_MS;
}

static sley_status time_whole(part *p, int64_t i) {
  double ms;
  sley_status status = make_step(p, &ms);
  int64_t ns = ns_of(ms);
  if (status == SLEY_OK)
    status = sley_comm_allreduce(p->comm, SLEY_MAX, &ns, 1);
  *at(p, STEP, i) = ms_of(ns);
  return status;
}

/* Lists this rank's times in ns. */
static void list_times(const sley_gnn_times *t, int64_t ns[CLI_GNN_WORKS][HALVES]) {
  const sley_gnn_time *const all[CLI_GNN_WORKS] = {
      [CLI_GNN_EXCHANGE] = &t->exchange, [CLI_GNN_SPMM] = &t->spmm, [CLI_GNN_ATTENTION] = &t->attention,
      [CLI_GNN_GEMM] = &t->gemm,         [CLI_GNN_LOSS] = &t->loss, [CLI_GNN_OPTIMIZER] = &t->optimizer,
      [CLI_GNN_OTHER] = &t->other};
  for (int w = 0; w < CLI_GNN_WORKS; w++) {
    ns[w][FORWARD] = ns_of(all[w]->forward_ms);
    ns[w][BACKWARD] = ns_of(all[w]->backward_ms);
  }
}

/* Combines the times of all ranks for step i. Collective. */
static sley_status gather(part *p, int64_t i, const sley_gnn_times *times) {
  int64_t sum[CLI_GNN_WORKS][HALVES], most[CLI_GNN_WORKS];
  const double ranks = sley_comm_size(p->comm);
  list_times(times, sum);
  for (int w = 0; w < CLI_GNN_WORKS; w++)
    most[w] = sum[w][FORWARD] + sum[w][BACKWARD];
  sley_status status = sley_comm_allreduce(p->comm, SLEY_SUM, sum[0], CLI_GNN_WORKS * HALVES);
  if (status == SLEY_OK)
    status = sley_comm_allreduce(p->comm, SLEY_MAX, most, CLI_GNN_WORKS);
  *at(p, SPLIT, i) = 0;
  for (int w = 0; w < CLI_GNN_WORKS; w++) {
    const int first = WORK + w * OF_WORK;
    *at(p, first + FORWARD, i) = ms_of(sum[w][FORWARD]) / ranks;
    *at(p, first + BACKWARD, i) = ms_of(sum[w][BACKWARD]) / ranks;
    *at(p, first + BOTH, i) = *at(p, first + FORWARD, i) + *at(p, first + BACKWARD, i);
    *at(p, first + SLOWEST, i) = ms_of(most[w]);
    *at(p, SPLIT, i) += *at(p, first + BOTH, i);
  }
  return status;
}

static sley_status time_split(part *p, int64_t i) {
  double ms;
  sley_gnn_times times;
  sley_status status = sley_gnn_time_steps(p->gnn, true);
  if (status == SLEY_OK)
    status = make_step(p, &ms);
  if (status == SLEY_OK)
    status = sley_gnn_times_get(p->gnn, &times);
  if (status == SLEY_OK)
    status = gather(p, i, &times);
  return status == SLEY_OK ? sley_gnn_time_steps(p->gnn, false) : status;
}

/* ---- a model */

static cli_times times_of(const part *p, int series) {
  return cli_times_of(at(p, series, 0), p->bench->repeat);
}

static void note(const part *p, const sley_gnn_options *model) {
  cli_gnn_bench_result *r = p->bench->result;
  cli_gnn_case *to = &r->at[r->cases++];
  *to = (cli_gnn_case){.model = model->model, .step = times_of(p, STEP), .split = times_of(p, SPLIT)};
  for (int w = 0; w < CLI_GNN_WORKS; w++) {
    const int first = WORK + w * OF_WORK;
    to->work[w] = (cli_gnn_work_times){.forward = times_of(p, first + FORWARD),
                                       .backward = times_of(p, first + BACKWARD),
                                       .both = times_of(p, first + BOTH),
                                       .slowest = times_of(p, first + SLOWEST).median};
  }
}

static void tell(const part *p, const sley_gnn_options *model, int64_t done) {
  const cli_gnn_bench *b = p->bench;
  if (leads(p) && b->tells)
    cli_progress(sley_gnn_models()[model->model], done, b->repeat);
}

/* Measures one model. Steps timed as a whole and steps timed by kind alternate, so that both see the same
 * conditions. Collective. */
static sley_status run_model(part *p, int number) {
  const cli_gnn_bench *b = p->bench;
  const sley_gnn_options *model = &b->model[number];
  double ms;
  p->step = 0;
  sley_status status = cli_gnn_network(p->comm, b->data, p->layout, model, &p->gnn);
  if (status == SLEY_OK)
    status = cli_gnn_memory_gather(p->comm, p->gnn, b->bytes + number * b->ranks.ranks);
  for (int64_t i = 0; i < b->warmup && status == SLEY_OK; i++)
    status = make_step(p, &ms);
  for (int64_t i = 0; i < b->repeat && status == SLEY_OK; i++) {
    tell(p, model, i);
    status = time_whole(p, i);
    if (status == SLEY_OK)
      status = time_split(p, i);
  }
  if (status == SLEY_OK && leads(p))
    note(p, model);
  sley_gnn_destroy(p->gnn);
  p->gnn = NULL;
  return status;
}

static sley_status take(part *p) {
  p->ms = malloc((size_t)p->bench->repeat * SERIES * sizeof *p->ms);
  return p->ms ? cli_gnn_place(p->comm, p->bench->data, p->layout, &p->x, &p->label) : SLEY_ERR_MEMORY;
}

static sley_status rank_main(sley_comm *comm, void *arg) {
  cli_gnn_bench *b = arg;
  cli_gnn_bench_result *r = b->result;
  part p = {.bench = b, .comm = comm};
  if (leads(&p)) {
    snprintf(r->found, sizeof r->found, "%s", sley_comm_device(comm));
    snprintf(r->transport, sizeof r->transport, "%s", sley_comm_transport(comm));
  }
  sley_status status = cli_gnn_layouts_choose(comm, &b->layouts, &b->model[0], &r->order, &p.layout);
  if (status == SLEY_OK)
    status = cli_agree_status(comm, take(&p));
  for (int i = 0; i < b->models && status == SLEY_OK; i++)
    status = run_model(&p, i);
  sley_comm_free(comm, p.label);
  sley_comm_free(comm, p.x);
  free(p.ms);
  return status;
}

sley_status cli_gnn_bench_run(cli_gnn_bench *bench) {
  const sley_status status =
      cli_gnn_layouts_make(bench->data, bench->order, &bench->ranks, bench->seed, &bench->layouts);
  return status == SLEY_OK ? sley_run_ranks(&bench->ranks, rank_main, bench) : status;
}

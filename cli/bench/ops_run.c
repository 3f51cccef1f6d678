/* SPDX-License-Identifier: Apache-2.0 */
/* Measures one operation for `sley bench ops`, on ranks that are threads. First each pass is called once and
 * its results are checked. Then the contenders take turns: the forward pass, the backward pass and the
 * product of the same width. A turn consists of one untimed call and as many timed calls as take about
 * TURN_MS; their mean on the slowest rank is the turn's time. */
#include <stdlib.h>
#include <string.h>

#include "bench/ops_arrays.h"
#include "bench/ops_check.h"
#include "matrix/job.h"
#include "output/terminal.h"
#include "ranks/agree.h"

enum { MOST_CALLS = 1000, INDEX_BYTES = 4, ROW_BYTES = 8, NS_OF_MS = 1000000 };
static const double TURN_MS = 0.5;

/* Data that all ranks share. */
typedef struct shared {
  cli_ops_bench *bench;
  const cli_op *op;
  const sley_matrix *matrix;
  int64_t k, heads;
  int64_t *row_begin, *col_begin;
  cli_op_result *out;
} shared;

/* A contender: a pass of the operation, or the product. */
typedef struct contender {
  cli_op_case *c;
  cli_pass pass;
  int64_t calls; /* timed calls per turn; 0: not known yet */
  double *ms;    /* ms per call, of each turn */
  cli_times *out;
} contender;

enum { CONTENDERS = 3 };

/* A rank's work. */
typedef struct work {
  shared *s;
  sley_comm *comm;
  cli_op_case op, product;
  contender list[CONTENDERS];
  int contenders;
} work;

/* ---- cases */

/* Creates an operation and its arrays on this rank, for an existing graph. Collective. */
static sley_status open_case(const work *w, const cli_op *op, sley_graph *graph, cli_op_case *c) {
  const shared *s = w->s;
  *c = (cli_op_case){.op = op,
                     .comm = w->comm,
                     .graph = graph,
                     .matrix = s->matrix,
                     .row_begin = s->row_begin,
                     .col_begin = s->col_begin,
                     .heads = op == &cli_op_product ? 1 : s->heads,
                     .dtype = s->bench->dtype,
                     .seed = s->bench->seed};
  c->width = s->k / c->heads;
  sley_status status = sley_matrix_csr(s->matrix, &c->csr);
  if (status == SLEY_OK)
    status = op->create(c);
  if (status != SLEY_OK)
    return status;
  status = cli_op_case_open(c);
  return cli_agree_status(w->comm, status);
}

/* ---- results */

/* Shares the check's results: the message of the lowest rank with a wrong value goes to the result.
 * Collective. */
static sley_status conclude_check(const work *w, const cli_op_finding *finding, cli_pass pass) {
  cli_op_result *out = w->s->out;
  const int rank = sley_comm_rank(w->comm), size = sley_comm_size(w->comm);
  int64_t first = finding->wrong ? rank : size, checked = finding->checked;
  sley_status status = sley_comm_allreduce(w->comm, SLEY_MIN, &first, 1);
  if (status == SLEY_OK)
    status = sley_comm_allreduce(w->comm, SLEY_SUM, &checked, 1);
  if (status == SLEY_OK && rank == (first < size ? first : 0)) {
    out->checked[pass] = checked;
    out->wrong |= first < size;
    if (first < size)
      memcpy(out->reason, finding->reason, sizeof out->reason);
  }
  return status == SLEY_OK ? sley_comm_barrier(w->comm) : status;
}

/* Calls a pass once and checks its results. Collective. */
static sley_status check_pass(work *w, cli_pass pass) {
  cli_op_case *c = &w->op;
  cli_op_finding finding = {0};
  cli_op_poison(c, pass);
  sley_status status = cli_agree_status(w->comm, cli_op_copy_written(c, pass, false));
  if (status == SLEY_OK)
    status = c->op->call[pass](c);
  if (status == SLEY_OK)
    status = cli_op_copy_written(c, pass, true);
  if (status == SLEY_OK)
    status = cli_op_check(c, pass, &finding);
  status = cli_agree_status(w->comm, status);
  return status == SLEY_OK ? conclude_check(w, &finding, pass) : status;
}

static sley_status add_contender(work *w, cli_op_case *c, cli_pass pass, cli_times *out) {
  void *ms;
  sley_status status = sley_buffer_alloc(w->s->bench->repeat * (int64_t)sizeof(double), &ms);
  if (status == SLEY_OK)
    w->list[w->contenders++] = (contender){.c = c, .pass = pass, .ms = ms, .out = out};
  return status;
}

/* ---- turns */

static sley_status calls(contender *one, int64_t count, double *ms) {
  sley_status status = sley_comm_barrier(one->c->comm);
  double begin = cli_now_ms();
  for (int64_t i = 0; i < count && status == SLEY_OK; i++)
    status = one->c->op->call[one->pass](one->c);
  if (status == SLEY_OK && !cli_op_on_host(one->c))
    status = sley_comm_wait(one->c->comm);
  int64_t ns = (int64_t)((cli_now_ms() - begin) * NS_OF_MS);
  if (status == SLEY_OK)
    status = sley_comm_allreduce(one->c->comm, SLEY_MAX, &ns, 1);
  *ms = (double)ns / NS_OF_MS;
  return status;
}

static sley_status turn(contender *one, int64_t number) {
  double ms;
  sley_status status = calls(one, 1, &ms);
  if (status == SLEY_OK && one->calls == 0) {
    status = calls(one, 1, &ms);
    one->calls = ms * MOST_CALLS <= TURN_MS ? MOST_CALLS : ms >= TURN_MS ? 1 : (int64_t)(TURN_MS / ms) + 1;
  }
  if (status == SLEY_OK)
    status = calls(one, one->calls, &ms);
  one->ms[number] = ms / (double)one->calls;
  return status;
}

static sley_status take_turns(work *w) {
  const int64_t repeat = w->s->bench->repeat;
  sley_status status = SLEY_OK;
  for (int64_t n = 0; n < repeat; n++)
    for (int i = 0; i < w->contenders && status == SLEY_OK; i++)
      status = turn(&w->list[(i + n) % w->contenders], n);
  if (status == SLEY_OK && sley_comm_rank(w->comm) == 0)
    for (int i = 0; i < w->contenders; i++)
      *w->list[i].out = cli_times_of(w->list[i].ms, repeat);
  return status;
}

/* ---- bytes */

/* Least bytes of a pass: column indices and row pointers, each array once, and the product's values of A. */
static sley_status count_bytes(const work *w, cli_pass pass) {
  const cli_op_case *c = &w->op;
  const int rank = sley_comm_rank(w->comm);
  const int64_t first = w->s->row_begin[rank], end = w->s->row_begin[rank + 1],
                entries = c->csr.rowptr[end] - c->csr.rowptr[first];
  int64_t bytes = entries * INDEX_BYTES + (end - first) * ROW_BYTES;
  if (c->op == &cli_op_product)
    bytes += entries * (int64_t)sley_dtype_bytes(c->dtype);
  for (int i = 0; i < CLI_OP_ARRAYS; i++)
    if ((c->op->reads[pass] | c->op->writes[pass]) & (1U << i))
      bytes += c->data[i].bytes;
  sley_status status = sley_comm_allreduce(w->comm, SLEY_SUM, &bytes, 1);
  if (rank == 0)
    w->s->out->bytes[pass] = bytes;
  return status;
}

/* ---- the case */

static sley_status measure(work *w) {
  cli_op_result *out = w->s->out;
  sley_status status = SLEY_OK;
  for (int pass = 0; pass < CLI_OPS_PASSES && status == SLEY_OK; pass++) {
    if (!w->op.op->call[pass] || out->wrong)
      continue;
    status = check_pass(w, (cli_pass)pass);
    if (status == SLEY_OK)
      status = count_bytes(w, (cli_pass)pass);
    if (status == SLEY_OK)
      status = add_contender(w, &w->op, (cli_pass)pass, &out->time[pass]);
  }
  if (status == SLEY_OK && w->product.op)
    status = add_contender(w, &w->product, CLI_FORWARD, &out->spmm);
  status = cli_agree_status(w->comm, status);
  return status == SLEY_OK && !out->wrong ? take_turns(w) : status;
}

static sley_status make_graph(const work *w, sley_graph **out) {
  const shared *s = w->s;
  const int rank = sley_comm_rank(w->comm);
  sley_matrix *block = NULL;
  sley_status status = sley_matrix_row_block(s->matrix, s->row_begin[rank],
                                             s->row_begin[rank + 1] - s->row_begin[rank], &block);
  status = cli_agree_status(w->comm, status);
  if (status == SLEY_OK)
    status =
        sley_graph_create(w->comm, (const sley_matrix *const *)&block, s->row_begin, s->col_begin, NULL, out);
  sley_matrix_destroy(block);
  return status;
}

static sley_status rank_main(sley_comm *comm, void *arg) {
  shared *s = arg;
  work w = {.s = s, .comm = comm};
  sley_graph *graph = NULL;
  sley_status status = make_graph(&w, &graph);
  if (status == SLEY_OK)
    status = open_case(&w, s->op, graph, &w.op);
  if (status == SLEY_OK && s->op != &cli_op_product && s->k > 0 && !s->bench->alone)
    status = open_case(&w, &cli_op_product, graph, &w.product);
  if (status == SLEY_OK)
    status = measure(&w);
  for (int i = 0; i < w.contenders; i++)
    sley_buffer_free(w.list[i].ms);
  cli_op_case_close(&w.product);
  cli_op_case_close(&w.op);
  sley_graph_destroy(graph);
  return status;
}

static sley_rank_options rank_options(const cli_ops_bench *bench) {
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  ranks.ranks = bench->ranks;
  ranks.threads = bench->threads;
  ranks.device = bench->device;
  return ranks;
}

static sley_status note_device(sley_comm *comm, void *arg) {
  cli_ops_bench *bench = arg;
  if (sley_comm_rank(comm) == 0)
    snprintf(bench->found, sizeof bench->found, "%s", sley_comm_device(comm));
  return SLEY_OK;
}

sley_status cli_ops_find_device(cli_ops_bench *bench) {
  const sley_rank_options ranks = rank_options(bench);
  return sley_run_ranks(&ranks, note_device, bench);
}

sley_status cli_op_run(cli_ops_bench *bench, const cli_op *op, const sley_matrix *matrix, const char *name,
                       int64_t k, int64_t heads, cli_op_result *out) {
  const sley_rank_options ranks = rank_options(bench);
  sley_matrix_info info;
  shared s = {.bench = bench, .op = op, .matrix = matrix, .k = k, .heads = heads, .out = out};
  *out = (cli_op_result){.op = op, .k = k, .heads = heads};
  snprintf(out->matrix, sizeof out->matrix, "%s", name);
  sley_status status = sley_matrix_info_get(matrix, &info);
  out->rows = info.rows;
  out->cols = info.cols;
  out->nnz = info.nnz;
  if (status == SLEY_OK)
    status = cli_partition(matrix, "rows", bench->ranks, &s.row_begin, &s.col_begin);
  if (status == SLEY_OK)
    status = sley_run_ranks(&ranks, rank_main, &s);
  sley_buffer_free(s.row_begin);
  sley_buffer_free(s.col_begin);
  out->status = status;
  if (status != SLEY_OK)
    snprintf(out->reason, sizeof out->reason, "%s", sley_last_error());
  return status == SLEY_ERR_INTERRUPTED ? status : SLEY_OK;
}

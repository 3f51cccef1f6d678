/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the cases one after the other on ranks that are started once. */
#include <stdio.h>
#include <stdlib.h>

#include "collective/collective.h"
#include "collective/data.h"
#include "collective/least.h"
#include "collective/time.h"
#include "output/terminal.h"
#include "ranks/agree.h"
#include "ranks/processes.h"

/* The two collectives that are compared. */
enum { COMPRESSED, DENSE, BOTH };

/* One rank's collectives and arrays for a case. */
typedef struct part {
  const cli_collective_bench *bench;
  sley_comm *comm;
  sley_collective *collective[BOTH];
  void *src, *dst[BOTH];
  int64_t src_values, dst_values;
  double *ms[BOTH]; /* ms per run, of each batch */
} part;

static bool leads(const part *p) {
  return sley_comm_rank(p->comm) == 0;
}

/* Returns true if the compressed result must equal the dense one bit by bit: both sum in the same order. */
static bool is_exact(const cli_collective_bench *bench) {
  const sley_collective_options *o = &bench->options;
  const bool sums = bench->kind.reduces && o->op == SLEY_SUM;
  return !sums || (bench->way.in_order && !o->any_order);
}

/* ---- making */

static sley_status take_arrays(part *p, int64_t count) {
  const int64_t all = count * sley_comm_size(p->comm),
                each = (int64_t)sley_type_bytes(p->bench->options.type);
  const sley_collective_kind_info *kind = &p->bench->kind;
  p->src_values = kind->reduces && !kind->whole ? all : count;
  p->dst_values = kind->gathers && !kind->whole ? all : count;
  sley_status status = sley_comm_alloc(p->comm, p->src_values * each, &p->src);
  for (int i = 0; i < BOTH && status == SLEY_OK; i++)
    status = sley_comm_alloc(p->comm, p->dst_values * each, &p->dst[i]);
  return status;
}

static sley_status make(part *p, int64_t count) {
  sley_collective_options options = p->bench->options;
  options.count = count;
  sley_status status = sley_collective_create(p->comm, &options, &p->collective[COMPRESSED]);
  options.compress = SLEY_COMPRESS_NONE;
  return status == SLEY_OK ? sley_collective_create(p->comm, &options, &p->collective[DENSE]) : status;
}

static void end(part *p) {
  for (int i = 0; i < BOTH; i++) {
    sley_collective_destroy(p->collective[i]);
    p->collective[i] = NULL;
  }
  for (int i = 0; i < BOTH; i++) {
    sley_comm_free(p->comm, p->dst[i]);
    p->dst[i] = NULL;
  }
  sley_comm_free(p->comm, p->src);
  p->src = NULL;
}

/* ---- timing */

typedef struct batch {
  const part *of;
  int which;
} batch;

static sley_status run_batch(sley_comm *comm, void *arg) {
  const batch *runs = arg;
  const part *p = runs->of;
  sley_status status = SLEY_OK;
  (void)comm;
  for (int64_t i = 0; i < p->bench->iters && status == SLEY_OK; i++)
    status = sley_collective_run(p->collective[runs->which], p->src, p->dst[runs->which]);
  return status;
}

/* Times a batch. *ms: time per run of the collective. */
static sley_status time_batch(const part *p, int which, double *ms) {
  batch runs = {.of = p, .which = which};
  const sley_status status = cli_collective_time(p->comm, &(cli_timed){.run = run_batch, .arg = &runs}, ms);
  *ms /= (double)p->bench->iters;
  return status;
}

/* Times both collectives alternately, and alternates which is first, so that both see the same conditions. */
static sley_status time_runs(const part *p) {
  const cli_collective_bench *b = p->bench;
  sley_status status = SLEY_OK;
  double ms;
  for (int64_t i = -b->warmup; i < b->repeat && status == SLEY_OK; i++)
    for (int turn = 0; turn < BOTH && status == SLEY_OK; turn++) {
      const int which = (int)((turn + i + b->warmup) % BOTH);
      status = time_batch(p, which, i < 0 ? &ms : &p->ms[which][i]);
    }
  return status;
}

/* ---- results of a case */

enum {
  WRONG,
  NONZEROS_IN,
  NONZEROS_OUT,
  WIRE,
  DENSE_WIRE,
  ARRAYS,
  DENSE_ARRAYS,
  PICI_ARRAYS,
  COO_ARRAYS,
  INTER,
  INTER_DENSE,
  INTRA,
  INTRA_DENSE,
  GATHERED,
  GATHERED_DENSE,
  NUMBERS
};

static sley_status note_infos(const part *p, cli_collective_case *to, int64_t number[NUMBERS]) {
  sley_collective_info info, dense = {0};
  sley_status status = sley_collective_info_get(p->collective[COMPRESSED], &info);
  if (status == SLEY_OK)
    status = sley_collective_info_get(p->collective[DENSE], &dense);
  if (status != SLEY_OK)
    return status;
  number[WIRE] = info.sent;
  number[DENSE_WIRE] = dense.sent;
  number[ARRAYS] = info.arrays;
  number[DENSE_ARRAYS] = info.dense;
  number[PICI_ARRAYS] = info.pici;
  number[COO_ARRAYS] = info.coo;
  number[INTER] = info.inter;
  number[INTER_DENSE] = info.inter_dense;
  number[INTRA] = info.intra;
  number[INTRA_DENSE] = info.intra_dense;
  number[GATHERED] = info.allgather;
  number[GATHERED_DENSE] = info.allgather_dense;
  snprintf(to->path, sizeof to->path, "%s", info.path);
  snprintf(to->reason, sizeof to->reason, "%s", info.reason);
  return SLEY_OK;
}

static void take_arrays_made(const int64_t number[NUMBERS], cli_collective_case *to) {
  to->arrays = number[ARRAYS];
  to->dense_arrays = number[DENSE_ARRAYS];
  to->pici_arrays = number[PICI_ARRAYS];
  to->coo_arrays = number[COO_ARRAYS];
  to->inter = number[INTER];
  to->inter_dense = number[INTER_DENSE];
  to->intra = number[INTRA];
  to->intra_dense = number[INTRA_DENSE];
  to->allgather = number[GATHERED];
  to->allgather_dense = number[GATHERED_DENSE];
}

static sley_status note(const part *p, int64_t nonzeros, cli_collective_case *to) {
  const cli_collective_bench *b = p->bench;
  const int size = sley_comm_size(p->comm);
  const double bound = is_exact(b) ? 0 : cli_collective_bound(b->options.type, size);
  int64_t number[NUMBERS] = {[NONZEROS_IN] = nonzeros};
  sley_status status =
      cli_collective_compare(p->comm, b->options.type, p->dst[COMPRESSED], b->check ? p->dst[DENSE] : NULL,
                             p->dst_values, bound, &number[NONZEROS_OUT], &number[WRONG]);
  if (status == SLEY_OK)
    status = note_infos(p, to, number);
  status = cli_agree_status(p->comm, status);
  if (status == SLEY_OK)
    status = sley_comm_allreduce(p->comm, SLEY_SUM, number, NUMBERS);
  if (status != SLEY_OK)
    return status;
  to->wrong = b->check ? number[WRONG] : -1;
  to->density_in = (double)number[NONZEROS_IN] / ((double)p->src_values * size);
  to->density_out = (double)number[NONZEROS_OUT] / ((double)p->dst_values * size);
  to->wire = number[WIRE];
  to->dense_wire = number[DENSE_WIRE];
  take_arrays_made(number, to);
  to->time = cli_times_of(p->ms[COMPRESSED], b->repeat);
  to->dense = cli_times_of(p->ms[DENSE], b->repeat);
  return SLEY_OK;
}

/* Computes the least time of runs that were compressed. The larger array is src or dst. */
static sley_status note_least(const part *p, cli_collective_case *to) {
  const int ranks = sley_comm_size(p->comm);
  cli_collective_speeds speeds;
  if (to->arrays == 0 || ranks == 1)
    return SLEY_OK;
  const void *larger = p->src_values > p->dst_values ? p->src : p->dst[DENSE];
  sley_status status = cli_collective_speeds_of(p->comm, larger, to->size, &speeds);
  if (status != SLEY_OK)
    return status;
  to->copy = speeds.copy;
  to->link = speeds.link;
  to->least = cli_collective_least_ms(&p->bench->kind, ranks, to->size, (double)to->wire / ranks, &speeds);
  return SLEY_OK;
}

/* ---- the run */

/* Runs one case. *mine: on entry size, count and zeros; on return also the measurements. Collective. */
static sley_status run_case(part *p, cli_collective_case *mine) {
  const cli_collective_draw draw = {.seed = (uint64_t)p->bench->seed,
                                    .type = p->bench->options.type,
                                    .zeros = mine->zeros,
                                    .block = p->bench->block};
  int64_t nonzeros = 0;
  sley_status status = take_arrays(p, mine->count);
  if (status == SLEY_OK)
    status = cli_collective_fill(p->comm, &draw, p->src, p->src_values, &nonzeros);
  status = cli_agree_status(p->comm, status);
  if (status == SLEY_OK)
    status = make(p, mine->count);
  if (status == SLEY_OK)
    status = time_runs(p);
  if (status == SLEY_OK)
    status = note(p, nonzeros, mine);
  if (status == SLEY_OK)
    status = note_least(p, mine);
  end(p);
  return status;
}

static sley_status run_cases(part *p) {
  const cli_collective_bench *b = p->bench;
  sley_status status = SLEY_OK;
  for (int i = 0; i < b->cases && status == SLEY_OK; i++) {
    cli_collective_case mine = b->result->at[i];
    if (leads(p) && b->tells)
      cli_progress("measuring", i, b->cases);
    status = run_case(p, &mine);
    if (status == SLEY_OK && leads(p))
      b->result->at[i] = mine;
  }
  return status;
}

/* Returns an error, already printed, if ranks under a launcher were started with different options. Leaves
 * out options that the library itself compares. Collective. */
static sley_status agree(sley_comm *comm, const cli_collective_bench *b) {
  static const char *const names[] = {"--bytes, --dtype or --sweep",
                                      "--zeros",
                                      "--blocks",
                                      "--seed",
                                      "--repeat",
                                      "--warmup",
                                      "--iters",
                                      "--check",
                                      "the collective",
                                      "--op",
                                      "--format",
                                      "--way",
                                      "--any-order"};
  const cli_collective_case *last = &b->result->at[b->cases - 1];
  const int64_t values[] = {last->size * CLI_COLLECTIVE_CASES + b->cases,
                            cli_agree_real(last->zeros),
                            b->block,
                            b->seed,
                            b->repeat,
                            b->warmup,
                            b->iters,
                            b->check,
                            b->options.kind,
                            b->options.op,
                            b->options.compress,
                            b->options.way,
                            b->options.any_order};
  return cli_agree_words(comm, names, values, sizeof values / sizeof *values, &b->result->told);
}

static sley_status rank_main(sley_comm *comm, void *arg) {
  const cli_collective_bench *b = arg;
  part p = {.bench = b, .comm = comm};
  sley_status status = SLEY_OK;
  if (b->ranks.transport && cli_launched())
    status = agree(comm, b);
  if (leads(&p)) {
    snprintf(b->result->found, sizeof b->result->found, "%s", sley_comm_device(comm));
    snprintf(b->result->transport, sizeof b->result->transport, "%s", sley_comm_transport(comm));
    snprintf(b->result->note, sizeof b->result->note, "%s", sley_comm_device_note(comm));
  }
  for (int i = 0; i < BOTH; i++)
    p.ms[i] = malloc((size_t)b->repeat * sizeof *p.ms[i]);
  if (status == SLEY_OK)
    status = cli_agree_status(comm, p.ms[COMPRESSED] && p.ms[DENSE] ? SLEY_OK : SLEY_ERR_MEMORY);
  if (status == SLEY_OK)
    status = run_cases(&p);
  for (int i = 0; i < BOTH; i++)
    free(p.ms[i]);
  return status;
}

sley_status cli_collective_run(cli_collective_bench *bench) {
  return sley_run_ranks(&bench->ranks, rank_main, bench);
}

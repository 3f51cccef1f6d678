/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the algorithms one after the other on ranks that are started once. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matrix/write.h"
#include "output/terminal.h"
#include "ranks/agree.h"
#include "ranks/processes.h"
#include "tile/tile.h"

enum { NS_PER_MS = 1000000 };

/* One rank's matrices and times. */
typedef struct part {
  const cli_tile_bench *bench;
  sley_comm *comm;
  sley_tiled *a, *x, *y;          /* A, X and Y, or A, B and the C of the last run */
  sley_tiled *mask;               /* NULL: none */
  int64_t *row_begin, *col_begin; /* the rows of Y and of X that each rank sets, reads and checks */
  double *ms;                     /* ms of each timed run */
  int64_t *stage_flops, stages;   /* flops of this rank in each stage of the last run */
} part;

static bool leads(const part *p) {
  return sley_comm_rank(p->comm) == 0;
}

/* ---- matrices */

static void divide(int64_t rows, int ranks, int64_t *begin) {
  for (int r = 0; r <= ranks; r++)
    begin[r] = rows / ranks * r + (r < rows % ranks ? r : rows % ranks);
}

/* Creates X and Y. Each rank sets its rows of X. Collective. */
static sley_status make_dense(part *p, int me) {
  const cli_tile_bench *b = p->bench;
  sley_status status = sley_tiled_create_dense(p->comm, b->size.cols, b->k, b->size.dtype, &b->of_x, &p->x);
  if (status == SLEY_OK)
    status = sley_tiled_create_dense(p->comm, b->size.rows, b->k, b->size.dtype, &b->y, &p->y);
  return status == SLEY_OK
             ? sley_tiled_set_rows(p->x, p->col_begin, cli_operands_x(b->operands, p->col_begin[me]), b->k)
             : status;
}

static sley_status make_matrices(part *p) {
  const cli_tile_bench *b = p->bench;
  const int me = sley_comm_rank(p->comm), size = sley_comm_size(p->comm);
  p->row_begin = malloc(((size_t)size + 1) * sizeof *p->row_begin);
  p->col_begin = malloc(((size_t)size + 1) * sizeof *p->col_begin);
  p->ms = malloc((size_t)b->repeat * sizeof *p->ms);
  sley_status status =
      cli_agree_status(p->comm, p->row_begin && p->col_begin && p->ms ? SLEY_OK : SLEY_ERR_MEMORY);
  if (status != SLEY_OK)
    return status;
  divide(b->size.rows, size, p->row_begin);
  divide(b->size.cols, size, p->col_begin);
  status = sley_tiled_create_sparse(p->comm, b->matrix, NULL, &b->a, &p->a);
  if (status == SLEY_OK)
    status = b->b ? sley_tiled_create_sparse(p->comm, b->b, NULL, &b->of_x, &p->x) : make_dense(p, me);
  if (status == SLEY_OK && b->mask)
    status = sley_tiled_create_sparse(p->comm, b->mask, NULL, &b->y, &p->mask);
  return status == SLEY_OK && leads(p) ? sley_tiled_info_get(p->a, b->info) : status;
}

static void end(part *p) {
  sley_tiled_destroy(p->a);
  sley_tiled_destroy(p->x);
  sley_tiled_destroy(p->y);
  sley_tiled_destroy(p->mask);
  free(p->row_begin);
  free(p->col_begin);
  free(p->ms);
  free(p->stage_flops);
}

/* ---- timing */

static sley_tile_spgemm_options spgemm_options(const part *p, const char *algo) {
  sley_tile_spgemm_options options = SLEY_TILE_SPGEMM_OPTIONS_INIT;
  options.semiring = p->bench->semiring;
  options.algo = algo;
  options.buffers = (int)p->bench->buffers;
  options.mask = p->mask;
  options.mem_limit = p->bench->mem_limit;
  options.stage_flops = p->stage_flops;
  options.stages = p->stages;
  return options;
}

/* Sets this rank's rows of Y to their values before a product that adds to Y. Collective. */
static sley_status reset_y(const part *p) {
  const cli_operands *operands = p->bench->operands;
  if (!operands || !operands->y_start)
    return SLEY_OK;
  const int64_t first = p->row_begin[sley_comm_rank(p->comm)];
  const size_t row_bytes = (size_t)operands->k * sley_dtype_bytes(operands->dtype);
  return sley_tiled_set_rows(p->y, p->row_begin, (const char *)operands->y_start + (size_t)first * row_bytes,
                             operands->k);
}

/* Multiplies once: Y = A X if product is set; if product is NULL, C = A B. */
static sley_status multiply(part *p, sley_tile_spmm *product, const char *algo, sley_tile_report *report) {
  if (product) {
    const cli_measure *measure = p->bench->measure;
    const sley_status status = sley_tile_spmm_run(product, measure->alpha, measure->beta);
    return status == SLEY_OK ? sley_tile_spmm_report_get(product, report) : status;
  }
  const sley_tile_spgemm_options options = spgemm_options(p, algo);
  sley_tiled_destroy(p->y);
  p->y = NULL;
  return sley_tile_spgemm(p->a, p->x, &options, &p->y, report);
}

/* Multiplies once; all ranks begin together. *ms: time of the slowest rank. Collective. */
static sley_status run_once(part *p, sley_tile_spmm *product, const char *algo, double *ms,
                            cli_tile_rank *sum, sley_tile_report *report) {
  sley_status status = reset_y(p);
  if (status == SLEY_OK)
    status = sley_comm_barrier(p->comm);
  if (status == SLEY_OK)
    status = multiply(p, product, algo, report);
  if (status != SLEY_OK)
    return status;
  int64_t ns = (int64_t)(report->total_ms * NS_PER_MS);
  status = sley_comm_allreduce(p->comm, SLEY_MAX, &ns, 1);
  *ms = (double)ns / NS_PER_MS;
  sum->compute += report->compute_ms;
  sum->communicate += report->communicate_ms;
  sum->accumulate += report->accumulate_ms;
  sum->imbalance += report->imbalance_ms;
  return status;
}

/* ---- figures of the ranks */

enum { TIMES = 4, FIGURES = TIMES + 3, TRAFFIC = 12, LEVELS = 2 };

/* Collects the figures of all ranks in `all` on rank 0. Collective. */
static sley_status share_figures(const part *p, const cli_tile_rank *mine, cli_tile_rank *all) {
  const int size = sley_comm_size(p->comm), me = sley_comm_rank(p->comm);
  int64_t *number = calloc((size_t)size * FIGURES, sizeof *number);
  sley_status status = cli_agree_status(p->comm, number ? SLEY_OK : SLEY_ERR_MEMORY);
  if (status == SLEY_OK) {
    const double times[TIMES] = {mine->compute, mine->communicate, mine->accumulate, mine->imbalance};
    for (int t = 0; t < TIMES; t++)
      number[me * FIGURES + t] = (int64_t)(times[t] / (double)p->bench->repeat * NS_PER_MS);
    number[me * FIGURES + TIMES] = mine->tasks;
    number[me * FIGURES + TIMES + 1] = mine->flops;
    number[me * FIGURES + TIMES + 2] = mine->stolen;
    status = sley_comm_allreduce(p->comm, SLEY_SUM, number, size * FIGURES);
  }
  for (int r = 0; status == SLEY_OK && leads(p) && r < size; r++) {
    const int64_t *n = number + r * FIGURES;
    all[r] = (cli_tile_rank){(double)n[0] / NS_PER_MS,
                             (double)n[1] / NS_PER_MS,
                             (double)n[2] / NS_PER_MS,
                             (double)n[3] / NS_PER_MS,
                             n[TIMES],
                             n[TIMES + 1],
                             n[TIMES + 2]};
  }
  free(number);
  return status;
}

static sley_status share_traffic(const part *p, const sley_tile_report *report, cli_tile_result *to) {
  const sley_traffic *each[2] = {&report->predicted, &report->counted};
  sley_traffic sums[2];
  int64_t n[TRAFFIC + LEVELS] = {[TRAFFIC] = report->prepare_bytes, report->summa_bytes};
  for (int i = 0; i < 2; i++) {
    const int64_t of[TRAFFIC / 2] = {each[i]->direct_bytes,  each[i]->direct_messages,
                                     each[i]->message_bytes, each[i]->message_messages,
                                     each[i]->self_bytes,    each[i]->self_messages};
    memcpy(n + TRAFFIC / 2 * i, of, sizeof of);
  }
  sley_status status = sley_comm_allreduce(p->comm, SLEY_SUM, n, TRAFFIC + LEVELS);
  for (int i = 0; i < 2; i++) {
    const int64_t *at = n + TRAFFIC / 2 * i;
    sums[i] = (sley_traffic){at[0], at[1], at[2], at[3], at[4], at[5]};
  }
  if (leads(p)) {
    to->predicted = sums[0];
    to->counted = sums[1];
    to->prepare_bytes = n[TRAFFIC];
    to->summa_bytes = n[TRAFFIC + 1];
  }
  return status;
}

/* Allocates the flops of the stages of an algorithm. Collective, agreed. */
static sley_status open_stages(part *p, const char *algo) {
  free(p->stage_flops);
  p->stages = sley_tile_stages(p->a, p->x, algo);
  p->stage_flops = calloc((size_t)p->stages, sizeof *p->stage_flops);
  return cli_agree_status(p->comm, p->stage_flops && p->stages <= INT_MAX ? SLEY_OK : SLEY_ERR_MEMORY);
}

/* Adds the most flops of a rank in each stage. Collective. */
static sley_status share_stages(const part *p, cli_tile_result *to) {
  int64_t sum = 0;
  sley_status status = sley_comm_allreduce(p->comm, SLEY_MAX, p->stage_flops, (int)p->stages);
  for (int64_t s = 0; s < p->stages; s++)
    sum += p->stage_flops[s];
  if (leads(p))
    to->staged_flops = sum;
  return status;
}

/* Compares this rank's rows of Y, at y, with float64 sums. */
static sley_status compare(const part *p, const sley_matrix *block, const void *y, sley_check *out) {
  const cli_operands *o = p->bench->operands;
  const cli_measure *m = p->bench->measure;
  const int64_t first = p->row_begin[sley_comm_rank(p->comm)];
  const size_t row_bytes = (size_t)o->k * sley_dtype_bytes(o->dtype);
  const char *start = o->y_start ? (const char *)o->y_start + (size_t)first * row_bytes : NULL;
  return sley_check_scaled(block, false, o->k, m->alpha, o->x, o->k, m->beta, start, o->k, y, o->k, 1, out);
}

static sley_status check_dense(const part *p, const sley_matrix *block, sley_check *out) {
  const cli_tile_bench *b = p->bench;
  const int me = sley_comm_rank(p->comm);
  const int64_t rows = p->row_begin[me + 1] - p->row_begin[me];
  void *y = NULL;
  sley_status status = sley_buffer_alloc(rows * b->k * (int64_t)sley_dtype_bytes(b->size.dtype), &y);
  status = cli_agree_status(p->comm, status);
  if (status == SLEY_OK)
    status = sley_tiled_get_rows(p->y, p->row_begin, y, b->k);
  if (status == SLEY_OK)
    status = compare(p, block, y, out);
  sley_buffer_free(y);
  return status;
}

/* Checks this rank's rows of C. Collective. */
static sley_status check_sparse(const part *p, const sley_matrix *block, sley_check *out) {
  const int64_t *begin = p->row_begin + sley_comm_rank(p->comm);
  sley_spgemm_options options = SLEY_SPGEMM_OPTIONS_INIT;
  sley_matrix *c = NULL, *mask = NULL;
  options.semiring = p->bench->semiring;
  options.threads = 1;
  sley_status status = sley_tiled_get_matrix(p->y, p->row_begin, &c);
  if (status == SLEY_OK && p->bench->mask)
    status = sley_matrix_row_block(p->bench->mask, begin[0], begin[1] - begin[0], &mask);
  options.mask = mask;
  if (status == SLEY_OK)
    status = sley_check_spgemm(block, p->bench->b, &options, c, out);
  sley_matrix_destroy(mask);
  sley_matrix_destroy(c);
  return status;
}

static sley_status check_rows(const part *p, sley_check *out) {
  const int me = sley_comm_rank(p->comm);
  const int64_t first = p->row_begin[me], rows = p->row_begin[me + 1] - first;
  sley_matrix *block = NULL;
  sley_status status =
      cli_agree_status(p->comm, sley_matrix_row_block(p->bench->matrix, first, rows, &block));
  if (status == SLEY_OK)
    status = p->bench->b ? check_sparse(p, block, out) : check_dense(p, block, out);
  sley_matrix_destroy(block);
  return status;
}

static sley_status verify(const part *p, cli_tile_result *to) {
  sley_check mine = {.ok = true};
  if (!p->bench->verify)
    return SLEY_OK;
  sley_status status = cli_agree_status(p->comm, check_rows(p, &mine));
  mine.row += p->row_begin[sley_comm_rank(p->comm)];
  if (status == SLEY_OK)
    status = cli_agree_check(p->comm, &mine);
  if (status == SLEY_OK && leads(p)) {
    to->checked = true;
    to->check = mine;
  }
  return status;
}

/* ---- the last product */

/* Fills begin[0..ranks] so that rank 0 has all rows. */
static void give_all_to_first(int64_t *begin, int64_t rows, int ranks) {
  begin[0] = 0;
  for (int r = 1; r <= ranks; r++)
    begin[r] = rows;
}

static sley_status keep_c(const part *p, const int64_t *begin, bool right) {
  sley_matrix *c = NULL;
  sley_status status = sley_tiled_get_matrix(p->y, begin, &c);
  if (status == SLEY_OK && leads(p) && right)
    status = cli_write_matrix(c, p->bench->out);
  sley_matrix_destroy(c);
  return cli_agree_status(p->comm, status);
}

/* Copies the last product to the operands' Y on rank 0, or writes C to its file. Collective. */
static sley_status keep_product(const part *p, const cli_tile_result *last) {
  const cli_tile_bench *b = p->bench;
  const int size = sley_comm_size(p->comm);
  if (!b->operands && !b->out)
    return SLEY_OK;
  int64_t *begin = malloc(((size_t)size + 1) * sizeof *begin);
  sley_status status = cli_agree_status(p->comm, begin ? SLEY_OK : SLEY_ERR_MEMORY);
  if (status == SLEY_OK) {
    give_all_to_first(begin, b->size.rows, size);
    status = b->operands ? sley_tiled_get_rows(p->y, begin, b->operands->y, b->k)
                         : keep_c(p, begin, !last->checked || last->check.ok);
  }
  free(begin);
  return status;
}

/* ---- the run */

/* Runs the untimed and the timed products of one algorithm, then collects and checks. product NULL: C = A B.
 * Collective. */
static sley_status run_product(part *p, sley_tile_spmm *product, cli_tile_result *to) {
  const cli_tile_bench *b = p->bench;
  cli_tile_rank sum = {0}, unused = {0};
  sley_tile_report report = {0};
  sley_status status = SLEY_OK;
  double ms;
  for (int64_t i = -b->warmup; i < b->repeat && status == SLEY_OK; i++) {
    if (leads(p) && b->tells)
      cli_progress(to->algo, i + b->warmup, b->warmup + b->repeat);
    status = run_once(p, product, to->algo, i < 0 ? &ms : &p->ms[i], i < 0 ? &unused : &sum, &report);
  }
  sum.tasks = report.tasks;
  sum.flops = report.flops;
  sum.stolen = report.stolen;
  if (status == SLEY_OK)
    status = share_figures(p, &sum, to->rank);
  if (status == SLEY_OK)
    status = share_traffic(p, &report, to);
  if (status == SLEY_OK)
    status = share_stages(p, to);
  if (status == SLEY_OK && leads(p))
    to->time = cli_times_of(p->ms, b->repeat);
  return status == SLEY_OK ? verify(p, to) : status;
}

static sley_status run_sparse(part *p, cli_tile_result *to) {
  sley_tiled_info c;
  sley_status status = open_stages(p, to->algo);
  if (status == SLEY_OK)
    status = run_product(p, NULL, to);
  if (status == SLEY_OK)
    status = sley_tiled_info_get(p->y, &c);
  if (status == SLEY_OK && leads(p))
    to->c_entries = c.entries;
  return status;
}

static sley_status run_algorithm(part *p, cli_tile_result *to) {
  sley_tile_spmm_options options = SLEY_TILE_SPMM_OPTIONS_INIT;
  sley_tile_spmm *product = NULL;
  options.algo = to->algo;
  options.buffers = (int)p->bench->buffers;
  sley_status status = open_stages(p, to->algo);
  options.stage_flops = p->stage_flops;
  options.stages = p->stages;
  if (status == SLEY_OK)
    status = sley_tile_spmm_create(p->a, p->x, p->y, &options, &product);
  if (status == SLEY_OK)
    status = run_product(p, product, to);
  sley_tile_spmm_destroy(product);
  return status;
}

/* Returns an error, already printed, if ranks under a launcher were started with different options. Leaves
 * out options that the library itself compares. Collective. */
static sley_status agree(sley_comm *comm, const cli_tile_bench *b) {
  static const char *const names[] = {
      "the matrix, or --dtype", "--seed", "--repeat", "--warmup", "--verify", "--algo",
      "B, or --semiring",       "--mask", "--out"};
  if (b->job)
    return cli_agree(comm, b->job, b->operands, b->measure, b->told);
  int64_t algos = b->algos->count;
  for (int i = 0; i < b->algos->count; i++)
    for (const char *at = b->algos->name[i]; *at; at++)
      algos = algos * 31 % INT64_C(1000003) + *at;
  const int64_t values[] = {b->size.nnz * 4 + b->size.dtype,
                            b->seed,
                            b->repeat,
                            b->warmup,
                            b->verify,
                            algos,
                            b->size_b.nnz * 4 + b->semiring,
                            b->mask ? b->size_mask.nnz : -1,
                            b->out != NULL};
  return cli_agree_words(comm, names, values, sizeof values / sizeof *values, b->told);
}

static sley_status rank_main(sley_comm *comm, void *arg) {
  const cli_tile_bench *b = arg;
  part p = {.bench = b, .comm = comm};
  sley_status status = SLEY_OK;
  if (b->ranks.transport && cli_launched())
    status = agree(comm, b);
  if (status == SLEY_OK)
    status = make_matrices(&p);
  for (int i = 0; i < b->algos->count && status == SLEY_OK; i++)
    status = b->b ? run_sparse(&p, &b->result[i]) : run_algorithm(&p, &b->result[i]);
  if (status == SLEY_OK)
    status = keep_product(&p, &b->result[b->algos->count - 1]);
  if (leads(&p)) { /* at the end, because symmetric memory may add to the note */
    snprintf(b->note, SLEY_ERROR_BYTES, "%s", sley_comm_device_note(comm));
    snprintf(b->device, SLEY_ERROR_BYTES, "%s", sley_comm_device(comm));
    snprintf(b->transport, SLEY_ERROR_BYTES, "%s", sley_comm_transport(comm));
  }
  end(&p);
  return status;
}

sley_status cli_tile_run(cli_tile_bench *bench) {
  return sley_run_ranks(&bench->ranks, rank_main, bench);
}

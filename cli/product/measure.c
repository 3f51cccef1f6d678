/* SPDX-License-Identifier: Apache-2.0 */
/* The work of each rank in `sley spmm`, and its times. */
#include "product/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/terminal.h"
#include "product/ablation.h"
#include "product/placed.h"
#include "product/spread.h"
#include "ranks/agree.h"
#include "ranks/processes.h"

/* The data that ranks receive. Y and the results are shared memory if ranks are forked processes. */
typedef struct run {
  const cli_job *job;
  const cli_operands *operands;
  const cli_measure *measure;
  cli_result *results; /* written by rank 0; under a launcher each process writes its own */
  cli_found *found;    /* findings about a spread job; written like results */
} run;

bool cli_result_as_predicted(const cli_result *result) {
  static const sley_traffic none;
  const sley_traffic *a = &result->counted, *b = result->unchanged ? &none : &result->info.predicted;
  return a->direct_bytes == b->direct_bytes && a->message_bytes == b->message_bytes &&
         a->direct_messages == b->direct_messages && a->message_messages == b->message_messages &&
         a->self_bytes == b->self_bytes && a->self_messages == b->self_messages;
}

/* Stores info with its own copy of the name. asked: the requested algorithm, whose name is used if it has
   parameters. */
static void keep_info(const sley_plan_info *info, const char *asked, double plan_ms, cli_result *out) {
  out->info = *info;
  out->plan_ms = plan_ms;
  snprintf(out->algo, sizeof out->algo, "%s", strchr(asked, ':') ? asked : info->algo);
  snprintf(out->reason, sizeof out->reason, "%s", info->reason ? info->reason : "");
  out->info.algo = out->info.reason = NULL;
}

sley_update cli_update(const cli_operands *operands, const cli_measure *measure) {
  sley_update update = SLEY_UPDATE_INIT;
  update.w = operands->w;
  update.n = update.ldw = operands->y_cols;
  update.alpha = measure->alpha;
  update.beta = measure->beta;
  return update;
}

/* Copies columns [first, first + columns) of whole rows in host memory to packed rows, or back. */
static void pack(const cli_operands *operands, char *whole, char *packed, int64_t rows, int64_t first,
                 int64_t columns, bool back) {
  size_t value = sley_dtype_bytes(operands->dtype), bytes = (size_t)columns * value;
  for (int64_t i = 0; i < rows; i++) {
    char *at = whole + (size_t)(i * operands->k + first) * value, *there = packed + (size_t)i * bytes;
    memcpy(back ? at : there, back ? there : at, bytes);
  }
}

/* Multiplies in blocks of columns, which are copied to the device and back. */
static sley_status multiply_blocks(sley_comm *comm, sley_plan *plan, const run *shared, const cli_placed *p) {
  const cli_operands *operands = shared->operands;
  const cli_measure *measure = shared->measure;
  int64_t value = (int64_t)sley_dtype_bytes(operands->dtype);
  sley_status status = SLEY_OK;
  for (int64_t b = 0; b < p->blocks && status == SLEY_OK; b++) {
    int64_t first = b * p->width, left = operands->k - first, columns = left < p->width ? left : p->width;
    int64_t x_bytes = p->x_count * columns * value, y_bytes = p->y_count * columns * value;
    pack(operands, (char *)p->host_x, p->packed, p->x_count, first, columns, false);
    status = sley_comm_copy(comm, (void *)p->x, p->packed, x_bytes, SLEY_TO_DEVICE);
    if (status == SLEY_OK && measure->beta != 0) {
      pack(operands, p->host_y, p->packed, p->y_count, first, columns, false);
      status = sley_comm_copy(comm, p->y, p->packed, y_bytes, SLEY_TO_DEVICE);
    }
    if (status == SLEY_OK)
      status = sley_spmm_block(plan, b, measure->alpha, p->x, columns, measure->beta, p->y, columns);
    if (status == SLEY_OK)
      status = sley_comm_copy(comm, p->packed, p->y, y_bytes, SLEY_TO_HOST);
    if (status == SLEY_OK)
      pack(operands, p->host_y, p->packed, p->y_count, first, columns, true);
  }
  return status;
}

/* Waits for all ranks. Sets *spent to whether at least one rank has used its budget. Collective. */
static sley_status meet(sley_comm *comm, const cli_measure *measure, double begin, bool *spent) {
  *spent = false;
  if (measure->budget <= 0)
    return sley_comm_barrier(comm);
  int64_t over = cli_now_ms() - begin > measure->budget * 1e3;
  sley_status status = sley_comm_allreduce(comm, SLEY_MAX, &over, 1);
  *spent = over != 0;
  return status;
}

/* Multiplies all columns at once. first: the plan's first product. */
static sley_status multiply_all(sley_plan *plan, const run *shared, const cli_placed *p, bool first) {
  const cli_measure *measure = shared->measure;
  int64_t k = shared->operands->k;
  if (shared->operands->w) {
    sley_update update = cli_update(shared->operands, measure);
    update.w = p->w;
    return sley_spmm_update(plan, p->x, k, &update, p->y, update.n);
  }
  if (measure->unchanged)
    return sley_spmm_input(plan, first ? SLEY_CHANGED : SLEY_UNCHANGED, 1, measure->alpha, p->x, k,
                           measure->beta, p->y, k);
  return sley_spmm(plan, measure->alpha, p->x, k, measure->beta, p->y, k);
}

/* Multiplies once. *taken: nanoseconds on this rank. first: the plan's first product. */
static sley_status multiply(sley_comm *comm, sley_plan *plan, const run *shared, const cli_placed *p,
                            bool first, int64_t *taken) {
  double start = cli_now_ms();
  sley_status status =
      p->blocks > 1 ? multiply_blocks(comm, plan, shared, p) : multiply_all(plan, shared, p, first);
  if (status == SLEY_OK)
    status = sley_comm_wait(comm);
  *taken = (int64_t)((cli_now_ms() - start) * 1e6);
  return status;
}

/* Runs warmup + repeat products, or as many as the budget allows. All ranks begin each product together.
 * elapsed: this rank's nanoseconds for each timed product. *repeats: number of timed products, equal on all
 * ranks. Collective. */
static sley_status execute(sley_comm *comm, sley_plan *plan, const run *shared, const cli_placed *p,
                           const char *algo, int64_t *elapsed, int64_t *repeats) {
  const cli_measure *measure = shared->measure;
  double begin = cli_now_ms();
  int64_t runs = measure->warmup + measure->repeat, ignored;
  *repeats = 0;
  for (int64_t i = 0; i < runs; i++) {
    bool spent;
    sley_status status = cli_placed_reset(comm, shared->operands, p);
    if (status == SLEY_OK)
      status = meet(comm, measure, begin, &spent);
    if (status != SLEY_OK)
      return status;
    if (spent && i > 0 && i < measure->warmup)
      i = measure->warmup;
    if (spent && *repeats >= CLI_LEAST)
      break;
    status = multiply(comm, plan, shared, p, i == 0, i < measure->warmup ? &ignored : &elapsed[(*repeats)++]);
    if (status != SLEY_OK)
      return status;
    if (sley_comm_rank(comm) == 0)
      cli_progress(algo, i + 1, runs);
  }
  return p->copied && p->blocks == 1 ? sley_comm_copy(comm, p->host_y, p->y, p->y_bytes, SLEY_TO_HOST)
                                     : SLEY_OK;
}

static void keep_device(const sley_comm *comm, cli_result *out) {
  snprintf(out->device, sizeof out->device, "%s", sley_comm_device(comm));
  snprintf(out->transport, sizeof out->transport, "%s", sley_comm_transport(comm));
  snprintf(out->note, sizeof out->note, "%s", sley_comm_device_note(comm));
  out->workgroup = sley_comm_workgroup(comm);
  snprintf(out->network, sizeof out->network, "%s", sley_comm_network_note(comm));
}

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Computes the result's times and rate from the slowest rank's times. */
static void summarise(const run *shared, int64_t *elapsed, cli_result *result) {
  int64_t repeat = result->repeats;
  qsort(elapsed, (size_t)repeat, sizeof *elapsed, by_value);
  result->min_ms = (double)elapsed[0] * 1e-6;
  result->median_ms = (double)(elapsed[(repeat - 1) / 2] + elapsed[repeat / 2]) * 0.5e-6;
  result->p95_ms = (double)elapsed[(repeat * 95 + 99) / 100 - 1] * 1e-6;
  double flops = 2.0 * (double)shared->job->info.nnz * (double)shared->operands->k;
  if (shared->operands->w)
    flops += 2.0 * (double)shared->operands->y_rows * (double)shared->operands->k *
             (double)shared->operands->y_cols;
  result->gflops = result->median_ms > 0 ? flops / (result->median_ms * 1e6) : 0;
}

/* Gathers all rows of Y on rank 0 under a launcher. Threads of one process and forked ranks have already
 * written to one Y. */
static sley_status collect_y(sley_comm *comm, const run *shared) {
  const cli_operands *operands = shared->operands;
  if (sley_comm_one_process(comm) || !cli_launched() || shared->job->spread)
    return SLEY_OK;
  const int64_t *y_begin = shared->measure->transpose ? shared->job->col_begin : shared->job->row_begin;
  int size = sley_comm_size(comm);
  int64_t row = operands->y_cols * (int64_t)sley_dtype_bytes(operands->dtype);
  void *block = NULL;
  sley_status status = sley_buffer_alloc(size * (int64_t)sizeof(int64_t), &block);
  int64_t *bytes = block;
  for (int r = 0; r < size && status == SLEY_OK; r++)
    bytes[r] = (y_begin[r + 1] - y_begin[r]) * row;
  const void *own = cli_operands_y(operands, y_begin[sley_comm_rank(comm)]);
  if (status == SLEY_OK)
    status = sley_comm_gather(comm, 0, own, bytes, operands->y);
  sley_buffer_free(block);
  return status;
}

/* Runs the plan, and combines the figures of the ranks. Collective. */
static sley_status run_plan(sley_comm *comm, sley_plan *plan, const run *shared, cli_result *result) {
  cli_placed operands = {0};
  void *elapsed = NULL;
  sley_status status = sley_buffer_alloc(shared->measure->repeat * (int64_t)sizeof(int64_t), &elapsed);
  if (status == SLEY_OK)
    status =
        cli_place(comm, shared->job, shared->operands, shared->measure->transpose, &result->info, &operands);
  if (status == SLEY_OK)
    status = execute(comm, plan, shared, &operands, result->algo, elapsed, &result->repeats);
  if (status == SLEY_OK)
    status = sley_comm_allreduce(comm, SLEY_MAX, elapsed, (int)result->repeats);
  if (status == SLEY_OK) {
    summarise(shared, elapsed, result);
    result->unchanged = shared->measure->unchanged && shared->measure->warmup + result->repeats > 1;
    status = sley_plan_counted(plan, &result->counted);
  }
  if (status == SLEY_OK)
    status = collect_y(comm, shared);
  cli_unplace(comm, &operands);
  sley_buffer_free(elapsed);
  return status;
}

/* Creates a plan and stores its figures. On return either all ranks have a plan or none. Collective. */
static sley_status make_plan(sley_comm *comm, const sley_matrix *block, const run *shared, const char *algo,
                             sley_update_way update, sley_plan **plan, cli_result *result) {
  const cli_measure *measure = shared->measure;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = algo;
  options.reproducible = measure->reproducible;
  options.transpose = measure->transpose;
  options.local = measure->local;
  options.kernel = measure->kernel;
  options.precision = measure->precision;
  options.wire = measure->wire;
  options.keep_input = measure->unchanged;
  options.update = update;
  options.mem_limit = measure->mem_limit;
  options.mem_operands = cli_counts_operands(comm, options.mem_limit);
  sley_plan_info info;
  sley_status status = sley_comm_barrier(comm);
  const bool leads = sley_comm_rank(comm) == 0;
  double start = cli_now_ms();
  if (leads)
    cli_watch("planning");
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, shared->job->row_begin, shared->job->col_begin,
                              shared->operands->k, &options, plan);
  double plan_ms = cli_now_ms() - start;
  if (leads)
    cli_watch_end();
  if (status == SLEY_OK)
    status = sley_plan_info_get(*plan, &info);
  if (status != SLEY_OK)
    return status;
  keep_info(&info, algo, plan_ms, result);
  keep_device(comm, result);
  status = sley_plan_trials(*plan, result->trial, CLI_TRIALS, &result->trials);
  result->trials = result->trials < CLI_TRIALS ? result->trials : CLI_TRIALS;
  return status == SLEY_OK ? cli_kernels_of(*plan, &result->kernels) : status;
}

/* Returns true if no plan was made because the algorithm is not possible here, and stores the reason in the
 * result. Returns false for other errors. All ranks return the same. Collective. */
static bool is_impossible(sley_comm *comm, sley_status status, const char *algo, cli_result *result) {
  int64_t found[2] = {status == SLEY_ERR_UNSUPPORTED,
                      status != SLEY_ERR_UNSUPPORTED && status != SLEY_ERR_PEER};
  char reason[CLI_REASON];
  snprintf(reason, sizeof reason, "%s", sley_last_error());
  if (sley_comm_allreduce(comm, SLEY_MAX, found, 2) != SLEY_OK || !found[0] || found[1])
    return false;
  *result = (cli_result){.impossible = true};
  snprintf(result->algo, sizeof result->algo, "%s", algo);
  snprintf(result->reason, sizeof result->reason, "%s", reason);
  return true;
}

/* Number of values that are NaN or infinite: all bits of their exponents are set. */
static int64_t not_finite(sley_dtype dtype, const void *values, int64_t count) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; i++) {
    if (dtype == SLEY_F64)
      found += !isfinite(((const double *)values)[i]);
    else if (dtype == SLEY_F32)
      found += !isfinite(((const float *)values)[i]);
    else
      found += dtype == SLEY_F16 ? (((const uint16_t *)values)[i] & 0x7c00) == 0x7c00
                                 : (((const uint16_t *)values)[i] & 0x7f80) == 0x7f80;
  }
  return found;
}

/* Counts the values of Y that are not finite: rank 0 counts all of Y; in a spread job each rank counts its
 * own rows, and the counts are added. */
static sley_status count_not_finite(sley_comm *comm, const run *shared, cli_result *result) {
  const cli_operands *operands = shared->operands;
  bool spread = shared->job->spread;
  int rank = sley_comm_rank(comm);
  int64_t rows = spread ? shared->job->row_begin[rank + 1] - shared->job->row_begin[rank] : operands->y_rows;
  if (spread || rank == 0)
    result->not_finite = not_finite(operands->dtype, operands->y, rows * operands->y_cols);
  result->y_values = operands->y_rows * operands->y_cols;
  return spread ? sley_comm_allreduce(comm, SLEY_SUM, &result->not_finite, 1) : SLEY_OK;
}

/* Measures the product followed by a separate update, with the algorithm of the result. */
static sley_status time_apart(sley_comm *comm, const sley_matrix *block, const run *shared,
                              cli_result *result) {
  cli_result apart = {0};
  sley_plan *plan = NULL;
  sley_status status = make_plan(comm, block, shared, result->algo, SLEY_UPDATE_APART, &plan, &apart);
  if (status == SLEY_OK)
    status = run_plan(comm, plan, shared, &apart);
  result->apart_ms = apart.median_ms;
  sley_plan_destroy(plan);
  return status;
}

/* Plans, runs and checks one algorithm. Collective. */
static sley_status measure_one(sley_comm *comm, const sley_matrix *block, const run *shared, int index) {
  const cli_measure *measure = shared->measure;
  const char *algo = measure->algos->name[index];
  bool first = sley_comm_rank(comm) == 0;
  sley_plan *plan = NULL;
  cli_result result = {0};
  if (first)
    cli_progress(algo, 0, 0);
  bool updates = shared->operands->w != NULL;
  char *text = NULL;
  sley_status status =
      make_plan(comm, block, shared, algo, updates ? SLEY_UPDATE_FUSED : SLEY_UPDATE_NONE, &plan, &result);
  result.update = updates ? shared->operands->y_cols : 0;
  if (status == SLEY_OK && measure->algos->ablation) {
    status = sley_plan_describe(plan, &text);
    result.plan = status == SLEY_OK ? cli_plan_number(text) : 0;
    sley_buffer_free(text);
    if (status == SLEY_OK)
      status = sley_comm_allreduce(comm, SLEY_SUM, &result.plan, 1);
  }
  if (status == SLEY_OK && updates) /* before the fused run, so that Z has the result of the fused run */
    status = time_apart(comm, block, shared, &result);
  if (status == SLEY_OK)
    status = run_plan(comm, plan, shared, &result);
  else if (measure->algos->several && is_impossible(comm, status, algo, &result))
    status = SLEY_OK;
  result.ran = status == SLEY_OK && !result.impossible;
  if (result.ran)
    status = count_not_finite(comm, shared, &result);
  result.ran &= status == SLEY_OK;
  if (result.ran && shared->job->spread && measure->verify)
    status = cli_spread_verify(comm, shared->job, shared->operands, measure, &result);
  else if (result.ran && first && measure->verify)
    status = cli_measure_verify(shared->job, shared->operands, measure, &result);
  if (status == SLEY_OK && (first || (shared->job->ranks.transport && cli_launched())))
    shared->results[index] = result;
  sley_plan_destroy(plan);
  return status;
}

/* Returns true if this rank stores the data that all ranks have in common. */
static bool writes(const sley_comm *comm) {
  return sley_comm_rank(comm) == 0 || cli_launched();
}

/* Stores the message of an error that all ranks have, because any of them may be the first to end the run. */
static sley_status keep_failure(const run *shared, sley_status status, const char *message) {
  if (status == SLEY_OK || status == SLEY_ERR_PEER || status == SLEY_ERR_INTERRUPTED)
    return status;
  snprintf(shared->found->message, sizeof shared->found->message, "%s", message);
  shared->found->status = status;
  return status;
}

/* Stores the message. Under a launcher, which may end all ranks when the first one ends, also prints it
 * before any rank ends. Collective, except for SLEY_ERR_MEMORY, which a single rank may have. */
static sley_status fail_together(sley_comm *comm, const run *shared, sley_status status,
                                 const char *message) {
  keep_failure(shared, status, message);
  if (shared->found->status == SLEY_OK || status == SLEY_ERR_MEMORY || !cli_launched())
    return status;
  if (cli_reports(shared->job))
    cli_error("%s", shared->found->message);
  shared->results->told = true;
  (void)sley_comm_barrier(comm);
  return status;
}

/* Reads the rank's rows of A and X. Collective. */
static sley_status read_rows(sley_comm *comm, const run *shared, cli_job *job, cli_operands *operands) {
  char message[CLI_REASON];
  sley_status status = cli_job_read(shared->job, comm, job);
  if (status != SLEY_OK)
    return fail_together(comm, shared, status, sley_last_error());
  status = cli_spread_operands(comm, job, shared->measure, operands, message);
  if (status != SLEY_OK) {
    fail_together(comm, shared, status, message[0] ? message : sley_last_error());
    cli_job_end(job);
    return status;
  }
  if (writes(comm)) {
    shared->found->info = job->info;
    shared->found->source = job->source;
    shared->found->load_ms = job->load_ms;
    shared->found->k = operands->k;
  }
  return SLEY_OK;
}

/* Returns true on rank 0 if at least one algorithm ran and all results are right. */
static bool all_right(const run *shared) {
  bool any = false;
  for (int i = 0; i < shared->measure->algos->count; i++) {
    const cli_result *result = &shared->results[i];
    any |= result->ran;
    if (result->ran && ((result->verified && !result->check.ok) || !cli_result_as_predicted(result)))
      return false;
  }
  return any;
}

/* Computes the size of the least covers if no algorithm has, and writes Y's file. Collective. */
static sley_status finish_spread(sley_comm *comm, const run *own) {
  const cli_measure *measure = own->measure;
  int64_t covers = -1;
  for (int i = 0; i < measure->algos->count && sley_comm_rank(comm) == 0; i++)
    covers = own->results[i].ran && own->results[i].info.cover_rows >= 0 ? own->results[i].info.cover_rows
                                                                         : covers;
  int64_t told[2] = {covers,
                     measure->covers}; /* if only rank 0 has results, only rank 0 knows these numbers */
  sley_status status = sley_comm_allreduce(comm, SLEY_MAX, told, 2);
  covers = told[0];
  if (status == SLEY_OK && covers < 0 && told[1])
    status = cli_spread_cover_rows(comm, own->job, own->operands->k, &covers);
  if (writes(comm))
    own->found->cover_rows = covers;
  if (status == SLEY_OK) {
    status = cli_spread_write(comm, own->job, own->operands, measure->out, measure->out && all_right(own));
    fail_together(comm, own, status, sley_last_error());
  }
  return status;
}

/* The work of a rank that holds only its own rows. */
static sley_status spread_main(sley_comm *comm, const run *shared) {
  cli_job job;
  cli_operands operands;
  sley_status status = SLEY_OK;
  if (cli_launched())
    status = cli_agree(comm, shared->job, NULL, shared->measure, &shared->results->told);
  if (status == SLEY_OK)
    status = read_rows(comm, shared, &job, &operands);
  if (status != SLEY_OK)
    return status;
  run own = *shared;
  own.job = &job;
  own.operands = &operands;
  for (int i = 0; i < shared->measure->algos->count && status == SLEY_OK; i++)
    status = measure_one(comm, job.block, &own, i);
  if (status == SLEY_OK)
    status = finish_spread(comm, &own);
  if (sley_comm_rank(comm) == 0)
    cli_progress_clear();
  cli_operands_free(&operands);
  cli_job_end(&job);
  return status;
}

static sley_status rank_main(sley_comm *comm, void *arg) {
  const run *shared = arg;
  if (shared->job->spread)
    return spread_main(comm, shared);
  sley_matrix *block = NULL;
  sley_status status = SLEY_OK;
  if (shared->job->ranks.transport && cli_launched())
    status = cli_agree(comm, shared->job, shared->operands, shared->measure, &shared->results->told);
  if (status == SLEY_OK)
    status = cli_job_block(shared->job, comm, &block);
  for (int i = 0; i < shared->measure->algos->count && status == SLEY_OK; i++)
    status = measure_one(comm, block, shared, i);
  if (sley_comm_rank(comm) == 0)
    cli_progress_clear();
  sley_matrix_destroy(block);
  return status;
}

sley_status cli_measure_run(const cli_job *job, const cli_operands *operands, const cli_measure *measure,
                            cli_result *results, cli_found *found) {
  run shared = {.job = job, .operands = operands, .measure = measure, .results = results, .found = found};
  if (cli_reports(job))
    cli_progress(measure->algos->name[0], 0, 0);
  sley_status status = sley_run_ranks(&job->ranks, rank_main, &shared);
  cli_progress_clear();
  return status;
}

/* ---- a dry cover plan */

typedef struct dry_run {
  const cli_job *job;
  int64_t k, cover_rows;
  bool transpose;
} dry_run;

static sley_status dry_main(sley_comm *comm, void *arg) {
  dry_run *shared = arg;
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;
  sley_plan_info info;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = "cover";
  options.dry = true;
  options.transpose = shared->transpose;
  sley_status status = cli_job_block(shared->job, comm, &block);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, shared->job->row_begin, shared->job->col_begin, shared->k,
                              &options, &plan);
  if (status == SLEY_OK)
    status = sley_plan_info_get(plan, &info);
  if (status == SLEY_OK && sley_comm_rank(comm) == 0)
    shared->cover_rows = info.cover_rows;
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

sley_status cli_measure_cover_rows(const cli_job *job, int64_t k, bool transpose, int64_t *out) {
  dry_run shared = {.job = job, .k = k, .transpose = transpose, .cover_rows = -1};
  sley_rank_options ranks = job->ranks;
  ranks.trace = NULL;
  ranks.transport = NULL; /* a dry plan moves no rows */
  ranks.device = NULL;
  cli_progress("counting covers", 0, 0);
  sley_status status = sley_run_ranks(&ranks, dry_main, &shared);
  cli_progress_clear();
  *out = shared.cover_rows;
  return status;
}

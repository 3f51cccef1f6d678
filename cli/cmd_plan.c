/* SPDX-License-Identifier: Apache-2.0 */
/* `sley plan`: what every algorithm would move, take and need on a matrix. Nothing is multiplied. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "job.h"
#include "output.h"
#include "report.h"
#include "table.h"
#include "terminal.h"

#define MIB (1024.0 * 1024.0)
enum { DEFAULT_K = 32 };

static const cli_option *const options[] = {cli_job_options, NULL};
static const cli_job_settings defaults = CLI_JOB_DEFAULTS;

typedef struct planned {
  char algo[CLI_NAME], reason[CLI_REASON];
  sley_plan_info info; /* its texts are not valid any more */
} planned;

/* What the ranks share. Rank 0 writes plans, one for each name, and describes the single one asked for. */
typedef struct planning {
  const cli_job *job;
  const cli_job_settings *settings;
  const char *const *names;
  int count;
  int64_t k;
  bool describe;
  planned *plans;
  const char *device; /* that the ranks have */
  char *text;         /* freed by sley_buffer_free */
} planning;

static void keep(const sley_plan_info *info, planned *out) {
  out->info = *info;
  snprintf(out->algo, sizeof out->algo, "%s", info->algo ? info->algo : "");
  snprintf(out->reason, sizeof out->reason, "%s", info->reason ? info->reason : "");
  out->info.algo = out->info.reason = NULL;
}

static sley_status plan_one(sley_comm *comm, const sley_matrix *block, planning *shared, int i) {
  const cli_job *job = shared->job;
  sley_plan_options plan_options = SLEY_PLAN_OPTIONS_INIT;
  plan_options.algo = shared->names[i];
  plan_options.dry = true;
  plan_options.reproducible = shared->settings->reproducible;
  plan_options.transpose = shared->settings->transpose;
  plan_options.mem_limit = shared->settings->mem_limit;
  plan_options.mem_operands = cli_counts_operands(comm, plan_options.mem_limit);
  sley_plan *plan = NULL;
  sley_plan_info info;
  bool first = sley_comm_rank(comm) == 0;
  if (first)
    cli_progress(shared->names[i], i, shared->count);
  sley_status status =
      sley_plan_create(comm, block, job->row_begin, job->col_begin, shared->k, &plan_options, &plan);
  if (status == SLEY_OK)
    status = sley_plan_info_get(plan, &info);
  if (status == SLEY_OK && first)
    keep(&info, &shared->plans[i]);
  if (status == SLEY_OK && first && shared->describe)
    status = sley_plan_describe(plan, &shared->text);
  sley_plan_destroy(plan);
  return status;
}

static sley_status rank_main(sley_comm *comm, void *arg) {
  planning *shared = arg;
  sley_matrix *block = NULL;
  sley_status status = cli_job_block(shared->job, comm, &block);
  if (sley_comm_rank(comm) == 0)
    shared->device = sley_comm_device(comm);
  for (int i = 0; status == SLEY_OK && i < shared->count; i++)
    status = plan_one(comm, block, shared, i);
  sley_matrix_destroy(block);
  return status;
}

/* ---- reports */

/* The figures of the matrix's split are the same in every plan, except that not every plan counts covers. */
static sley_plan_info shared_info(const planning *shared) {
  sley_plan_info info = shared->plans[0].info;
  for (int i = 0; i < shared->count; i++)
    if (shared->plans[i].info.cover_rows >= 0)
      info.cover_rows = shared->plans[i].info.cover_rows;
  return info;
}

/* names[0] is "auto" or the one algorithm asked for. */
static void print_text(const planning *shared, FILE *stream) {
  static const char *const headings[] = {
      "<algo", "direct MiB", "message MiB", "messages", "predicted ms", "needed MiB", "blocks", "<", NULL};
  static cli_table table;
  sley_plan_info info = shared_info(shared);
  double width = (double)shared->k * (double)sley_dtype_bytes(shared->job->info.dtype) / MIB;
  cli_report_matrix(shared->job, shared->k, stream);
  fprintf(stream,
          "remote     %" PRId64 " nonzeros (fetched one by one %.2f MiB), %" PRId64 " halo rows (%.2f MiB)",
          info.remote_nnz, (double)info.remote_nnz * width, info.halo_rows, (double)info.halo_rows * width);
  if (info.cover_rows >= 0)
    fprintf(stream, ", %" PRId64 " cover rows (%.2f MiB)", info.cover_rows, (double)info.cover_rows * width);
  fprintf(stream, "\nchoice     ");
  cli_report_reason(shared->plans[0].algo, shared->plans[0].reason, stream);
  fprintf(stream, "memory     on %s the choice ", shared->device);
  cli_report_memory(&shared->plans[0].info, stream);
  fprintf(stream, "\n");
  cli_table_start(&table, headings);
  for (int i = shared->count > 1 ? 1 : 0; i < shared->count && cli_table_row(&table); i++) {
    const planned *plan = &shared->plans[i];
    cli_table_cell(&table, 0, "%s", plan->algo);
    cli_table_cell(&table, 1, "%.3f", (double)plan->info.predicted.direct_bytes / MIB);
    cli_table_cell(&table, 2, "%.3f", (double)plan->info.predicted.message_bytes / MIB);
    cli_table_cell(&table, 3, "%" PRId64, plan->info.predicted.message_messages);
    cli_table_cell(&table, 4, "%.3f", plan->info.predicted_ms);
    cli_table_cell(&table, 5, "%.1f", (double)plan->info.needed_bytes / MIB);
    cli_table_cell(&table, 6, "%" PRId64, plan->info.column_blocks);
    cli_table_cell(&table, 7, "%s", strcmp(plan->algo, shared->plans[0].algo) == 0 ? "<- choice" : "");
  }
  cli_table_print(&table, stream);
  if (shared->text)
    fprintf(stream, "\n%s", shared->text);
}

static cli_json algorithm_json(const planned *plan) {
  const sley_traffic *traffic = &plan->info.predicted;
  cli_json json = cli_json_start();
  cli_json_text(&json, "algo", plan->algo);
  cli_json_text(&json, "summary", sley_algorithm_summary(plan->algo));
  cli_json_object(&json, "predicted_bytes", cli_report_json_bytes(traffic));
  cli_json_object(&json, "predicted_messages", cli_report_json_messages(traffic));
  cli_json_real(&json, "predicted_ms", plan->info.predicted_ms);
  cli_json_int(&json, "memory_bytes", plan->info.memory_bytes);
  cli_report_json_memory(&json, &plan->info);
  return json;
}

static json_t *plan_json(const planning *shared) {
  sley_plan_info info = shared_info(shared);
  cli_json json = cli_report_json(shared->job, shared->settings, shared->k, &info);
  cli_json choice = cli_json_start(), list[CLI_ALGORITHMS + 1];
  int count = 0;
  for (int i = shared->count > 1 ? 1 : 0; i < shared->count; i++)
    list[count++] = algorithm_json(&shared->plans[i]);
  cli_json_text(&choice, "algo", shared->plans[0].algo);
  cli_json_text(&choice, "reason", shared->plans[0].reason);
  cli_json_object(&json, "choice", choice);
  cli_json_text(&json, "device", shared->device);
  cli_json_list(&json, "algorithms", list, count);
  return cli_json_end(json);
}

/* ---- run */

/* One algorithm, or auto and then those that were named, which are all where none was. */
static int list_names(const cli_algos *algos, const char *names[CLI_ALGORITHMS + 1]) {
  int count = 0;
  bool automatic = strcmp(algos->name[0], "auto") == 0 && !algos->several;
  if (algos->several || automatic)
    names[count++] = "auto";
  for (const char *const *name = automatic ? sley_algorithms() : algos->name; *name; name++)
    if (count <= CLI_ALGORITHMS)
      names[count++] = *name;
  return count;
}

static int run_job(const cli_job *job, const cli_job_settings *settings, const cli_algos *algos) {
  const char *names[CLI_ALGORITHMS + 1];
  int count = list_names(algos, names);
  planning shared = {.job = job,
                     .settings = settings,
                     .names = names,
                     .count = count,
                     .describe = count == 1,
                     .k = settings->k < 0 ? DEFAULT_K : settings->k};
  shared.plans = calloc((size_t)count, sizeof *shared.plans);
  if (!shared.plans)
    return cli_refuse(SLEY_ERR_MEMORY, "out of memory for the plans");
  sley_status status = sley_run_ranks(&job->ranks, rank_main, &shared);
  cli_progress_clear();
  int code = cli_finish(status);
  if (status == SLEY_OK) {
    bool to_stdout = settings->json && strcmp(settings->json, "-") == 0;
    print_text(&shared, to_stdout ? stderr : stdout);
    if (settings->json && !cli_output_json(settings->json, plan_json(&shared)))
      code = CLI_FAILED;
  }
  sley_buffer_free(shared.text);
  free(shared.plans);
  return code;
}

static int run(void *settings_, char **positionals) {
  const cli_job_settings *settings = settings_;
  cli_algos algos;
  if (!cli_algos_read("plan", settings->algo, &algos))
    return CLI_USAGE;
  if (!cli_output_possible(settings->json))
    return CLI_FAILED;
  cli_job job;
  sley_status status = cli_check_device(settings->device, NULL);
  if (status == SLEY_OK)
    status = cli_job_start(positionals[0], settings, NULL, NULL, &job);
  if (status != SLEY_OK)
    return cli_finish(status);
  int code = run_job(&job, settings, &algos);
  cli_job_end(&job);
  return code;
}

const cli_command cli_plan = {
    .name = "plan",
    .summary = "predict: traffic, time and memory of every algorithm, and the choice",
    .arguments = "MATRIX",
    .positionals = 1,
    .options = options,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes = "With --algo NAME only that algorithm is planned, and rank 0's steps are printed.\n",
    .run = run};

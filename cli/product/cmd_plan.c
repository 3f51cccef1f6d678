/* SPDX-License-Identifier: Apache-2.0 */
/* `sley plan`: predicts traffic, time and memory of every algorithm on a matrix. Nothing is multiplied. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "matrix/input.h"
#include "matrix/job.h"
#include "output/changes.h"
#include "output/output.h"
#include "output/plot.h"
#include "output/table.h"
#include "output/terminal.h"
#include "output/text.h"
#include "product/ablation.h"
#include "product/legend.h"
#include "product/planning.h"
#include "product/report.h"
#include "sweep/sweep.h"

#define MIB (1024.0 * 1024.0)
enum { DEFAULT_K = 32, REPEAT = 25, BUDGET = 2 }; /* BUDGET: seconds of measuring per algorithm */

typedef struct plan_settings {
  cli_job_settings job; /* must be first, so that the shared table's offsets are valid */
  const char *scaling;
  bool measure;
} plan_settings;

static const cli_option own_options[] = {
    {.name = "algo",
     .kind = CLI_TEXT,
     .value = "NAME",
     .offset = offsetof(plan_settings, job.algo),
     .choices = cli_plan_algos,
     .parameters = sley_algorithm_parameters,
     .help = "auto: the planner's choice; all: every algorithm; cola: the steps of an ablation; or names of "
             "algorithms, separated by commas, with parameters as NAME:KEY=VALUE,..."},
    {.name = "scaling",
     .kind = CLI_TEXT,
     .value = "P,P,...",
     .offset = offsetof(plan_settings, scaling),
     .help = "plan for each of these numbers of ranks, and print tables"},
    {.name = "measure",
     .kind = CLI_FLAG,
     .offset = offsetof(plan_settings, measure),
     .help =
         "then run each algorithm on this machine, and show the measured times beside the predicted times"},
    {0}};
static const cli_option *const options[] = {cli_job_options, own_options, NULL};
static const plan_settings defaults = {.job = CLI_JOB_DEFAULTS};

/* ---- reports */

/* Figures of the matrix's division, which are the same in every plan, except that not every plan counts the
 * covers. */
static sley_plan_info shared_info(const cli_planning *shared) {
  sley_plan_info info = shared->plans[0].info;
  info.cover_rows = shared->floor.cover_rows;
  info.floor_between = shared->floor.between;
  info.floor_inside = shared->floor.inside;
  return info;
}

/* Prints the floor, by tiers if there are two. */
static void print_floor(const cli_planning *shared, double mib_a_row, FILE *stream) {
  const cli_floor *floor = &shared->floor;
  const sley_rank_options *ranks = &shared->job->ranks;
  if (ranks->workgroup > 1 && ranks->workgroup < ranks->ranks)
    fprintf(stream,
            "floor      between workgroups %" PRId64 " cover rows (%.2f MiB), inside workgroups %" PRId64
            " (%.2f MiB)\n",
            floor->between, (double)floor->between * mib_a_row, floor->inside,
            (double)floor->inside * mib_a_row);
  else
    fprintf(stream, "floor      %" PRId64 " cover rows (%.2f MiB)\n", floor->cover_rows,
            (double)floor->cover_rows * mib_a_row);
}

static const cli_result *result_of(const cli_result *results, const char *algo) {
  for (int i = 0; results && results[i].ran; i++)
    if (strcmp(results[i].algo, algo) == 0)
      return &results[i];
  return NULL;
}

/* Prints the phases of the predicted times and, if measured, the measured times. */
static void print_phases(const cli_planning *shared, const cli_result *results, FILE *stream) {
  static const char *const headings[] = {
      "<predicted ms", "pack",     "transfer",           "local", "remote", "wait",
      "all",           "measured", "predicted/measured", NULL};
  static cli_table table;
  fprintf(stream, "\n");
  cli_table_start(&table, headings);
  if (!results)
    table.columns -= 2;
  for (int i = shared->count > 1 ? 1 : 0; i < shared->count && cli_table_row(&table); i++) {
    const sley_plan_info *info = &shared->plans[i].info;
    const cli_result *result = result_of(results, shared->plans[i].algo);
    const double ms[] = {info->phases.pack_ms,   info->phases.transfer_ms, info->phases.local_ms,
                         info->phases.remote_ms, info->phases.wait_ms,     info->predicted_ms};
    cli_table_cell(&table, 0, "%s", shared->plans[i].algo);
    for (int c = 0; c < 6; c++)
      cli_table_cell(&table, c + 1, "%.3f", ms[c]);
    if (result) {
      cli_table_cell(&table, 7, "%.3f", result->median_ms);
      cli_table_cell(&table, 8, "%.2f", info->predicted_ms / result->median_ms);
    }
  }
  cli_table_print(&table, stream);
}

/* Prints the predicted steps of --algo cola. */
static void print_ablation(const cli_planning *shared, FILE *stream) {
  cli_step steps[CLI_ALGORITHMS + 1];
  int count = cli_planning_steps(shared, steps);
  fprintf(stream, "\n");
  cli_ablation_print(steps, count, "predicted ms", NULL, stream);
}

/* Prints the reason of the choice. If a table of several algorithms follows, leaves out the part of the
 * reason about algorithms that were not considered. */
static void print_reason(const cli_planning *shared, FILE *stream) {
  static const char not_considered[] = " not considered: ";
  char reason[sizeof shared->plans[0].reason];
  snprintf(reason, sizeof reason, "%s", shared->plans[0].reason);
  char *said = shared->count > 1 ? strstr(reason, not_considered) : NULL;
  if (said) {
    char *begin = said, *end = strstr(said, " (");
    while (begin > reason && *begin != ';')
      begin--;
    memmove(begin, end ? end : said + strlen(said), strlen(end ? end : "") + 1);
  }
  cli_report_reason(shared->plans[0].algo, reason, stream);
}

static const char *name_of(const void *context, int i) {
  const cli_planning *shared = context;
  return i == 0 && shared->count > 1 ? NULL : shared->plans[i].algo; /* the first is auto's choice */
}

/* Prints the report. shared->names[0] is "auto" or the one requested algorithm. */
static void print_text(const cli_planning *shared, const sley_machine_info *machine,
                       const cli_result *results, FILE *stream) {
  static const char *const headings[] = {"<algo",        "direct MiB", "message MiB", "messages", "a rank",
                                         "predicted ms", "needed MiB", "blocks",      NULL};
  static cli_table table;
  sley_plan_info info = shared_info(shared);
  double width = (double)shared->k * (double)sley_dtype_bytes(shared->job->info.dtype) / MIB;
  cli_report_matrix(shared->job, shared->k, stream);
  fprintf(stream,
          "remote     %" PRId64 " nonzeros (fetched one by one %.2f MiB), %" PRId64 " halo rows (%.2f MiB)",
          info.remote_nnz, (double)info.remote_nnz * width, info.halo_rows, (double)info.halo_rows * width);
  fprintf(stream, "\n");
  print_floor(shared, width, stream);
  cli_windows_print(&shared->windows, stream);
  fprintf(stream, "choice     ");
  print_reason(shared, stream);
  bool typical = strcmp(machine->source, "built in") == 0;
  fprintf(stream, "machine    %s (%s)\n", cli_shown(machine->name),
          typical ? "built-in figures; run sley tune" : cli_shown(machine->source));
  if (shared->machine) {
    fprintf(stream, "memory     the choice needs %.1f MiB a rank, X and Y included",
            (double)shared->plans[0].info.needed_bytes / MIB);
  } else {
    fprintf(stream, "memory     on %s the choice ", shared->device);
    cli_report_memory(&shared->plans[0].info, stream);
  }
  fprintf(stream, "\n");
  if (shared->describe)
    cli_kernels_print(&shared->plans[0].kernels, stream);
  cli_table_start(&table, headings);
  for (int i = shared->count > 1 ? 1 : 0; i < shared->count && cli_table_row(&table); i++) {
    const cli_planned *plan = &shared->plans[i];
    cli_table_cell(&table, 0, "%s", plan->algo);
    cli_table_cell(&table, 1, "%.3f", (double)plan->info.predicted.direct_bytes / MIB);
    cli_table_cell(&table, 2, "%.3f", (double)plan->info.predicted.message_bytes / MIB);
    cli_table_cell(&table, 3, "%" PRId64, plan->info.predicted.message_messages);
    cli_table_cell(&table, 4, "%" PRId64, plan->info.rank_messages);
    cli_table_cell(&table, 5, "%.3f", plan->info.predicted_ms);
    cli_table_cell(&table, 6, "%.1f", (double)plan->info.needed_bytes / MIB);
    cli_table_cell(&table, 7, "%" PRId64, plan->info.column_blocks);
  }
  cli_table_print(&table, stream);
  print_phases(shared, results, stream);
  if (shared->ablation)
    print_ablation(shared, stream);
  if (!shared->settings->common.brief) {
    cli_legend_algorithms(name_of, shared, shared->count, stream);
    cli_legend_plan(stream, results != NULL);
  }
  if (shared->text)
    fprintf(stream, "\n%s", shared->text);
}

static json_t *plan_json(const cli_planning *shared, const sley_machine_info *machine,
                         const cli_result *results) {
  sley_plan_info info = shared_info(shared);
  cli_json json = cli_report_json(shared->job, shared->settings, shared->k, &info);
  cli_json choice = cli_json_start(), list[CLI_ALGORITHMS + 1];
  int count = 0;
  for (int i = shared->count > 1 ? 1 : 0; i < shared->count; i++) {
    list[count] = cli_planned_json(&shared->plans[i]);
    if (shared->describe)
      cli_kernels_json(&list[count], &shared->plans[i].kernels);
    const cli_result *result = result_of(results, shared->plans[i].algo);
    if (result)
      cli_json_real(&list[count], "measured_ms", result->median_ms);
    count++;
  }
  cli_json floor = cli_json_start();
  cli_json_int(&floor, "between", info.floor_between);
  cli_json_int(&floor, "inside", info.floor_inside);
  cli_json_object(&json, "floor_rows", floor);
  cli_windows_json(&json, &shared->windows);
  cli_json_text(&choice, "algo", shared->plans[0].algo);
  cli_json_text(&choice, "reason", shared->plans[0].reason);
  cli_json_object(&json, "choice", choice);
  cli_json_text(&json, "device", shared->device);
  cli_json_text(&json, "machine", machine->name);
  cli_json_text(&json, "machine_source", machine->source);
  cli_json_list(&json, "algorithms", list, count);
  return cli_json_end(json);
}

/* ---- run */

/* Lists one algorithm, or auto and then the named algorithms (all if none were named). Returns their number.
 */
static int list_names(const cli_algos *algos, const char *names[CLI_ALGORITHMS + 2]) {
  int count = 0;
  bool automatic = strcmp(algos->name[0], "auto") == 0 && !algos->several;
  if (algos->several || automatic)
    names[count++] = "auto";
  for (const char *const *name = automatic ? sley_algorithms() : algos->name; *name; name++)
    if (count <= CLI_ALGORITHMS)
      names[count++] = *name;
  names[count] = NULL;
  return count;
}

/* Runs and measures each planned algorithm. results has one element per algorithm; elements of algorithms
 * that did not run are at the end. */
static sley_status run_all(const cli_planning *shared, cli_result *results) {
  cli_algos algos = {.several = true};
  cli_operands operands;
  bool told = false;
  for (int i = shared->count > 1 ? 1 : 0; i < shared->count; i++)
    algos.name[algos.count++] = shared->plans[i].algo;
  sley_status status =
      cli_operands_make(shared->job, NULL, shared->k, cli_dtype(shared->settings->common.dtype),
                        shared->settings->common.seed, false, &operands, &told);
  if (status != SLEY_OK)
    return status;
  cli_measure measure = {.algos = &algos,
                         .repeat = REPEAT,
                         .warmup = 2,
                         .budget = BUDGET,
                         .alpha = 1,
                         .reproducible = shared->settings->common.reproducible,
                         .transpose = shared->settings->transpose,
                         .wire = shared->settings->common.wire,
                         .kernel = shared->settings->common.kernel,
                         .precision = shared->settings->common.precision,
                         .mem_limit = shared->settings->common.mem_limit};
  status = cli_measure_run(shared->job, &operands, &measure, results, NULL);
  cli_operands_free(&operands);
  return status;
}

static int report(const cli_planning *shared, const sley_machine_info *machine, const cli_result *results) {
  const char *path = shared->settings->common.json;
  cli_text text;
  cli_text_start(&text, path);
  print_text(shared, machine, results, text.stream);
  cli_text_end(&text);
  if (shared->plot && !cli_planning_plot(shared))
    return CLI_FAILED;
  return path && !cli_output_json(path, plan_json(shared, machine, results)) ? CLI_FAILED : CLI_DONE;
}

static int plan_job(cli_planning *shared, bool measured) {
  sley_machine *found = NULL;
  sley_machine_info machine = {0};
  cli_result *results = NULL;
  shared->plans = calloc((size_t)shared->count, sizeof *shared->plans);
  if (measured)
    results = calloc((size_t)shared->count + 1, sizeof *results);
  if (!shared->plans || (measured && !results)) {
    free(shared->plans);
    return cli_refuse(SLEY_ERR_MEMORY, "out of memory for the plans");
  }
  sley_status status = cli_plan_all(shared);
  if (status == SLEY_OK && !shared->machine)
    status = sley_machine_find(shared->device, &found);
  if (status == SLEY_OK)
    status = sley_machine_info_get(shared->machine ? shared->machine : found, &machine);
  if (status == SLEY_OK && measured)
    status = run_all(shared, results);
  int code = status == SLEY_OK ? report(shared, &machine, results) : cli_finish(status);
  sley_machine_destroy(found);
  sley_buffer_free(shared->text);
  free(results);
  free(shared->plans);
  return code;
}

/* Reads the machine description, if one is given. The machine must have enough nodes for the ranks. Its ranks
 * per node become the workgroup, unless the job sets one. */
static sley_status read_machine(const plan_settings *settings, int64_t most_ranks, cli_job *job,
                                sley_machine **out, bool *told) {
  sley_machine_info info;
  if (!settings->job.common.machine)
    return SLEY_OK;
  sley_status status = sley_machine_read(settings->job.common.machine, out);
  if (status == SLEY_OK)
    status = sley_machine_info_get(*out, &info);
  if (status == SLEY_OK && info.nodes > 0 && info.ranks_per_node > 0 &&
      info.nodes * info.ranks_per_node < most_ranks) {
    cli_error("%s: %" PRId64 " ranks are more than the machine's %" PRId64 " nodes of %" PRId64,
              settings->job.common.machine, most_ranks, info.nodes, info.ranks_per_node);
    *told = true;
    return SLEY_ERR_ARG;
  }
  if (status == SLEY_OK && job->ranks.workgroup == 0)
    job->ranks.workgroup = (int)info.ranks_per_node;
  return status;
}

static int run_job(cli_job *job, const plan_settings *settings, const cli_algos *algos, const int64_t *scale,
                   int scales) {
  const char *names[CLI_ALGORITHMS + 2];
  int count = list_names(algos, names);
  bool told = false;
  sley_machine *machine = NULL;
  sley_status status =
      read_machine(settings, scales > 0 ? scale[scales - 1] : job->ranks.ranks, job, &machine, &told);
  cli_planning shared = {.job = job,
                         .settings = &settings->job,
                         .machine = machine,
                         .names = names,
                         .count = count,
                         .describe = count == 1,
                         .ablation = algos->ablation,
                         .floors = scales == 0,
                         .plot = settings->job.common.plot,
                         .k = settings->job.k < 0 ? DEFAULT_K : settings->job.k};
  if (status == SLEY_OK)
    status = cli_windows_count(job->matrix, job->place, cli_job_threads(job), &shared.windows);
  int code = told                ? CLI_USAGE
             : status != SLEY_OK ? cli_finish(status)
             : scales > 0        ? cli_scale(job, &shared, scale, scales)
                                 : plan_job(&shared, settings->measure);
  sley_machine_destroy(machine);
  return code;
}

static int run(void *settings_, char **positionals) {
  plan_settings *settings = settings_;
  cli_algos algos;
  int64_t scale[CLI_SCALES];
  int scales;
  if (!cli_algos_read("plan", settings->job.algo, cli_plan_algos(), &algos) ||
      !cli_scales_read(settings->scaling, scale, &scales))
    return CLI_USAGE;
  if (settings->measure && settings->job.common.machine)
    return cli_refuse(SLEY_ERR_ARG,
                      "plan: --measure runs on this machine, --machine describes another; SLEY_MACHINE "
                      "names this one's description");
  if (settings->job.common.machine && strcmp(settings->job.common.kernel, "auto") != 0)
    return cli_refuse(SLEY_ERR_ARG,
                      "plan: --kernel names a kernel of this machine's device, --machine describes another");
  if (settings->measure && scales > 0)
    return cli_refuse(SLEY_ERR_ARG, "plan: --measure runs one number of ranks, --scaling plans several");
  if (!cli_name_fits_json("plan", positionals[0], settings->job.common.json))
    return CLI_USAGE;
  int code;
  if (!cli_plot_possible("plan", settings->job.common.plot, &code))
    return code;
  if (!cli_output_possible(settings->job.common.json))
    return CLI_FAILED;
  int taken = cli_take_stdin("plan", positionals[0], NULL, cli_stdin_limit(&settings->job));
  if (taken != CLI_DONE)
    return taken;
  cli_settle_dtype(&settings->job, positionals[0], NULL);
  cli_job job;
  sley_status status = cli_check_device(settings->job.common.device, NULL);
  if (status == SLEY_OK)
    status = cli_job_start(positionals[0], &settings->job, NULL, NULL, &job);
  if (status != SLEY_OK)
    return cli_finish(status);
  cli_seed_no_effect("plan", settings->measure || strcmp(settings->job.common.order, "random") == 0,
                     positionals[0], NULL, NULL);
  if (scales == 0)
    cli_workgroup_bounded("plan", settings->job.common.workgroup, job.ranks.ranks);
  code = run_job(&job, settings, &algos, scale, scales);
  cli_job_end(&job);
  return code;
}

const cli_command cli_plan = {
    .name = "plan",
    .summary = "predict: traffic, time and memory of every algorithm, and the choice",
    .arguments = "MATRIX",
    .positionals = 1,
    .options = options,
    .common = CLI_JOB_COMMON | CLI_TAKES_MACHINE,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes = "With --algo NAME only that algorithm is planned, and rank 0's steps are printed.\n",
    .sweep = cli_sweep,
    .run = run};

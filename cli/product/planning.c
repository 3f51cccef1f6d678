/* SPDX-License-Identifier: Apache-2.0 */
/* Creates dry plans of all algorithms, for one number of ranks or for several. */
#include "product/planning.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "matrix/input.h"
#include "output/output.h"
#include "output/plot.h"
#include "output/table.h"
#include "output/terminal.h"
#include "output/text.h"
#include "product/report.h"

#define MIB (1024.0 * 1024.0)
enum { MOST_RANKS = 4096 };

/* ---- one number of ranks */

/* Stores info with its own copy of the name. asked: the requested algorithm, whose name is used if it has
   parameters. */
static void keep(const sley_plan_info *info, const char *asked, cli_planned *out) {
  out->info = *info;
  snprintf(out->algo, sizeof out->algo, "%s", strchr(asked, ':') ? asked : info->algo);
  snprintf(out->reason, sizeof out->reason, "%s", info->reason ? info->reason : "");
  out->info.algo = out->info.reason = NULL;
}

static sley_plan_options options_of(const sley_comm *comm, const cli_planning *shared) {
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.dry = true;
  options.reproducible = shared->settings->common.reproducible;
  options.transpose = shared->settings->transpose;
  options.mem_limit = shared->settings->common.mem_limit;
  options.machine = shared->machine;
  options.wire = shared->settings->common.wire;
  options.kernel = shared->settings->common.kernel;
  options.precision = shared->settings->common.precision;
  options.mem_operands = shared->machine || cli_counts_operands(comm, options.mem_limit);
  return options;
}

/* The progress that rank 0 shows while it plans. */
typedef struct progress {
  int ranks, done, count;
} progress;

static void show_progress(void *context, const char *name) {
  progress *p = context;
  char what[CLI_NAME + 32];
  snprintf(what, sizeof what, "planning %s on %d ranks", name, p->ranks);
  cli_progress(what, p->done++, p->count);
}

/* Plans the single algorithm and describes it. */
static sley_status plan_one(sley_comm *comm, const sley_matrix *block, cli_planning *shared) {
  const cli_job *job = shared->job;
  sley_plan_options options = options_of(comm, shared);
  options.algo = shared->names[0];
  sley_plan *plan = NULL;
  sley_plan_info info;
  bool first = sley_comm_rank(comm) == 0;
  if (first)
    show_progress(&(progress){.ranks = sley_comm_size(comm), .count = 1}, shared->names[0]);
  sley_status status =
      sley_plan_create(comm, block, job->row_begin, job->col_begin, shared->k, &options, &plan);
  if (status == SLEY_OK)
    status = sley_plan_info_get(plan, &info);
  cli_kernels kernels = {0};
  if (status == SLEY_OK)
    status = cli_kernels_of(plan, &kernels);
  if (status == SLEY_OK && first) {
    keep(&info, shared->names[0], &shared->plans[0]);
    shared->plans[0].kernels = kernels;
    status = sley_plan_describe(plan, &shared->text);
  }
  sley_plan_destroy(plan);
  return status;
}

static sley_status compare(sley_comm *comm, const sley_matrix *block, cli_planning *shared) {
  const cli_job *job = shared->job;
  sley_plan_options options = options_of(comm, shared);
  sley_comparison *comparison = NULL;
  sley_plan_info info;
  bool first = sley_comm_rank(comm) == 0;
  progress shown = {.ranks = sley_comm_size(comm)};
  while (sley_algorithms()[shown.count])
    shown.count++;
  options.progress = show_progress;
  options.progress_context = &shown;
  sley_status status = sley_plan_compare(comm, block, job->row_begin, job->col_begin, shared->k, &options,
                                         shared->names, &comparison);
  for (int i = 0; status == SLEY_OK && first && i < shared->count; i++) {
    status = sley_comparison_get(comparison, i, &info);
    if (status == SLEY_OK)
      keep(&info, shared->names[i], &shared->plans[i]);
  }
  sley_comparison_destroy(comparison);
  return status;
}

/* Counts the floor with a dry plan of cover. */
static sley_status find_floor(sley_comm *comm, const sley_matrix *block, cli_planning *shared) {
  const cli_job *job = shared->job;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_plan *plan = NULL;
  sley_plan_info info;
  options.algo = "cover";
  options.dry = true;
  options.transpose = shared->settings->transpose;
  sley_status status =
      sley_plan_create(comm, block, job->row_begin, job->col_begin, shared->k, &options, &plan);
  if (status == SLEY_OK)
    status = sley_plan_info_get(plan, &info);
  if (status == SLEY_OK && sley_comm_rank(comm) == 0)
    shared->floor = (cli_floor){info.cover_rows, info.floor_between, info.floor_inside};
  sley_plan_destroy(plan);
  return status;
}

static sley_status rank_main(sley_comm *comm, void *arg) {
  cli_planning *shared = arg;
  sley_matrix *block = NULL;
  sley_status status = cli_job_block(shared->job, comm, &block);
  if (sley_comm_rank(comm) == 0)
    shared->device = sley_comm_device(comm);
  if (status == SLEY_OK)
    status = shared->describe ? plan_one(comm, block, shared) : compare(comm, block, shared);
  if (status == SLEY_OK && shared->floors)
    status = find_floor(comm, block, shared);
  sley_matrix_destroy(block);
  return status;
}

sley_status cli_plan_all(cli_planning *planning) {
  sley_rank_options ranks = planning->job->ranks;
  if (planning->machine) {
    ranks.device = "cpu"; /* this machine only computes the plans */
    ranks.threads = 1;
  }
  sley_status status = sley_run_ranks(&ranks, rank_main, planning);
  cli_progress_clear();
  return status;
}

cli_json cli_planned_json(const cli_planned *plan) {
  const sley_plan_info *info = &plan->info;
  cli_json json = cli_json_start();
  cli_json_text(&json, "algo", plan->algo);
  cli_json_text(&json, "summary", sley_algorithm_summary(plan->algo));
  cli_report_json_predicted(&json, &info->predicted);
  cli_json_real(&json, "predicted_ms", info->predicted_ms);
  cli_json_object(&json, "phases_ms", cli_report_json_phases(&info->phases));
  cli_json_int(&json, "rank_messages", info->rank_messages);
  cli_json_int(&json, "memory_bytes", info->memory_bytes);
  cli_report_json_memory(&json, info);
  return json;
}

/* A number made from a plan's figures: equal plans have equal figures, in all bits of the times. */
static int64_t number_of(const sley_plan_info *info) {
  char text[256];
  snprintf(text, sizeof text, "\n%a %a %a %" PRId64 " %" PRId64 " %" PRId64, info->predicted_ms,
           info->phases.transfer_ms, info->phases.wait_ms, info->memory_bytes, info->rank_messages,
           info->predicted.message_messages);
  return cli_plan_number(text);
}

int cli_planning_steps(const cli_planning *planning, cli_step *out) {
  int first = planning->count > 1 ? 1 : 0, count = planning->count - first;
  for (int i = 0; i < count; i++) {
    const cli_planned *plan = &planning->plans[first + i];
    out[i] = (cli_step){.algo = plan->algo,
                        .ms = plan->info.predicted_ms,
                        .traffic = plan->info.predicted,
                        .plan = number_of(&plan->info)};
  }
  return count;
}

bool cli_planning_plot(const cli_planning *planning) {
  cli_step steps[CLI_ALGORITHMS + 1];
  int count = cli_planning_steps(planning, steps);
  return cli_plot_steps(planning->plot, planning->job, planning->k, steps, count,
                        &(cli_chart){.title = "predicted time of a product", .unit = "ms"});
}

/* ---- several */

bool cli_scales_read(const char *text, int64_t ranks[CLI_SCALES], int *count) {
  *count = 0;
  for (const char *at = text; at;) {
    char *end;
    long value = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : 0;
    if (value < 1 || value > MOST_RANKS || *count == CLI_SCALES || (*end && *end != ',') ||
        (*count > 0 && ranks[*count - 1] >= value)) {
      cli_error("plan: --scaling takes at most %d numbers of ranks that ascend, 1 to %d, as in 2,4,8",
                CLI_SCALES, MOST_RANKS);
      return false;
    }
    ranks[(*count)++] = value;
    at = *end ? end + 1 : NULL;
  }
  return true;
}

typedef enum figure { TIME, TRAFFIC, MEMORY, MESSAGES, FIGURES } figure;
static const char *const figure_names[FIGURES] = {"predicted ms", "MiB over links, all ranks",
                                                  "MiB needed, of the rank that needs most",
                                                  "messages received, of the rank that receives most"};

static void write_cell(cli_table *table, int column, const sley_plan_info *info, figure what) {
  switch (what) {
  case TIME:
    cli_table_cell(table, column, "%.3f", info->predicted_ms);
    break;
  case TRAFFIC:
    cli_table_cell(table, column, "%.1f",
                   (double)(info->predicted.direct_bytes + info->predicted.message_bytes) / MIB);
    break;
  case MEMORY:
    cli_table_cell(table, column, "%.1f", (double)info->needed_bytes / MIB);
    break;
  default:
    cli_table_cell(table, column, "%" PRId64, info->rank_messages);
    break;
  }
}

/* Prints one table per figure. plans: `count` plans per scale; first: 1 to leave out auto's choice, else 0.
 */
static void print_scaling(const cli_planned *plans, const int64_t *ranks, int scales, int count, int first,
                          FILE *stream) {
  static cli_table table;
  char text[CLI_SCALES][16];
  for (int what = 0; what < FIGURES; what++) {
    const char *headings[CLI_SCALES + 2] = {"<ranks"};
    for (int s = 0; s < scales; s++) {
      snprintf(text[s], sizeof text[s], "%" PRId64, ranks[s]);
      headings[s + 1] = text[s];
    }
    fprintf(stream, "\n%s\n", figure_names[what]);
    cli_table_start(&table, headings);
    for (int i = first; i < count && cli_table_row(&table); i++) {
      cli_table_cell(&table, 0, "%s", plans[i].algo);
      for (int s = 0; s < scales; s++)
        write_cell(&table, s + 1, &plans[s * count + i].info, (figure)what);
    }
    if (what == TIME && first > 0 && cli_table_row(&table)) {
      cli_table_cell(&table, 0, "choice");
      for (int s = 0; s < scales; s++)
        cli_table_cell(&table, s + 1, "%s", plans[s * count].algo);
    }
    cli_table_print(&table, stream);
  }
}

static json_t *scaling_json(const cli_job *job, const cli_planning *planning, const cli_planned *plans,
                            const int64_t *ranks, int scales, int first) {
  cli_json json = cli_report_json(job, planning->settings, planning->k, &plans[0].info), list[CLI_SCALES];
  for (int s = 0; s < scales; s++) {
    cli_json algorithms[CLI_ALGORITHMS + 1];
    for (int i = first; i < planning->count; i++)
      algorithms[i - first] = cli_planned_json(&plans[s * planning->count + i]);
    list[s] = cli_json_start();
    cli_json_int(&list[s], "ranks", ranks[s]);
    cli_json_text(&list[s], "choice", plans[s * planning->count].algo);
    cli_json_list(&list[s], "algorithms", algorithms, planning->count - first);
  }
  cli_windows_json(&json, &planning->windows);
  cli_json_list(&json, "scaling", list, scales);
  return cli_json_end(json);
}

/* Draws time and traffic over the number of ranks. */
static bool plot_scaling(const cli_job *job, const cli_planning *planning, const cli_planned *plans,
                         const int64_t *ranks, int scales, int first) {
  double ms[CLI_SCALES * CLI_ALGORITHMS], mib[CLI_SCALES * CLI_ALGORITHMS];
  const char *points[CLI_SCALES], *names[CLI_ALGORITHMS];
  char text[CLI_SCALES][16], title[256];
  int count = planning->count - first;
  for (int s = 0; s < scales; s++) {
    snprintf(text[s], sizeof text[s], "%" PRId64, ranks[s]);
    points[s] = text[s];
  }
  for (int i = 0; i < count; i++) {
    names[i] = plans[first + i].algo;
    for (int s = 0; s < scales; s++) {
      const sley_plan_info *info = &plans[s * planning->count + first + i].info;
      ms[i * scales + s] = info->predicted_ms;
      mib[i * scales + s] = (double)(info->predicted.direct_bytes + info->predicted.message_bytes) / MIB;
    }
  }
  cli_chart time = {.title = "predicted time of a product",
                    .unit = "ms",
                    .lines = true,
                    .across = "ranks",
                    .points = scales,
                    .point = points,
                    .series = count,
                    .name = names,
                    .value = ms};
  cli_chart charts[] = {time, time};
  charts[1].title = "bytes over links, all ranks";
  charts[1].unit = "MiB";
  charts[1].value = mib;
  snprintf(title, sizeof title, "%s, k = %" PRId64, cli_base_name(job->name), planning->k);
  return cli_plot(planning->plot, title, charts, 2);
}

int cli_scale(cli_job *job, const cli_planning *planning, const int64_t *ranks, int count) {
  int first = planning->count > 1 ? 1 : 0;
  cli_planned *plans = calloc((size_t)(count * planning->count), sizeof *plans);
  if (!plans)
    return cli_refuse(SLEY_ERR_MEMORY, "out of memory for the plans");
  sley_status status = SLEY_OK;
  for (int s = 0; s < count && status == SLEY_OK; s++) {
    cli_planning one = *planning;
    one.plans = plans + s * planning->count;
    one.describe = false;
    status = cli_job_divide(job, planning->settings, (int)ranks[s]);
    if (status == SLEY_OK)
      status = cli_plan_all(&one);
  }
  int code = cli_finish(status);
  if (status == SLEY_OK) {
    const char *path = planning->settings->common.json;
    cli_text text;
    cli_text_start(&text, path);
    cli_report_matrix(job, planning->k, text.stream);
    cli_windows_print(&planning->windows, text.stream);
    print_scaling(plans, ranks, count, planning->count, first, text.stream);
    cli_text_end(&text);
    if (path && !cli_output_json(path, scaling_json(job, planning, plans, ranks, count, first)))
      code = CLI_FAILED;
    if (planning->plot && !plot_scaling(job, planning, plans, ranks, count, first))
      code = CLI_FAILED;
  }
  free(plans);
  return code;
}

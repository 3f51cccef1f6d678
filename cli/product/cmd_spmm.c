/* SPDX-License-Identifier: Apache-2.0 */
/* `sley spmm`: one matrix from its file to a checked product.
 *
 * The way down: cli_job_start (job.c) loads, orders and partitions; cli_operands_make (operands.c) makes X
 * and Y; cli_measure_run (measure.c) starts the ranks, each of which, for one algorithm after the other,
 * plans its row block and executes the plan; cli_measure_verify (verify.c) compares with a float64 product;
 * report.c prints. Products in tiles go by cli_tile_measure (cli/tile) instead, from the same operands. */
#include <string.h>

#include "command.h"
#include "matrix/input.h"
#include "matrix/job.h"
#include "output/changes.h"
#include "output/output.h"
#include "output/plot.h"
#include "output/terminal.h"
#include "output/text.h"
#include "product/ablation.h"
#include "product/measure.h"
#include "product/operands.h"
#include "product/report.h"
#include "ranks/mpirun.h"
#include "ranks/processes.h"
#include "sweep/sweep.h"
#include "tile/tile.h"

typedef struct spmm_settings {
  cli_job_settings job; /* must be first, so that the shared table's offsets are valid */
  const char *x, *out, *trace, *local;
  double alpha, beta;
  bool unchanged;
} spmm_settings;

#define AT(field) offsetof(spmm_settings, field)
static const cli_option own_options[] = {
    {.name = "algo",
     .kind = CLI_TEXT,
     .value = "NAME",
     .offset = AT(job.algo),
     .choices = cli_spmm_algos,
     .parameters = sley_algorithm_parameters,
     .help = "auto: the planner's choice; all: every algorithm that sley plan lists; cola: the steps of an "
             "ablation; tile-all: all algorithms in tiles; or names of algorithms, separated by commas, with "
             "parameters as NAME:KEY=VALUE,..."},
    {.name = "x",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(x),
     .help = "read X from a .npy file of one or two dimensions; by default X has random values"},
    {.name = "out",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(out),
     .help = "write Y as .npy (also .npy.gz or .npy.zst), with as many dimensions as X"},
    {.name = "alpha", .kind = CLI_REAL, .value = "A", .offset = AT(alpha), .help = "Y = alpha A X + beta Y"},
    {.name = "beta",
     .kind = CLI_REAL,
     .value = "B",
     .offset = AT(beta),
     .help = "factor of Y in the sum; if it is not 0, Y begins with random values"},
    {.name = "repeat",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(job.common.repeat),
     .least = 1,
     .most = CLI_MOST_RUNS,
     .help = "timed products (default 10; 1 with --x or --out)"},
    {.name = "warmup",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(job.common.warmup),
     .most = CLI_MOST_RUNS,
     .help = "products before the timed products (default 2; 0 with --x or --out)"},
    {.name = "unchanged",
     .kind = CLI_FLAG,
     .offset = AT(unchanged),
     .help = "X stays the same, so its rows travel for the first product only"},
    {.name = "update",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(job.update),
     .least = 1,
     .most = 1000000,
     .help = "compute Z = (alpha A X) W + beta Z, where W is random and has N columns; time it fused and "
             "separately"},
    {.name = "local",
     .kind = CLI_TEXT,
     .value = "NAME",
     .offset = AT(local),
     .help = "the library that multiplies: sley, or cusparse with --device cuda"},
    {.name = "trace",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(trace),
     .help = "write a timeline for Perfetto; only with one algorithm"},
    {0}};
static const cli_option *const options[] = {cli_job_options, own_options, NULL};
static const spmm_settings defaults = {
    .job = CLI_JOB_DEFAULTS, .job.common.warmup = -1, .job.common.verify = true, .alpha = 1, .beta = 0};

/* Returns the exit code: a failure if the product is wrong or the traffic is not as predicted. */
static int judge(const cli_result *result) {
  if (result->verified && !result->check.ok)
    return cli_refuse(SLEY_ERR_INTERNAL,
                      "%s: wrong result at row %lld, column %lld: errors reach %.3g of |A||X|, and rounding "
                      "allows %.3g there",
                      result->algo, (long long)result->check.row, (long long)result->check.col,
                      result->check.max_error, result->check.bound);
  if (!cli_result_as_predicted(result))
    return cli_refuse(SLEY_ERR_INTERNAL, "%s: the transport counted other traffic than the plan predicted",
                      result->algo);
  return CLI_DONE;
}

static void fill_steps(const cli_result *results, int count, cli_step *out) {
  for (int i = 0; i < count; i++)
    out[i] = (cli_step){.algo = results[i].algo,
                        .ms = results[i].impossible ? 0 : results[i].median_ms,
                        .traffic = results[i].counted,
                        .plan = results[i].plan};
}

/* Writes the JSON: one object for one algorithm; for several, the shared fields and a list "algorithms". */
static int write_json(const cli_job *job, const cli_operands *operands, const spmm_settings *settings,
                      const cli_result *results, const cli_algos *algos, const cli_found *found) {
  const int count = algos->count;
  const bool all = algos->several, ablation = algos->ablation;
  sley_plan_info info = results[0].info;
  for (int i = 0; i < count && results[i].impossible; i++)
    info = results[i + 1 < count ? i + 1 : i].info;
  for (int i = 0; i < count; i++)
    if (!results[i].impossible && results[i].info.cover_rows >= 0)
      info.cover_rows = results[i].info.cover_rows;
  if (info.cover_rows < 0 && job->spread)
    info.cover_rows = found->cover_rows;
  if (info.cover_rows < 0) {
    sley_status status = cli_measure_cover_rows(job, operands->k, settings->job.transpose, &info.cover_rows);
    if (status != SLEY_OK)
      return cli_finish(status);
  }
  cli_json json = cli_report_json(job, &settings->job, operands->k, &info);
  if (all) {
    cli_json list[CLI_ALGORITHMS];
    cli_step steps[CLI_ALGORITHMS];
    fill_steps(results, count, steps);
    for (int i = 0; i < count; i++) {
      list[i] = cli_json_start();
      cli_report_json_add(&list[i], &results[i]);
      if (ablation)
        cli_json_text(&list[i], "step", cli_ablation_idea(&steps[i]));
      if (ablation)
        cli_json_text(&list[i], "not_shown", cli_ablation_not_shown(steps, i));
    }
    cli_json_list(&json, "algorithms", list, count);
  } else {
    cli_report_json_add(&json, &results[0]);
  }
  cli_report_json_sockets(&json);
  return cli_output_json(settings->job.common.json, cli_json_end(json)) ? CLI_DONE : CLI_FAILED;
}

static void report_ablation(const cli_result *results, int count, FILE *stream) {
  cli_step steps[CLI_ALGORITHMS];
  fill_steps(results, count, steps);
  fprintf(stream, "\n");
  cli_ablation_print(steps, count, "median ms", results[0].transport, stream);
  if (strcmp(results[0].transport, "threads") != 0 && strcmp(results[0].device, "cpu") == 0 &&
      results[0].counted.direct_bytes > 0)
    fprintf(
        stream,
        "rowwise reads rows of its own workgroup in shared memory; the other steps send them as messages\n");
}

static bool plot_results(const cli_job *job, const cli_operands *operands, const char *path,
                         const cli_result *results, int count) {
  cli_step steps[CLI_ALGORITHMS];
  fill_steps(results, count, steps);
  return cli_plot_steps(path, job, operands->k, steps, count,
                        &(cli_chart){.title = "time of a product", .unit = "ms, median"});
}

/* Reports if parameters have no effect: they shape kernels of GPUs. */
static void say_idle_parameters(const cli_algos *algos, const cli_result *first) {
  for (int i = 0; i < algos->count; i++)
    if (strchr(algos->name[i], ':') && strcmp(first->device, "cpu") == 0)
      cli_changed(
          "spmm: the parameters of %s have no effect: they shape a kernel of GPUs, and ranks ran on cpu",
          algos->name[i]);
}

/* Prints the report and writes the requested files. code: the exit code so far. Returns the exit code. */
static int report(const cli_job *job, const cli_operands *operands, const spmm_settings *settings,
                  const cli_result *results, const cli_algos *algos, const cli_found *found, int code) {
  cli_text text;
  const cli_result *first = results;
  while (first->impossible && first < results + algos->count - 1)
    first++;
  if (first->impossible)
    return cli_refuse(SLEY_ERR_UNSUPPORTED, "%s", first->reason);
  if (first->note[0])
    cli_changed("%s; ranks ran on %s, transport %s", first->note, first->device, first->transport);
  say_idle_parameters(algos, first);
  if (first->network[0])
    cli_say("%s", first->network);
  cli_text_start(&text, settings->job.common.json);
  if (algos->several)
    cli_report_all(job, operands, results, algos->count, text.stream);
  if (algos->ablation)
    report_ablation(results, algos->count, text.stream);
  if (!algos->several)
    cli_report_one(job, operands, &results[0], text.stream);
  cli_report_sockets(text.stream);
  cli_text_end(&text);
  if (settings->job.common.plot && code == CLI_DONE &&
      !plot_results(job, operands, settings->job.common.plot, results, algos->count))
    code = CLI_FAILED;
  if (settings->out && code == CLI_DONE && !job->spread)
    code = cli_finish(cli_operands_write(operands, job, settings->out));
  if (settings->job.common.json) {
    int one = write_json(job, operands, settings, results, algos, found);
    code = code == CLI_DONE ? one : code;
  }
  return code;
}

/* Prints the error of a failed run, unless it has been printed. Returns the exit code. */
static int end_failed(const cli_job *job, const cli_result *results, const cli_found *found,
                      sley_status status) {
  if (results->told)
    return found->status != SLEY_OK ? cli_quiet_code(found->status) : CLI_USAGE;
  /* All ranks have the error in found, and one prints it. */
  if (found->status != SLEY_OK && status != SLEY_ERR_INTERRUPTED)
    return cli_reports(job) ? cli_refuse(found->status, "%s", found->message) : cli_quiet_code(found->status);
  return cli_tells(job, status) ? cli_finish(status) : cli_finish_quietly(status);
}

static cli_measure measure_of(const spmm_settings *settings, const cli_algos *algos) {
  return (cli_measure){.algos = algos,
                       .repeat = settings->job.common.repeat,
                       .warmup = settings->job.common.warmup,
                       .budget = settings->job.common.budget,
                       .alpha = settings->alpha,
                       .beta = settings->beta,
                       .reproducible = settings->job.common.reproducible,
                       .verify = settings->job.common.verify,
                       .mem_limit = settings->job.common.mem_limit,
                       .local = settings->local,
                       .kernel = settings->job.common.kernel,
                       .precision = settings->job.common.precision,
                       .wire = settings->job.common.wire,
                       .unchanged = settings->unchanged,
                       .transpose = settings->job.transpose,
                       .k = settings->job.k,
                       .x = settings->x,
                       .vector = cli_x_is_vector(settings->x),
                       .out = settings->out,
                       .covers = settings->job.common.json != NULL};
}

/* Runs the algorithms, checks the results and reports. Returns the exit code. */
static int run_algorithms(cli_job *job, cli_operands *operands, const spmm_settings *settings,
                          const cli_algos *algos, cli_result *results, cli_found *found) {
  const cli_measure measure = measure_of(settings, algos);
  sley_status status = cli_measure_run(job, operands, &measure, results, found);
  int code = status == SLEY_OK ? CLI_DONE : end_failed(job, results, found, status);
  /* Ranks without shared memory have smaller workgroups than requested. */
  for (int i = 0; i < algos->count; i++)
    if (results[i].ran)
      job->ranks.workgroup = results[i].workgroup;
  if (job->spread) {
    job->info = found->info;
    if (status == SLEY_OK)
      cli_source_note(job->name, &found->source);
    job->load_ms = found->load_ms;
    operands->k = found->k;
  }
  for (int i = 0; i < algos->count && cli_reports(job); i++)
    if (results[i].ran) {
      int one = judge(&results[i]);
      code = code == CLI_DONE ? one : code;
    }
  return status == SLEY_OK && cli_reports(job) ? report(job, operands, settings, results, algos, found, code)
                                               : code;
}

/* Runs algorithms in tiles, reports, and writes Y. Returns the exit code. */
static int run_tiles(const cli_job *job, const cli_operands *operands, const spmm_settings *settings,
                     const cli_algos *algos) {
  const cli_measure measure = measure_of(settings, algos);
  cli_tile_bench bench = {.command = "spmm",
                          .ranks = job->ranks,
                          .algos = algos,
                          .name = job->name,
                          .matrix = job->matrix,
                          .size = job->info,
                          .job = job,
                          .operands = operands,
                          .measure = &measure,
                          .plot = settings->job.common.plot,
                          .k = operands->k,
                          .seed = settings->job.common.seed,
                          .repeat = settings->job.common.repeat,
                          .warmup = settings->job.common.warmup,
                          .verify = settings->job.common.verify,
                          .tells = cli_reports(job)};
  if (bench.tells && settings->job.dtype_from)
    cli_say("dtype f64, in which %s is stored; --dtype f32 computes in f32", settings->job.dtype_from);
  const int code = cli_tile_measure(&bench, &settings->job.common);
  return code == CLI_DONE && settings->out && bench.tells
             ? cli_finish(cli_operands_write(operands, job, settings->out))
             : code;
}

/* The results that ranks write, in memory that they share with this process. */
typedef struct board {
  cli_found found;
  cli_result results[];
} board;

static int run_job(cli_job *job, const spmm_settings *settings, const cli_algos *algos) {
  bool told = false;
  cli_operands operands = {.dtype = cli_dtype(settings->job.common.dtype)};
  sley_status status = SLEY_OK;
  if (!job->spread)
    status = cli_operands_make(job, settings->x, settings->job.k, cli_dtype(settings->job.common.dtype),
                               settings->job.common.seed, settings->beta != 0, &operands, &told);
  if (status != SLEY_OK)
    return told ? CLI_USAGE : cli_finish(status);
  size_t bytes = sizeof(board) + (size_t)algos->count * sizeof(cli_result);
  board *shared = algos->tiles ? NULL : cli_share(bytes);
  int code = algos->tiles ? run_tiles(job, &operands, settings, algos)
             : shared     ? run_algorithms(job, &operands, settings, algos, shared->results, &shared->found)
                          : cli_refuse(SLEY_ERR_MEMORY, "out of memory for the results");
  cli_unshare(shared, bytes);
  cli_operands_free(&operands);
  return code;
}

/* Sets the default numbers of products. With a file for X or Y the user wants the product, so one run is
 * enough; otherwise times are measured. */
static void settle_repeats(spmm_settings *settings) {
  bool one = settings->job.common.repeat == 0 && (settings->x || settings->out);
  if (settings->job.common.repeat == 0)
    settings->job.common.repeat = one ? 1 : 10;
  if (settings->job.common.warmup < 0)
    settings->job.common.warmup = one ? 0 : 2;
}

/* Refuses options of plans, which products in tiles do not have. Returns the exit code. */
static int check_tiles(const char *algo) {
  static const char *const of_plans[] = {"budget",    "kernel",    "local",        "mem-limit",
                                         "partition", "precision", "reproducible", "transpose",
                                         "unchanged", "update",    "wire"};
  for (size_t i = 0; i < sizeof of_plans / sizeof *of_plans; i++)
    if (cli_given(of_plans[i]))
      return cli_refuse(SLEY_ERR_ARG,
                        "spmm: --%s cannot be combined with --algo %s: products in tiles do not have it",
                        of_plans[i], algo);
  return CLI_DONE;
}

/* Refuses wrong arguments before any work. Returns the exit code. */
static int check_words(const spmm_settings *settings, const cli_algos *algos, const char *matrix) {
  int code = algos->tiles ? check_tiles(settings->job.algo) : CLI_DONE;
  if (code != CLI_DONE)
    return code;
  if (settings->job.common.plot && !algos->several && !algos->tiles)
    return cli_refuse(SLEY_ERR_ARG,
                      "spmm: --plot draws several algorithms, or one in tiles: give --algo all, "
                      "cola, tile-c or a list");
  if (!cli_plot_possible("spmm", settings->job.common.plot, &code))
    return code;
  if (settings->job.update > 0 && settings->unchanged)
    return cli_refuse(SLEY_ERR_ARG,
                      "spmm: --update cannot be combined with --unchanged: leave one of the two out");
  if (settings->trace && algos->several)
    return cli_refuse(SLEY_ERR_ARG, "spmm: --trace takes the timeline of one algorithm, not of several");
  static const char *const endings[] = {".npy", ".npy.gz", ".npy.zst", NULL};
  if (!cli_output_ending("spmm: Y", settings->out, endings) ||
      !cli_name_fits_json("spmm", matrix, settings->job.common.json))
    return CLI_USAGE;
  if (!cli_output_possible(settings->out) || !cli_output_possible(settings->job.common.json) ||
      !cli_output_possible(settings->trace))
    return CLI_FAILED;
  return CLI_DONE;
}

static int run(void *settings_, char **positionals) {
  spmm_settings *settings = settings_;
  cli_algos algos;
  if (!cli_algos_read("spmm", settings->job.algo, cli_spmm_algos(), &algos))
    return CLI_USAGE;
  settings->job.whole = algos.tiles;
  settle_repeats(settings);
  int refused = check_words(settings, &algos, positionals[0]);
  if (refused != CLI_DONE)
    return refused;
  const char *transport;
  sley_status status = cli_transport(settings->job.common.transport, settings->job.common.device, &transport);
  if (status != SLEY_OK)
    return cli_finish(status);
  if (cli_wants_mpirun(transport))
    return cli_run_mpirun(settings->job.common.ranks);
  int taken = cli_take_stdin("spmm", positionals[0], settings->x, cli_stdin_limit(&settings->job));
  if (taken != CLI_DONE)
    return taken;
  cli_settle_dtype(&settings->job, positionals[0], settings->x);
  status = cli_check_device(settings->job.common.device, transport);
  if (status != SLEY_OK)
    return cli_finish(status);
  cli_job job;
  status = cli_job_start(positionals[0], &settings->job, transport, settings->trace, &job);
  if (status != SLEY_OK)
    return cli_finish(status);
  job.ranks.timeout = settings->job.common.timeout;
  cli_no_effect("spmm", "timeout", !transport, "ranks are threads of one process");
  cli_seed_no_effect("spmm",
                     !settings->x || settings->job.update > 0 ||
                         strcmp(settings->job.common.order, "random") == 0 || settings->beta != 0,
                     positionals[0], NULL, NULL);
  cli_workgroup_bounded("spmm", settings->job.common.workgroup, job.ranks.ranks);
  if (!algos.tiles)
    cli_tile_idle("spmm");
  int code = run_job(&job, settings, &algos);
  cli_job_end(&job);
  return code;
}

const cli_command cli_spmm = {
    .name = "spmm",
    .summary = "multiply: Y = A X over ranks, timed and checked",
    .arguments = "MATRIX",
    .positionals = 1,
    .options = options,
    .common = CLI_JOB_COMMON | CLI_TAKES_TRANSPORT | CLI_TAKES_TIMEOUT | CLI_TAKES_BUDGET | CLI_TAKES_VERIFY |
              CLI_TAKES_TILES | CLI_TAKES_BUFFERS,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes = "MATRIX is a file (Matrix Market, edge list, METIS, Rutherford-Boeing, .npz, .sley; plain, .gz "
             "or .zst), "
             "- (standard input), or a generator: twin:clj, twin:clj:scale=0.1, rmat:scale=17,edgefactor=8, "
             "er:n=1000,nnz=8000.\n"
             "Exit status: 0 done, 1 failed at work, 2 wrong usage or input, 130 interrupted.\n",
    .sweep = cli_sweep,
    .run = run};

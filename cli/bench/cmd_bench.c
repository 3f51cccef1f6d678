/* SPDX-License-Identifier: Apache-2.0 */
/* `sley bench`: compares the kernels of a device on matrices and widths.
 *
 * One rank multiplies. case.c measures a case, check.c checks its products, report.c prints. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/lists.h"
#include "bench/report.h"
#include "command.h"
#include "common.h"
#include "matrix/input.h"
#include "matrix/job.h"
#include "output/changes.h"
#include "output/output.h"
#include "output/terminal.h"
#include "output/text.h"

enum { MIB = 1 << 20 };

typedef struct bench_settings {
  cli_common common;
  const char *matrix, *k;
} bench_settings;

#define AT(field) offsetof(bench_settings, field)
static const cli_option own_options[] = {
    {.name = "matrix",
     .kind = CLI_TEXT,
     .value = "LIST",
     .offset = AT(matrix),
     .help = "files and generators, separated by blanks"},
    {.name = "k",
     .kind = CLI_TEXT,
     .value = "LIST",
     .offset = AT(k),
     .help = "columns of X, separated by commas"},
    {.name = "mem-limit",
     .kind = CLI_SIZE,
     .value = "SIZE",
     .offset = AT(common.mem_limit),
     .help = "cases whose X and Y together take more are left out (default 4G)"},
    {0}};
static const cli_option *const options[] = {own_options, NULL};
static const bench_settings defaults = {.common = {.dtype = "f32",
                                                   .device = "auto",
                                                   .precision = "full",
                                                   .ranks = 1,
                                                   .seed = 1,
                                                   .repeat = 11,
                                                   .mem_limit = INT64_C(4) << 30,
                                                   .budget = 2,
                                                   .reading.base = -1},
                                        .matrix = CLI_BENCH_MATRICES,
                                        .k = "1,8,32,128"};

typedef struct running {
  const bench_settings *settings;
  cli_numbers k;
  cli_bench bench;
  cli_text text;
  cli_case *cases;
  int count;
  bool failed, wrong; /* a matrix could not be measured; a product was wrong */
} running;

/* ---- cases */

static void keep_case(running *r, const cli_case *one) {
  cli_case *more = realloc(r->cases, (size_t)(r->count + 1) * sizeof *more);
  if (!more) {
    cli_error("out of memory for the results");
    r->failed = true;
    return;
  }
  r->cases = more;
  r->cases[r->count++] = *one;
  for (int i = 0; i < r->bench.contenders; i++)
    r->wrong |= one->time[i].wrong;
  cli_text_start(&r->text, r->settings->common.json);
  cli_bench_print_case(&r->bench, one, r->text.stream);
  cli_text_end(&r->text);
  fflush(r->text.to);
}

static bool fits(const running *r, const char *name, const sley_matrix_info *info, int64_t k) {
  double bytes =
      ((double)info->rows + (double)info->cols) * (double)k * (double)sley_dtype_bytes(info->dtype);
  if (bytes <= (double)r->settings->common.mem_limit)
    return true;
  cli_say("%s, k = %" PRId64 " is left out: X and Y take %.1f MiB, and --mem-limit is %.1f MiB", name, k,
          bytes / MIB, (double)r->settings->common.mem_limit / MIB);
  return false;
}

static sley_status measure(running *r, const char *name, const sley_matrix *matrix, int64_t k) {
  char text[CLI_MATRIX_NAME + 64];
  cli_case one;
  snprintf(text, sizeof text, "measuring %.*s, k = %" PRId64, CLI_MATRIX_NAME, name, k);
  cli_progress(text, 0, 0);
  sley_status status = cli_bench_case(&r->bench, name, matrix, k, &one);
  cli_progress_clear();
  if (status == SLEY_OK) {
    keep_case(r, &one);
    return SLEY_OK;
  }
  if (status != SLEY_ERR_UNSUPPORTED && status != SLEY_ERR_MEMORY && status != SLEY_ERR_OVERFLOW)
    return status;
  cli_error("%s, k = %" PRId64 ": %s", name, k, sley_last_error());
  r->failed = true;
  return SLEY_OK;
}

static sley_status take_matrix(void *context, const char *name, const sley_matrix *matrix) {
  running *r = context;
  sley_matrix_info info;
  sley_status status = sley_matrix_info_get(matrix, &info);
  for (int i = 0; i < r->k.count && status == SLEY_OK; i++)
    if (fits(r, name, &info, r->k.at[i]))
      status = measure(r, name, matrix, r->k.at[i]);
  return status;
}

/* ---- the run */

static sley_status rank_main(sley_comm *comm, void *arg) {
  running *r = arg;
  r->bench.comm = comm;
  sley_status status = cli_bench_contenders(&r->bench);
  if (status != SLEY_OK)
    return status;
  cli_text_start(&r->text, r->settings->common.json);
  cli_bench_print_start(&r->bench, r->text.stream);
  cli_text_end(&r->text);
  return cli_matrices_each(r->settings->matrix, &r->settings->common, take_matrix, r, &r->failed);
}

/* Prints the report. Returns the exit code. */
static int report(running *r) {
  const char *json = r->settings->common.json;
  int code = r->wrong ? CLI_FAILED : r->failed ? CLI_USAGE : CLI_DONE;
  cli_text_start(&r->text, json);
  cli_sources_print(r->text.stream);
  if (r->count > 0)
    cli_bench_print_end(&r->bench, r->cases, r->count, r->text.stream);
  cli_text_end(&r->text);
  if (json && !cli_output_json(json, cli_bench_json(&r->bench, r->cases, r->count)))
    code = CLI_FAILED;
  return code;
}

static int run(void *settings_, char **positionals) {
  (void)positionals;
  const bench_settings *settings = settings_;
  const cli_common *common = &settings->common;
  running r = {.settings = settings};
  r.bench = (cli_bench){.threads = (int)common->threads,
                        .dtype = cli_dtype(common->dtype),
                        .seed = (uint64_t)common->seed,
                        .repeat = common->repeat,
                        .precision = common->precision,
                        .budget = common->budget};
  if (!cli_numbers_read("bench", "k", settings->k, &r.k) ||
      !cli_name_fits_json("bench", settings->matrix, common->json))
    return CLI_USAGE;
  if (!cli_output_possible(common->json))
    return CLI_FAILED;
  sley_status status = cli_check_device(common->device, NULL);
  if (status != SLEY_OK)
    return cli_finish(status);
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  ranks.threads = r.bench.threads;
  ranks.device = common->device;
  status = sley_run_ranks(&ranks, rank_main, &r);
  cli_progress_clear();
  if (status == SLEY_OK)
    cli_no_effect("bench", "precision",
                  strcmp(r.bench.device, "cpu") == 0 && strcmp(common->precision, "full") != 0,
                  "no kernel of the CPU rounds values");
  int code = status == SLEY_OK ? report(&r) : cli_finish(status);
  free(r.cases);
  return code;
}

const cli_command cli_bench_command = {
    .name = "bench",
    .summary = "compare the kernels of a device on this machine",
    .arguments = "",
    .positionals = 0,
    .options = options,
    .common = CLI_TAKES_THREADS | CLI_TAKES_DEVICE | CLI_TAKES_PRECISION | CLI_TAKES_DTYPE | CLI_TAKES_SEED |
              CLI_TAKES_REPEAT | CLI_TAKES_BUDGET | CLI_TAKES_READING | CLI_TAKES_JSON,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes =
        "Nothing else should run meanwhile. Each product is checked once in double precision. On GPUs the "
        "kernel cusparse of another library is the rival; bench/spmm_local.py compares with rivals on CPUs.\n"
        "Exit status: 0 done, 1 a wrong product, 2 wrong usage or a matrix that could not be measured, 130 "
        "interrupted.\n"
        "sley bench ops measures the operations of graph networks: sley bench ops --help.\n",
    .run = run,
    .mode = &cli_bench_ops_command};

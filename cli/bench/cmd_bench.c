/* SPDX-License-Identifier: Apache-2.0 */
/* `sley bench`: compares the kernels of a device and the rivals found on this machine, on drawn matrices and
 * widths.
 *
 * One rank multiplies. draw.c draws cases, case.c measures a case, check.c checks its products, mkl.c calls
 * MKL, report.c prints. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/draw.h"
#include "bench/report.h"
#include "command.h"
#include "common.h"
#include "matrix/input.h"
#include "matrix/job.h"
#include "output/changes.h"
#include "output/output.h"
#include "output/terminal.h"

enum { MOST_MATRICES = 100000, MOST_WIDTH = 1 << 20, SPEC_BYTES = 4096, MIB = 1 << 20 };

typedef struct bench_settings {
  cli_common common;
  const char *data, *matrix, *cases;
  int64_t least, widest;
  bool list;
} bench_settings;

#define AT(field) offsetof(bench_settings, field)
static const cli_option own_options[] = {
    {.name = "data",
     .kind = CLI_TEXT,
     .value = "FOLDER",
     .offset = AT(data),
     .help = "draw matrices from the files of this folder and those in it"},
    {.name = "matrix",
     .kind = CLI_TEXT,
     .value = "LIST",
     .offset = AT(matrix),
     .help = "measure these files and generators too, separated by blanks (without --data: four generators)"},
    {.name = "cases",
     .kind = CLI_TEXT,
     .value = "NxW",
     .offset = AT(cases),
     .help = "N matrices are drawn from the folder, and W widths for each matrix"},
    {.name = "least",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(least),
     .most = INT64_MAX,
     .help = "drawn matrices have more entries"},
    {.name = "widest",
     .kind = CLI_INT,
     .value = "K",
     .offset = AT(widest),
     .least = 1,
     .most = MOST_WIDTH,
     .help = "widths are from 1 to K, their logarithms uniform"},
    {.name = "list",
     .kind = CLI_FLAG,
     .offset = AT(list),
     .help = "print the drawn cases, a matrix and its widths a line, and measure nothing"},
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
                                                   .seed = 1,
                                                   .repeat = 11,
                                                   .mem_limit = INT64_C(4) << 30,
                                                   .budget = 2,
                                                   .reading.base = -1},
                                        .cases = "8x4",
                                        .least = 20000,
                                        .widest = 1024};
static const char standard[] =
    "twin:cyt:scale=0.1 twin:red:scale=0.01 rmat:scale=14,edgefactor=8 er:n=20000,nnz=200000";

typedef struct running {
  const bench_settings *settings;
  const char *list; /* the value of --matrix, or the default generators */
  cli_files files;
  cli_bench bench;
  cli_bench_words words;
  FILE *stream;
  cli_case *cases;
  int count;
  bool failed, wrong; /* a matrix could not be measured; a product was wrong */
} running;

/* ---- cases */

/* Prints the error; the run continues with the next case. */
static void note_failure(running *r, const char *name, int64_t k) {
  if (k > 0)
    cli_error("%s, k = %" PRId64 ": %s", name, k, sley_last_error());
  else
    cli_error("%s", sley_last_error());
  r->failed = true;
}

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
  cli_bench_print_case(&r->bench, one, r->stream);
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
  note_failure(r, name, k);
  return SLEY_OK;
}

/* Measures or lists the widths of one matrix. name: the name in reports, which also determines the drawn
 * widths. */
static sley_status take_matrix(running *r, const char *name, const char *path, const sley_matrix *matrix) {
  int64_t width[CLI_BENCH_WIDTHS];
  sley_matrix_info info;
  int count = cli_widths_draw((uint64_t)r->settings->common.seed, name, (int)r->words.widths,
                              r->settings->widest, width);
  sley_status status = sley_matrix_info_get(matrix, &info);
  if (r->settings->list) {
    printf("%s ", cli_shown(path));
    for (int i = 0; i < count; i++)
      printf("%s%" PRId64, i > 0 ? "," : "", width[i]);
    printf("\n");
    return status;
  }
  for (int i = 0; i < count && status == SLEY_OK; i++)
    if (fits(r, name, &info, width[i]))
      status = measure(r, name, matrix, width[i]);
  return status;
}

/* Reads a matrix and measures it if it has more than `least` entries. A matrix that cannot be read is
 * reported and skipped. */
static sley_status try_matrix(running *r, const char *name, const char *path, int64_t least, bool *taken) {
  sley_matrix *matrix = NULL;
  sley_matrix_info info;
  *taken = false;
  if (!cli_name_fits_json("bench", name, r->settings->common.json)) {
    r->failed = true;
    return SLEY_OK;
  }
  sley_status status = cli_load(path, r->settings->common.dtype, r->settings->common.threads,
                                r->settings->common.seed, 0, &r->settings->common.reading, &matrix);
  cli_progress_clear();
  if (status == SLEY_ERR_INTERRUPTED || cli_interrupted())
    return SLEY_ERR_INTERRUPTED;
  if (status != SLEY_OK) {
    note_failure(r, name, 0);
    return SLEY_OK;
  }
  status = sley_matrix_info_get(matrix, &info);
  *taken = status == SLEY_OK && info.nnz > least;
  if (*taken)
    status = take_matrix(r, name, path, matrix);
  sley_matrix_destroy(matrix);
  return status;
}

/* Measures the matrices listed in --matrix, whatever their size. */
static sley_status take_list(running *r) {
  const char *blanks = " \t\n";
  sley_status status = SLEY_OK;
  for (const char *at = r->list + strspn(r->list, blanks); *at && status == SLEY_OK;
       at += strspn(at, blanks)) {
    char name[SPEC_BYTES];
    size_t length = strcspn(at, blanks);
    bool taken;
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), at);
    at += length;
    status = try_matrix(r, name, name, -1, &taken);
  }
  return status;
}

/* Measures files in the drawn order until the requested number of matrices has been measured. */
static sley_status take_files(running *r) {
  int64_t wanted = r->words.matrices;
  sley_status status = SLEY_OK;
  for (int i = 0; i < r->files.count && wanted > 0 && status == SLEY_OK; i++) {
    char path[2 * SPEC_BYTES];
    bool taken;
    snprintf(path, sizeof path, "%s/%s", r->settings->data, r->files.path[i]);
    status = try_matrix(r, r->files.path[i], path, r->settings->least, &taken);
    wanted -= taken;
  }
  if (status == SLEY_OK && r->settings->data && wanted == r->words.matrices) {
    cli_error("bench: %s has no matrix with more than %" PRId64 " entries", r->settings->data,
              r->settings->least);
    r->failed = true;
  }
  return status;
}

/* ---- the run */

static sley_status rank_main(sley_comm *comm, void *arg) {
  running *r = arg;
  sley_status status = SLEY_OK;
  r->bench.comm = comm;
  if (!r->settings->list) {
    status = cli_bench_contenders(&r->bench);
    if (status == SLEY_OK)
      cli_bench_print_start(&r->bench, &r->words, r->stream);
  }
  if (status == SLEY_OK)
    status = take_list(r);
  return status == SLEY_OK ? take_files(r) : status;
}

/* Prints the report. Returns the exit code. */
static int report(running *r) {
  int code = r->wrong ? CLI_FAILED : r->failed ? CLI_USAGE : CLI_DONE;
  if (r->settings->list)
    return code;
  cli_sources_print(r->stream);
  if (r->count > 0)
    cli_bench_print_end(&r->bench, r->cases, r->count, r->stream);
  if (r->settings->common.json &&
      !cli_output_json(r->settings->common.json, cli_bench_json(&r->bench, &r->words, r->cases, r->count)))
    code = CLI_FAILED;
  return code;
}

/* Reports options that were given but have no effect. The device is known only after the ranks have run. */
static void say_idle(const running *r) {
  const bench_settings *s = r->settings;
  static const char *const measuring[] = {"device", "precision", "repeat", "budget", "mkl", "json", NULL};
  for (int i = 0; measuring[i]; i++)
    cli_no_effect("bench", measuring[i], s->list, "--list measures nothing");
  cli_no_effect("bench", "least", !s->data, "matrices are drawn from --data only");
  if (!s->data && cli_given("cases") && r->words.matrices != 1)
    cli_changed("bench: --cases %s: without --data no matrices are drawn, only the widths of each", s->cases);
  if (s->list)
    return;
  const bool cpu = strcmp(r->bench.device, "cpu") == 0;
  cli_no_effect("bench", "mkl", !cpu, "MKL multiplies on the CPU, and the device is a GPU");
  cli_no_effect("bench", "precision", cpu && strcmp(s->common.precision, "full") != 0,
                "no kernel of the CPU rounds values");
}

static int run_drawn(running *r) {
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  ranks.threads = (int)r->settings->common.threads;
  ranks.device = r->settings->list ? "cpu" : r->settings->common.device;
  sley_status status = sley_run_ranks(&ranks, rank_main, r);
  cli_progress_clear();
  if (status == SLEY_OK)
    say_idle(r);
  int code = status == SLEY_OK ? report(r) : cli_finish(status);
  free(r->cases);
  return code;
}

/* Reads a value such as "8x4". On failure prints one line on stderr and returns false. */
static bool read_cases(const char *text, int64_t *matrices, int64_t *widths) {
  char *end = NULL;
  *widths = 0;
  *matrices = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : 0;
  if (end && *end == 'x' && end[1] >= '0' && end[1] <= '9')
    *widths = strtoll(end + 1, &end, 10);
  if (*matrices >= 1 && *matrices <= MOST_MATRICES && *widths >= 1 && *widths <= CLI_BENCH_WIDTHS && !*end)
    return true;
  cli_error("bench: --cases takes matrices and widths as in 8x4, at most %dx%d, not \"%s\"", MOST_MATRICES,
            CLI_BENCH_WIDTHS, text);
  return false;
}

static int run(void *settings_, char **positionals) {
  (void)positionals;
  const bench_settings *settings = settings_;
  bool to_stdout = settings->common.json && strcmp(settings->common.json, "-") == 0;
  running r = {.settings = settings, .stream = to_stdout ? stderr : stdout};
  r.bench = (cli_bench){.threads = (int)settings->common.threads,
                        .dtype = cli_dtype(settings->common.dtype),
                        .seed = (uint64_t)settings->common.seed,
                        .repeat = settings->common.repeat,
                        .precision = settings->common.precision,
                        .budget = settings->common.budget};
  r.words = (cli_bench_words){.data = settings->data, .widest = settings->widest, .least = settings->least};
  r.list = settings->matrix ? settings->matrix : settings->data ? "" : standard;
  if (!read_cases(settings->cases, &r.words.matrices, &r.words.widths))
    return CLI_USAGE;
  if (!cli_output_possible(settings->common.json))
    return CLI_FAILED;
  sley_status status = settings->list ? SLEY_OK : cli_check_device(settings->common.device, NULL);
  if (status != SLEY_OK)
    return cli_finish(status);
  cli_mkl *mkl = NULL;
  if (!settings->list && !cli_mkl_load(settings->common.mkl, r.bench.threads, &mkl, &r.words.no_mkl))
    return cli_refuse(SLEY_ERR_ARG, "bench: --mkl %s: %s", settings->common.mkl, r.words.no_mkl);
  r.bench.mkl = mkl;
  r.words.mkl = mkl ? cli_mkl_path(mkl) : NULL;
  int code = CLI_USAGE;
  if (!settings->data || cli_files_draw(settings->data, (uint64_t)settings->common.seed, &r.files))
    code = run_drawn(&r);
  cli_files_free(&r.files);
  cli_mkl_free(mkl);
  return code;
}

const cli_command cli_bench_command = {
    .name = "bench",
    .summary = "compare a device's kernels and the rivals found here, on drawn matrices and widths",
    .arguments = "",
    .positionals = 0,
    .options = options,
    .common = CLI_TAKES_THREADS | CLI_TAKES_DEVICE | CLI_TAKES_PRECISION | CLI_TAKES_DTYPE | CLI_TAKES_SEED |
              CLI_TAKES_REPEAT | CLI_TAKES_BUDGET | CLI_TAKES_MKL | CLI_TAKES_READING | CLI_TAKES_JSON,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes =
        "Nothing else should run meanwhile. Each product is checked once in double precision. Rivals: on the "
        "CPU\n"
        "MKL's sparse products, where libmkl_rt is found; on GPUs cuSPARSE, as the kernel cusparse.\n"
        "Exit status: 0 done, 1 a wrong product, 2 wrong usage or a matrix that could not be measured, 130 "
        "interrupted.\n"
        "sley bench ops measures the operations of graph networks: sley bench ops --help.\n",
    .run = run,
    .mode = &cli_bench_ops_command};

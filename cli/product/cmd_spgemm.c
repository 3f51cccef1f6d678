/* SPDX-License-Identifier: Apache-2.0 */
/* `sley spgemm`: the product of two sparse matrices in this process, on its cores or a GPU, timed, checked
 * and written. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "common.h"
#include "matrix/input.h"
#include "matrix/job.h"
#include "matrix/write.h"
#include "output/changes.h"
#include "output/json.h"
#include "output/output.h"
#include "output/terminal.h"
#include "output/times.h"

typedef struct spgemm_settings {
  cli_common common;
  const char *mask, *semiring, *out, *local;
  bool transpose_b;
} spgemm_settings;

#define AT(field) offsetof(spgemm_settings, field)
static const cli_option own_options[] = {
    {.name = "mask",
     .kind = CLI_TEXT,
     .value = "M",
     .offset = AT(mask),
     .help = "compute only the entries of C where this matrix has entries"},
    {.name = "transpose-b", .kind = CLI_FLAG, .offset = AT(transpose_b), .help = "multiply by B transposed"},
    {.name = "semiring",
     .kind = CLI_CHOICE,
     .value = "NAME",
     .offset = AT(semiring),
     .choices = sley_semirings,
     .help = "what the values are multiplied and added by"},
    {.name = "out",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(out),
     .help = "write C in the format of this name's ending"},
    {.name = "mem-limit",
     .kind = CLI_SIZE,
     .value = "SIZE",
     .offset = AT(common.mem_limit),
     .help = "bytes that C and the memory to make it may take, such as 512M or 8G; of the GPU's with cuda"},
    {.name = "local",
     .kind = CLI_TEXT,
     .value = "NAME",
     .offset = AT(local),
     .help = "whose kernels multiply: sley; on --device cuda also cusparse, cusparse-alg2, cusparse-alg3"},
    {0}};
static const cli_option *const options[] = {own_options, NULL};
static const spgemm_settings defaults = {
    .common = {.dtype = "f64", .device = "cpu", .ranks = 1, .seed = 1, .repeat = 1, .reading.base = -1},
    .semiring = "plus-times",
    .local = "sley"};

/* The state of a run: operands, the product, and figures of the product. */
typedef struct spgemm_run {
  const spgemm_settings *settings;
  const char *name_a, *name_b; /* name_b NULL: A is multiplied by itself */
  sley_matrix *a, *b, *mask, *c;
  sley_spgemm_options options;
  sley_spgemm_info info;
  sley_matrix_info size; /* information about C */
  cli_times times;
  sley_check check;
} spgemm_run;

static sley_status load(spgemm_run *run) {
  const spgemm_settings *s = run->settings;
  sley_status status = cli_load(run->name_a, s->common.dtype, s->common.threads, s->common.seed, 0,
                                &s->common.reading, &run->a);
  if (status == SLEY_OK && run->name_b)
    status = cli_load(run->name_b, s->common.dtype, s->common.threads, s->common.seed, 0, &s->common.reading,
                      &run->b);
  if (status == SLEY_OK && s->mask)
    status = cli_load(s->mask, "f32", s->common.threads, s->common.seed, 0, &s->common.reading, &run->mask);
  run->options = (sley_spgemm_options)SLEY_SPGEMM_OPTIONS_INIT;
  run->options.semiring = (sley_semiring)cli_number_of(s->semiring, sley_semirings());
  run->options.mask = run->mask;
  run->options.transpose_b = s->transpose_b;
  run->options.mem_limit = s->common.mem_limit;
  run->options.ranks = (int)s->common.ranks;
  run->options.threads = (int)s->common.threads;
  run->options.device = s->common.device;
  run->options.local = s->local;
  return status;
}

static sley_status multiply(spgemm_run *run) {
  static double ms[CLI_MOST_RUNS];
  const sley_matrix *b = run->b ? run->b : run->a;
  for (int64_t i = 0; i < run->settings->common.repeat; i++) {
    sley_matrix_destroy(run->c);
    cli_progress("multiplying", i, run->settings->common.repeat);
    const double start = cli_now_ms();
    const sley_status status = sley_spgemm(run->a, b, &run->options, &run->c, &run->info);
    ms[i] = cli_now_ms() - start;
    if (status != SLEY_OK) {
      cli_progress_clear();
      return status;
    }
  }
  cli_progress_clear();
  run->times = cli_times_of(ms, run->settings->common.repeat);
  return sley_matrix_info_get(run->c, &run->size);
}

static sley_status verify(spgemm_run *run) {
  if (!run->settings->common.verify)
    return SLEY_OK;
  cli_progress("verifying", 0, 0);
  const sley_status status =
      sley_check_spgemm(run->a, run->b ? run->b : run->a, &run->options, run->c, &run->check);
  cli_progress_clear();
  return status;
}

/* Billions of operations per second; a product counts two. */
static double rate(const spgemm_run *run) {
  return run->times.median > 0 ? 2e-6 * (double)run->info.products / run->times.median : 0;
}

static void print(const spgemm_run *run, FILE *stream) {
  const spgemm_settings *s = run->settings;
  cli_sources_print(stream);
  fprintf(stream, "C            %" PRId64 " x %" PRId64 ", %" PRId64 " nonzeros, %s, %s%s\n", run->size.rows,
          run->size.cols, run->size.nnz, s->common.dtype, s->semiring, s->mask ? ", masked" : "");
  fprintf(stream, "device       ");
  if (s->common.ranks > 1)
    fprintf(stream, "%" PRId64 " x ", s->common.ranks);
  fprintf(stream, "%s%s%s\n", s->common.device, strcmp(s->local, "sley") == 0 ? "" : ", by ",
          strcmp(s->local, "sley") == 0 ? "" : s->local);
  fprintf(stream, "products     %" PRId64 "\n", run->info.products);
  fprintf(stream, "compression  %.2f products per nonzero of C\n", run->info.compression);
  fprintf(stream, "time         %.3f ms", run->times.median);
  if (s->common.repeat > 1)
    fprintf(stream, " (median of %" PRId64 ", 10 %% below %.3f, 90 %% below %.3f)", s->common.repeat,
            run->times.p10, run->times.p90);
  fprintf(stream, "\nrate         %.3f GFLOP/s\n", rate(run));
  fprintf(stream, "memory       %.1f MiB at most, in %d pass%s\n", (double)run->info.peak_bytes / (1 << 20),
          run->info.passes, run->info.passes == 1 ? "" : "es");
  if (s->common.verify && run->check.ok)
    fprintf(stream, "check        every entry within its bound of float64; largest relative error %.2e\n",
            run->check.relative_error);
  else if (s->common.verify)
    fprintf(stream, "check        WRONG at row %" PRId64 ", column %" PRId64 ": error %.2e, bound %.2e\n",
            run->check.row, run->check.col, run->check.max_error, run->check.bound);
}

static bool write_json(const spgemm_run *run) {
  const spgemm_settings *s = run->settings;
  cli_json json = cli_json_start();
  cli_json_text(&json, "a", run->name_a);
  cli_json_text(&json, "b", run->name_b ? run->name_b : run->name_a);
  cli_json_text(&json, "mask", s->mask);
  cli_json_bool(&json, "transpose_b", s->transpose_b);
  cli_json_text(&json, "semiring", s->semiring);
  cli_json_text(&json, "dtype", s->common.dtype);
  cli_json_text(&json, "device", s->common.device);
  cli_json_text(&json, "local", s->local);
  cli_json_int(&json, "ranks", s->common.ranks);
  cli_json_int(&json, "rows", run->size.rows);
  cli_json_int(&json, "cols", run->size.cols);
  cli_json_int(&json, "nnz", run->size.nnz);
  cli_json_int(&json, "products", run->info.products);
  cli_json_real(&json, "compression", run->info.compression);
  cli_json_int(&json, "repeat", s->common.repeat);
  cli_json_real(&json, "ms", run->times.median);
  cli_json_real(&json, "ms_p10", run->times.p10);
  cli_json_real(&json, "ms_p90", run->times.p90);
  cli_json_real(&json, "gflops", rate(run));
  cli_json_int(&json, "peak_bytes", run->info.peak_bytes);
  cli_json_int(&json, "passes", run->info.passes);
  if (s->common.verify) {
    cli_json_bool(&json, "ok", run->check.ok);
    cli_json_real(&json, "relative_error", run->check.relative_error);
  }
  return cli_output_json(s->common.json, cli_json_end(json));
}

/* Prints the report and writes the requested files. Returns the exit code. */
static int report(const spgemm_run *run) {
  const spgemm_settings *s = run->settings;
  print(run, s->common.json && strcmp(s->common.json, "-") == 0 ? stderr : stdout);
  if (s->common.json && !write_json(run))
    return CLI_FAILED;
  if (s->common.verify && !run->check.ok)
    return cli_refuse(SLEY_ERR_INTERNAL, "spgemm: the product is wrong: please report it");
  return s->out ? cli_finish(cli_write_matrix(run->c, s->out)) : CLI_DONE;
}

static bool names_fit(const spgemm_run *run) {
  const char *json = run->settings->common.json;
  return cli_name_fits_json("spgemm", run->name_a, json) &&
         (!run->name_b || cli_name_fits_json("spgemm", run->name_b, json)) &&
         (!run->settings->mask || cli_name_fits_json("spgemm", run->settings->mask, json));
}

static int run(void *settings_, char **positionals) {
  const spgemm_settings *settings = settings_;
  spgemm_run self = {.settings = settings, .name_a = positionals[0], .name_b = positionals[1]};
  if (!names_fit(&self) || !cli_output_matrix_ending(settings->out))
    return CLI_USAGE;
  if (!cli_output_possible(settings->out) || !cli_output_possible(settings->common.json))
    return CLI_FAILED;
  const int taken = cli_take_stdin("spgemm", self.name_a, self.name_b, 0);
  if (taken != CLI_DONE)
    return taken;
  cli_seed_no_effect("spgemm", false, self.name_a, self.name_b, settings->mask);
  sley_status status = load(&self);
  if (status == SLEY_OK)
    status = multiply(&self);
  if (status == SLEY_OK)
    status = verify(&self);
  const int code = status == SLEY_OK ? report(&self) : cli_finish(status);
  sley_matrix_destroy(self.a);
  sley_matrix_destroy(self.b);
  sley_matrix_destroy(self.mask);
  sley_matrix_destroy(self.c);
  return code;
}

const cli_command cli_spgemm = {
    .name = "spgemm",
    .summary = "multiply two sparse matrices: C = A B, or A A",
    .arguments = "A [B]",
    .positionals = 2,
    .optional = 1,
    .options = options,
    .common = CLI_TAKES_RANKS | CLI_TAKES_THREADS | CLI_TAKES_DEVICE | CLI_TAKES_DTYPE | CLI_TAKES_SEED |
              CLI_TAKES_REPEAT | CLI_TAKES_VERIFY | CLI_TAKES_READING | CLI_TAKES_JSON,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes = "A, B and M are files or generators. --out endings: .mtx, .sley, .npz and those of convert.\n",
    .run = run};

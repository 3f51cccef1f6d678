/* SPDX-License-Identifier: Apache-2.0 */
/* Multiplies by sley_spgemm, checks C, reports and writes it. */
#include "product/spgemm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "matrix/job.h"
#include "matrix/write.h"
#include "output/json.h"
#include "output/output.h"
#include "output/terminal.h"
#include "output/text.h"
#include "output/times.h"
#include "product/report.h"

/* The state of a run: operands, the product, and figures of the product. */
typedef struct spgemm_run {
  const cli_spgemm_settings *settings;
  const cli_spgemm_factors *factors;
  int ranks;
  sley_matrix *c;
  sley_spgemm_options options;
  sley_spgemm_info info;
  sley_matrix_info size_a, size; /* information about A and about C */
  cli_times times;
  sley_check check;
} spgemm_run;

static sley_status multiply(spgemm_run *run) {
  static double ms[CLI_MOST_RUNS];
  const cli_spgemm_factors *f = run->factors;
  const int64_t warmup = run->settings->common.warmup, repeat = run->settings->common.repeat;
  for (int64_t i = -warmup; i < repeat; i++) {
    sley_matrix_destroy(run->c);
    cli_progress("multiplying", i + warmup, warmup + repeat);
    const double start = cli_now_ms();
    const sley_status status = sley_spgemm(f->a, f->b, &run->options, &run->c, &run->info);
    if (i >= 0)
      ms[i] = cli_now_ms() - start;
    if (status != SLEY_OK) {
      cli_progress_clear();
      return status;
    }
  }
  cli_progress_clear();
  run->times = cli_times_of(ms, repeat);
  const sley_status status = sley_matrix_info_get(f->a, &run->size_a);
  return status == SLEY_OK ? sley_matrix_info_get(run->c, &run->size) : status;
}

static sley_status verify(spgemm_run *run) {
  if (!run->settings->common.verify)
    return SLEY_OK;
  cli_progress("verifying", 0, 0);
  const sley_status status =
      sley_check_spgemm(run->factors->a, run->factors->b, &run->options, run->c, &run->check);
  cli_progress_clear();
  return status;
}

/* Billions of operations per second; a product counts two. */
static double rate(const spgemm_run *run) {
  return run->times.median > 0 ? 2e-6 * (double)run->info.products / run->times.median : 0;
}

static void print(const spgemm_run *run, FILE *stream) {
  const cli_spgemm_settings *s = run->settings;
  cli_sources_print(stream);
  fprintf(stream, "C            %" PRId64 " x %" PRId64 ", %" PRId64 " nonzeros, %s, %s%s\n", run->size.rows,
          run->size.cols, run->size.nnz, s->common.dtype, s->semiring, s->mask ? ", masked" : "");
  fprintf(stream, "device       ");
  if (run->ranks > 1)
    fprintf(stream, "%d x ", run->ranks);
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
  if (s->common.verify)
    cli_report_check(&run->check, 13, stream);
}

static bool write_json(const spgemm_run *run) {
  const cli_spgemm_settings *s = run->settings;
  cli_json json = cli_json_start();
  cli_json_text(&json, "sley", sley_version());
  cli_json_text(&json, "a", run->factors->name_a);
  cli_json_text(&json, "b", run->factors->name_b);
  cli_json_text(&json, "mask", s->mask);
  cli_json_bool(&json, "transpose_b", s->transpose_b);
  cli_json_text(&json, "semiring", s->semiring);
  cli_json_text(&json, "dtype", s->common.dtype);
  cli_json_text(&json, "device", s->common.device);
  cli_json_text(&json, "local", s->local);
  cli_json_int(&json, "ranks", run->ranks);
  cli_json_text(&json, "algo", "rows");
  cli_json_int(&json, "rows", run->size.rows);
  cli_json_int(&json, "cols", run->size.cols);
  cli_json_int(&json, "nnz", run->size.nnz);
  cli_json_int(&json, "a_nnz", run->size_a.nnz);
  cli_json_int(&json, "products", run->info.products);
  cli_json_real(&json, "compression", run->info.compression);
  cli_json_int(&json, "repeat", s->common.repeat);
  cli_times_json(&json, &run->times);
  cli_json_real(&json, "gflops", rate(run));
  cli_json_int(&json, "peak_bytes", run->info.peak_bytes);
  cli_json_int(&json, "passes", run->info.passes);
  cli_report_json_check(&json, s->common.verify ? &run->check : NULL);
  return cli_output_json(s->common.json, cli_json_end(json));
}

/* Prints the report and writes the requested files. Returns the exit code. */
static int report(const spgemm_run *run) {
  const cli_spgemm_settings *s = run->settings;
  cli_text text;
  cli_text_start(&text, s->common.json);
  print(run, text.stream);
  cli_text_end(&text);
  if (s->common.json && !write_json(run))
    return CLI_FAILED;
  if (s->common.verify && !run->check.ok)
    return cli_refuse(SLEY_ERR_INTERNAL, "spgemm: the product is wrong: please report it");
  return s->out ? cli_finish(cli_write_matrix(run->c, s->out)) : CLI_DONE;
}

int cli_spgemm_rows(const cli_spgemm_settings *settings, const cli_spgemm_factors *factors, int ranks) {
  spgemm_run run = {
      .settings = settings, .factors = factors, .ranks = ranks, .options = SLEY_SPGEMM_OPTIONS_INIT};
  run.options.semiring = (sley_semiring)cli_number_of(settings->semiring, sley_semirings());
  run.options.mask = factors->mask;
  run.options.transpose_b = settings->transpose_b;
  run.options.mem_limit = settings->common.mem_limit;
  run.options.ranks = ranks;
  run.options.threads = (int)settings->common.threads;
  run.options.device = settings->common.device;
  run.options.local = settings->local;
  sley_status status = multiply(&run);
  if (status == SLEY_OK)
    status = verify(&run);
  const int code = status == SLEY_OK ? report(&run) : cli_finish(status);
  sley_matrix_destroy(run.c);
  return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ops_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "matrix/job.h"
#include "output/terminal.h"

enum { NAME_WIDTH = 24 };
static const char *const pass_names[CLI_OPS_PASSES] = {"forward", "backward"};

/* Figures of a pass. of_spmm: its time / the product's time; NaN: not known. */
typedef struct figures {
  double entries_per_s, gb_per_s, of_spmm;
} figures;

static figures figures_of(const cli_op_result *r, int pass) {
  const double s = r->time[pass].median_ms / 1e3;
  figures f = {(double)r->nnz / s, (double)r->bytes[pass] / s / 1e9, NAN};
  if (r->spmm.turns > 0)
    f.of_spmm = r->time[pass].median_ms / r->spmm.median_ms;
  return f;
}

static bool is_measured(const cli_op_result *r, int pass) {
  return r->status == SLEY_OK && !r->wrong && r->time[pass].turns > 0;
}

/* ---- text */

void cli_ops_print_start(const cli_ops_bench *bench, FILE *stream) {
  fprintf(stream, "device     %s, %d rank%s of ", bench->found, bench->ranks, bench->ranks == 1 ? "" : "s");
  if (bench->threads > 0)
    fprintf(stream, "%d thread%s", bench->threads, bench->threads == 1 ? "" : "s");
  else
    fprintf(stream, "all cores");
  fprintf(stream, "; %s; seed %" PRIu64 "; %" PRId64 " turns each\n", sley_dtypes()[bench->dtype],
          bench->seed, bench->repeat);
  if (bench->mkl)
    fprintf(stream, "rivals     of spmm MKL, %s; of the others none is known here\n",
            cli_mkl_path(bench->mkl));
  else
    fprintf(stream, "rivals     none: %s\n", cli_shown(bench->no_mkl));
  fprintf(stream, "times      median ms of a call, and p90 - p10; bytes: operands and results once\n\n");
  fprintf(stream, "%-*s %-8s %-8s %5s %5s %10s %8s %9s %9s %7s %8s %s\n", NAME_WIDTH, "matrix", "op", "pass",
          "heads", "k", "ms", "spread", "Mentry/s", "MB", "GB/s", "by spmm", "check");
  fflush(stream);
}

static void print_names(const cli_op_result *r, const char *pass, FILE *stream) {
  const char *matrix = cli_shown(r->matrix);
  const size_t length = strlen(matrix);
  char k[24] = "-";
  if (r->k > 0)
    snprintf(k, sizeof k, "%" PRId64, r->k);
  fprintf(stream, "%-*s %-8s %-8s %5" PRId64 " %5s ", NAME_WIDTH,
          matrix + (length > NAME_WIDTH ? length - NAME_WIDTH : 0), r->op->name, pass, r->heads, k);
}

static void print_pass(const cli_op_result *r, int pass, FILE *stream) {
  const cli_op_time *time = &r->time[pass];
  const figures f = figures_of(r, pass);
  char ratio[24] = "-";
  if (!isnan(f.of_spmm))
    snprintf(ratio, sizeof ratio, "%.2f", f.of_spmm);
  print_names(r, pass_names[pass], stream);
  fprintf(stream, "%10.4f %8.4f %9.2f %9.3f %7.2f %8s ok\n", time->median_ms, time->p90_ms - time->p10_ms,
          f.entries_per_s / 1e6, (double)r->bytes[pass] / 1e6, f.gb_per_s, ratio);
}

void cli_ops_print_result(const cli_op_result *r, FILE *stream) {
  for (int pass = 0; pass < CLI_OPS_PASSES; pass++)
    if (is_measured(r, pass))
      print_pass(r, pass, stream);
  if (r->mkl.turns > 0) {
    print_names(r, "by MKL", stream);
    fprintf(stream, "%10.4f %8.4f %9.2f %9.3f %7.2f %8.2f -\n", r->mkl.median_ms,
            r->mkl.p90_ms - r->mkl.p10_ms, (double)r->nnz / r->mkl.median_ms / 1e3, (double)r->bytes[0] / 1e6,
            (double)r->bytes[0] / r->mkl.median_ms / 1e6, r->mkl.median_ms / r->time[0].median_ms);
  }
  if (r->status != SLEY_OK || r->wrong) {
    print_names(r, "-", stream);
    fprintf(stream, "%s: %s\n", r->wrong ? "WRONG" : "refused", r->reason);
  }
  fflush(stream);
}

/* Sum of the logarithms of the ratios of an operation's pass, and the largest ratio with its case. */
typedef struct mean {
  int count;
  double log_sum, worst;
  const cli_op_result *at;
} mean;

static mean mean_of(const cli_op *op, int pass, const cli_op_result *results, int count) {
  mean m = {0};
  for (int i = 0; i < count; i++) {
    if (results[i].op != op || !is_measured(&results[i], pass) || results[i].spmm.turns == 0)
      continue;
    const double ratio = figures_of(&results[i], pass).of_spmm;
    m.log_sum += log(ratio);
    if (m.count++ == 0 || ratio > m.worst) {
      m.worst = ratio;
      m.at = &results[i];
    }
  }
  return m;
}

void cli_ops_print_end(const cli_op_result *results, int count, FILE *stream) {
  bool compared = false;
  for (int i = 0; i < count; i++)
    compared |= results[i].spmm.turns > 0;
  if (!compared)
    return;
  fprintf(stream, "\ntime by that of spmm of the same width:\n");
  for (int i = 0; i < cli_ops_count(); i++)
    for (int pass = 0; pass < CLI_OPS_PASSES; pass++) {
      const mean m = mean_of(&cli_ops[i], pass, results, count);
      if (m.count > 0)
        fprintf(stream, "  %-8s %-8s  %d case%s, geometric mean %.2f, worst %.2f (%s, k = %" PRId64 ")\n",
                cli_ops[i].name, pass_names[pass], m.count, m.count == 1 ? "" : "s", exp(m.log_sum / m.count),
                m.worst, cli_shown(m.at->matrix), m.at->k);
    }
}

/* ---- JSON */

static cli_json pass_json(const cli_op_result *r, int pass) {
  cli_json json = cli_json_start();
  const cli_op_time *time = &r->time[pass];
  const figures f = figures_of(r, pass);
  cli_json_text(&json, "pass", pass_names[pass]);
  cli_json_int(&json, "turns", time->turns);
  cli_json_real(&json, "median_ms", time->median_ms);
  cli_json_real(&json, "p10_ms", time->p10_ms);
  cli_json_real(&json, "p90_ms", time->p90_ms);
  cli_json_real(&json, "spread_ms", time->p90_ms - time->p10_ms);
  cli_json_real(&json, "entries_per_s", f.entries_per_s);
  cli_json_int(&json, "bytes", r->bytes[pass]);
  cli_json_real(&json, "bytes_per_s", f.gb_per_s * 1e9);
  cli_json_real(&json, "by_spmm", f.of_spmm);
  cli_json_int(&json, "checked", r->checked[pass]);
  return json;
}

static cli_json result_json(const cli_op_result *r) {
  cli_json json = cli_json_start(), list[CLI_OPS_PASSES];
  int count = 0;
  cli_json_text(&json, "matrix", r->matrix);
  cli_json_int(&json, "rows", r->rows);
  cli_json_int(&json, "cols", r->cols);
  cli_json_int(&json, "nnz", r->nnz);
  cli_json_text(&json, "op", r->op->name);
  cli_json_int(&json, "k", r->k);
  cli_json_int(&json, "heads", r->heads);
  cli_json_text(&json, "result", r->wrong ? "wrong" : r->status != SLEY_OK ? "refused" : "ok");
  cli_json_text(&json, "reason", r->reason[0] ? r->reason : NULL);
  cli_json_real(&json, "spmm_ms", r->spmm.turns > 0 ? r->spmm.median_ms : NAN);
  cli_json_real(&json, "mkl_ms", r->mkl.turns > 0 ? r->mkl.median_ms : NAN);
  for (int pass = 0; pass < CLI_OPS_PASSES; pass++)
    if (is_measured(r, pass))
      list[count++] = pass_json(r, pass);
  cli_json_list(&json, "passes", list, count);
  return json;
}

json_t *cli_ops_json(const cli_ops_bench *bench, const cli_op_result *results, int count) {
  cli_json json = cli_json_start(), *list = calloc((size_t)count + 1, sizeof *list);
  cli_json_text(&json, "sley", sley_version());
  cli_json_text(&json, "device", bench->found);
  cli_json_int(&json, "threads", bench->threads);
  cli_json_int(&json, "ranks", bench->ranks);
  cli_json_text(&json, "dtype", sley_dtypes()[bench->dtype]);
  cli_json_int(&json, "seed", (int64_t)bench->seed);
  cli_json_int(&json, "turns", bench->repeat);
  cli_json_text(&json, "mkl", bench->mkl ? cli_mkl_path(bench->mkl) : NULL);
  json.whole &= list != NULL;
  for (int i = 0; list && i < count; i++)
    list[i] = result_json(&results[i]);
  if (list)
    cli_json_list(&json, "cases", list, count);
  free(list);
  return cli_json_end(json);
}

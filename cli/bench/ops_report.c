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
  const double s = r->time[pass].median / 1e3;
  figures f = {(double)r->nnz / s, (double)r->bytes[pass] / s / 1e9, NAN};
  if (r->spmm.count > 0)
    f.of_spmm = r->time[pass].median / r->spmm.median;
  return f;
}

static bool is_measured(const cli_op_result *r, int pass) {
  return r->status == SLEY_OK && !r->wrong && r->time[pass].count > 0;
}

/* ---- text */

void cli_ops_print_start(const cli_ops_bench *bench, FILE *stream) {
  fprintf(stream, "device     %s, %d rank%s of ", bench->found, bench->ranks, bench->ranks == 1 ? "" : "s");
  if (bench->threads > 0)
    fprintf(stream, "%d thread%s", bench->threads, bench->threads == 1 ? "" : "s");
  else
    fprintf(stream, "all cores");
  fprintf(stream, "; %s; seed %" PRIu64 "; %" PRId64 " turns each\n", sley_dtypes()[bench->dtype], bench->seed,
          bench->repeat);
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
  const cli_times *time = &r->time[pass];
  const figures f = figures_of(r, pass);
  char ratio[24] = "-";
  if (!isnan(f.of_spmm))
    snprintf(ratio, sizeof ratio, "%.2f", f.of_spmm);
  print_names(r, pass_names[pass], stream);
  fprintf(stream, "%10.4f %8.4f %9.2f %9.3f %7.2f %8s ok\n", time->median, time->p90 - time->p10,
          f.entries_per_s / 1e6, (double)r->bytes[pass] / 1e6, f.gb_per_s, ratio);
}

void cli_ops_print_result(const cli_op_result *r, FILE *stream) {
  for (int pass = 0; pass < CLI_OPS_PASSES; pass++)
    if (is_measured(r, pass))
      print_pass(r, pass, stream);
  if (r->status != SLEY_OK || r->wrong) {
    print_names(r, "-", stream);
    fprintf(stream, "%s: %s\n", r->wrong ? "WRONG" : "refused", r->reason);
  }
  fflush(stream);
}

/* The largest ratio is the worst. */
static cli_ratios ratios_of(const cli_op *op, int pass, const cli_op_result *results, int count) {
  cli_ratios all = {0};
  for (int i = 0; i < count; i++) {
    if (results[i].op != op || !is_measured(&results[i], pass) || results[i].spmm.count == 0)
      continue;
    const double one = figures_of(&results[i], pass).of_spmm;
    cli_ratios_add(&all, one, i, one > all.worst);
  }
  return all;
}

void cli_ops_print_end(const cli_op_result *results, int count, FILE *stream) {
  bool compared = false;
  for (int i = 0; i < count; i++)
    compared |= results[i].spmm.count > 0;
  if (!compared)
    return;
  fprintf(stream, "\ntime / time of spmm of the same width:\n");
  for (int i = 0; i < cli_ops_count(); i++)
    for (int pass = 0; pass < CLI_OPS_PASSES; pass++) {
      const cli_ratios r = ratios_of(&cli_ops[i], pass, results, count);
      if (r.count > 0)
        fprintf(stream, "  %-8s %-8s  %d case%s, geometric mean %.2f, worst %.2f (%s, k = %" PRId64 ")\n",
                cli_ops[i].name, pass_names[pass], r.count, r.count == 1 ? "" : "s", cli_ratios_mean(&r),
                r.worst, cli_shown(results[r.at].matrix), results[r.at].k);
    }
}

/* ---- JSON */

static cli_json pass_json(const cli_op_result *r, int pass) {
  cli_json json = cli_json_start();
  const figures f = figures_of(r, pass);
  cli_json_text(&json, "pass", pass_names[pass]);
  cli_turns_json(&json, &r->time[pass]);
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
  cli_json_real(&json, "spmm_ms", r->spmm.count > 0 ? r->spmm.median : NAN);
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
  json.whole &= list != NULL;
  for (int i = 0; list && i < count; i++)
    list[i] = result_json(&results[i]);
  if (list)
    cli_json_list(&json, "cases", list, count);
  free(list);
  return cli_json_end(json);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "matrix/job.h"
#include "output/terminal.h"

static double ratio_of(const cli_case *one, int who) {
  (void)who;
  return one->ratio;
}

/* Time of contender `who` / time of auto. 0: one of them has no time. */
static double time_of(const cli_case *one, int who) {
  const cli_time *own = &one->time[0], *other = &one->time[who];
  if (own->ms.count == 0 || own->wrong || other->ms.count == 0 || other->wrong)
    return 0;
  return other->ms.median / own->ms.median;
}

/* Time of the fastest of Sley's kernels / time of auto, at most 1. 0: not known. */
static double choice_of(const cli_case *one, int who) {
  (void)who;
  return one->fastest < 0 ? 0 : fmin(time_of(one, one->fastest), 1);
}

/* A ratio of a case; `who`: the contender, which some ratios do not use. */
typedef double ratio_function(const cli_case *one, int who);

/* The smallest ratio is the worst. */
static cli_ratios ratios_of(const cli_case *cases, int count, ratio_function *ratio, int who) {
  cli_ratios all = {0};
  for (int i = 0; i < count; i++) {
    const double one = ratio(&cases[i], who);
    if (one > 0)
      cli_ratios_add(&all, one, i, one < all.worst);
  }
  return all;
}

/* ---- text */

void cli_bench_print_start(const cli_bench *bench, FILE *stream) {
  fprintf(stream, "device     %s, ", bench->device);
  if (bench->threads > 0)
    fprintf(stream, "%d thread%s", bench->threads, bench->threads == 1 ? "" : "s");
  else
    fprintf(stream, "all cores");
  fprintf(stream, "; %s; seed %" PRIu64 "; %" PRId64 " turns each\n", sley_dtypes()[bench->dtype],
          bench->seed, bench->repeat);
  fprintf(stream, "times      median ms of a product, and p90 - p10; / auto: time / time of auto\n\n");
  fprintf(stream, "%-22s %12s %10s %8s\n", "contender", "ms", "spread", "/ auto");
}

static void print_contender(const cli_bench *bench, const cli_case *one, int who, FILE *stream) {
  const cli_time *time = &one->time[who];
  const double ratio = time_of(one, who);
  fprintf(stream, "  %-20s", bench->contender[who].name);
  if (time->wrong)
    fprintf(stream, " %12s", "WRONG");
  else if (time->ms.count == 0)
    fprintf(stream, " %12s", "-");
  else
    fprintf(stream, " %12.4f %10.4f", time->ms.median, time->ms.p90 - time->ms.p10);
  if (ratio > 0 && who > 0)
    fprintf(stream, " %8.3f%s", ratio, who == one->rival ? "  best rival" : "");
  fprintf(stream, "\n");
}

void cli_bench_print_case(const cli_bench *bench, const cli_case *one, FILE *stream) {
  fprintf(stream, "%s, %" PRId64 " x %" PRId64 ", %" PRId64 " entries; k = %" PRId64 "; auto takes %s\n",
          cli_shown(one->matrix), one->rows, one->cols, one->nnz, one->k,
          one->kernels.count == 1  ? one->kernels.name[0]
          : one->kernels.count > 1 ? "several kernels"
                                   : "no kernel");
  for (int i = 0; i < bench->contenders; i++)
    print_contender(bench, one, i, stream);
}

void cli_bench_ratio_cells(cli_table *table, int column, const cli_ratios *ratios, const char *matrix,
                           int64_t k) {
  cli_table_cell(table, column, "%d", ratios->count);
  cli_table_cell(table, column + 1, "%.3f", cli_ratios_mean(ratios));
  cli_table_cell(table, column + 2, "%.3f", ratios->worst);
  cli_table_cell(table, column + 3, "%s, k = %" PRId64, matrix, k);
}

/* Adds a row; absent: text if no case has the ratio. */
static void add_ratios(cli_table *table, const char *name, const cli_ratios *r, const cli_case *cases,
                       const char *absent) {
  if (!cli_table_row(table))
    return;
  cli_table_cell(table, 0, "%s", name);
  if (r->count > 0) {
    cli_bench_ratio_cells(table, 1, r, cases[r->at].matrix, cases[r->at].k);
    return;
  }
  cli_table_cell(table, 1, "0");
  cli_table_cell(table, 4, "%s", absent);
}

void cli_bench_print_end(const cli_bench *bench, const cli_case *cases, int count, FILE *stream) {
  static const char *const headings[] = {"<time / auto", "cases", "geometric mean", "worst", "<of", NULL};
  static const char none[] = "no case has both";
  const cli_ratios rivals = ratios_of(cases, count, ratio_of, 0),
                   choice = ratios_of(cases, count, choice_of, 0);
  bool any = false;
  cli_table table;
  for (int i = 0; i < bench->contenders; i++)
    any |= bench->contender[i].rival;
  cli_table_start(&table, headings);
  add_ratios(&table, "best rival", &rivals, cases, any ? none : "there is no rival here");
  add_ratios(&table, "fastest kernel", &choice, cases, none);
  for (int i = 1; i < bench->contenders; i++) {
    const cli_ratios one = ratios_of(cases, count, time_of, i);
    add_ratios(&table, bench->contender[i].name, &one, cases, none);
  }
  fprintf(stream, "\n");
  cli_table_print(&table, stream);
}

/* ---- JSON */

static cli_json time_json(const cli_contender *who, const cli_time *time) {
  cli_json json = cli_json_start();
  cli_json_text(&json, "name", who->name);
  cli_json_bool(&json, "rival", who->rival);
  cli_json_bool(&json, "wrong", time->wrong);
  if (time->ms.count == 0 || time->wrong)
    return json;
  cli_json_bool(&json, "of_auto", time->shared);
  cli_turns_json(&json, &time->ms);
  cli_json_real(&json, "copied", time->copied);
  return json;
}

static cli_json case_json(const cli_bench *bench, const cli_case *one) {
  cli_json json = cli_json_start(), list[CLI_CONTENDERS];
  int count = 0;
  cli_json_text(&json, "matrix", one->matrix);
  cli_json_int(&json, "rows", one->rows);
  cli_json_int(&json, "cols", one->cols);
  cli_json_int(&json, "nnz", one->nnz);
  cli_json_int(&json, "k", one->k);
  cli_kernels_json(&json, &one->kernels);
  for (int i = 0; i < bench->contenders; i++)
    if (one->time[i].wrong || one->time[i].ms.count > 0)
      list[count++] = time_json(&bench->contender[i], &one->time[i]);
  cli_json_list(&json, "times", list, count);
  cli_json_text(&json, "best_rival", one->rival >= 0 ? bench->contender[one->rival].name : NULL);
  cli_json_text(&json, "fastest_kernel", one->fastest >= 0 ? bench->contender[one->fastest].name : NULL);
  cli_json_real(&json, "ratio", one->ratio > 0 ? one->ratio : NAN);
  return json;
}

static cli_json ratios_json(const cli_ratios *r, const cli_case *cases) {
  cli_json json = cli_json_start();
  cli_json_int(&json, "cases", r->count);
  cli_json_real(&json, "geomean", cli_ratios_mean(r));
  cli_json_real(&json, "worst", r->count > 0 ? r->worst : NAN);
  cli_json_text(&json, "worst_matrix", r->count > 0 ? cases[r->at].matrix : NULL);
  cli_json_int(&json, "worst_k", r->count > 0 ? cases[r->at].k : 0);
  return json;
}

static void add_contenders(cli_json *json, const cli_bench *bench, const cli_case *cases, int count) {
  cli_json list[CLI_CONTENDERS];
  for (int i = 1; i < bench->contenders; i++) {
    const cli_ratios r = ratios_of(cases, count, time_of, i);
    list[i - 1] = ratios_json(&r, cases);
    cli_json_text(&list[i - 1], "name", bench->contender[i].name);
    cli_json_bool(&list[i - 1], "rival", bench->contender[i].rival);
  }
  cli_json_list(json, "contenders", list, bench->contenders - 1);
}

static void add_cases(cli_json *json, const cli_bench *bench, const cli_case *cases, int count) {
  cli_json *list = calloc((size_t)count + 1, sizeof *list);
  if (!list) {
    json->whole = false;
    return;
  }
  for (int i = 0; i < count; i++)
    list[i] = case_json(bench, &cases[i]);
  cli_json_list(json, "cases", list, count);
  free(list);
}

json_t *cli_bench_json(const cli_bench *bench, const cli_case *cases, int count) {
  cli_json json = cli_json_start();
  const cli_ratios rivals = ratios_of(cases, count, ratio_of, 0),
                   choice = ratios_of(cases, count, choice_of, 0);
  cli_json_text(&json, "sley", sley_version());
  cli_json_text(&json, "device", bench->device);
  cli_json_int(&json, "threads", bench->threads);
  cli_json_text(&json, "dtype", sley_dtypes()[bench->dtype]);
  cli_json_int(&json, "seed", (int64_t)bench->seed);
  cli_json_int(&json, "turns", bench->repeat);
  add_cases(&json, bench, cases, count);
  cli_json_object(&json, "rivals", ratios_json(&rivals, cases));
  cli_json_object(&json, "choice", ratios_json(&choice, cases));
  add_contenders(&json, bench, cases, count);
  return cli_json_end(json);
}

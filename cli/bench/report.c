/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "matrix/job.h"
#include "output/terminal.h"

enum { NAME_WIDTH = 32 };

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

/* A name that is too long keeps its end, which differs more between files than the beginning. */
static const char *short_name(const char *name, char text[NAME_WIDTH + 1]) {
  size_t length = strlen(name);
  if (length <= NAME_WIDTH)
    return name;
  snprintf(text, NAME_WIDTH + 1, "...%s", name + length - (NAME_WIDTH - 3));
  return text;
}

void cli_bench_print_start(const cli_bench *bench, FILE *stream) {
  fprintf(stream, "device     %s, ", bench->device);
  if (bench->threads > 0)
    fprintf(stream, "%d thread%s", bench->threads, bench->threads == 1 ? "" : "s");
  else
    fprintf(stream, "all cores");
  fprintf(stream, "; %s; seed %" PRIu64 "; %" PRId64 " turns each\n", sley_dtypes()[bench->dtype], bench->seed,
          bench->repeat);
  fprintf(stream, "times      median ms of a product, and p90 - p10\n\n");
  fprintf(stream, "%-*s %9s %10s %5s", NAME_WIDTH, "matrix", "rows", "entries", "k");
  for (int i = 0; i < bench->contenders; i++)
    fprintf(stream, " %12s %8s", bench->contender[i].name, "spread");
  fprintf(stream, "  %-14s %-12s %s\n", "auto takes", "best rival", "rival/auto");
  fflush(stream);
}

void cli_bench_print_case(const cli_bench *bench, const cli_case *one, FILE *stream) {
  char text[NAME_WIDTH + 1];
  fprintf(stream, "%-*s %9" PRId64 " %10" PRId64 " %5" PRId64, NAME_WIDTH,
          short_name(cli_shown(one->matrix), text), one->rows, one->nnz, one->k);
  for (int i = 0; i < bench->contenders; i++) {
    const cli_time *time = &one->time[i];
    if (time->wrong)
      fprintf(stream, " %12s %8s", "WRONG", "-");
    else if (time->ms.count == 0)
      fprintf(stream, " %12s %8s", "-", "-");
    else
      fprintf(stream, " %12.4f %8.4f", time->ms.median, time->ms.p90 - time->ms.p10);
  }
  fprintf(stream, "  %-14s %-12s ",
          one->kernels.count == 1  ? one->kernels.name[0]
          : one->kernels.count > 1 ? "several"
                                   : "-",
          one->rival >= 0 ? bench->contender[one->rival].name : "-");
  if (one->ratio > 0)
    fprintf(stream, "%.3f\n", one->ratio);
  else
    fprintf(stream, "-\n");
  fflush(stream);
}

static void print_ratios(const cli_ratios *r, const cli_case *cases, FILE *stream) {
  fprintf(stream, "%d case%s, geometric mean %.3f, worst %.3f (%s, k = %" PRId64 ")\n", r->count,
          r->count == 1 ? "" : "s", cli_ratios_mean(r), r->worst, cli_shown(cases[r->at].matrix),
          cases[r->at].k);
}

/* Prints a line for each contender except auto. */
static void print_contenders(const cli_bench *bench, const cli_case *cases, int count, FILE *stream) {
  for (int i = 1; i < bench->contenders; i++) {
    const cli_ratios r = ratios_of(cases, count, time_of, i);
    fprintf(stream, "%s / auto: ", bench->contender[i].name);
    if (r.count > 0)
      print_ratios(&r, cases, stream);
    else
      fprintf(stream, "no case has both\n");
  }
}

void cli_bench_print_end(const cli_bench *bench, const cli_case *cases, int count, FILE *stream) {
  const cli_ratios rivals = ratios_of(cases, count, ratio_of, 0),
                   choice = ratios_of(cases, count, choice_of, 0);
  bool any = false;
  for (int i = 0; i < bench->contenders; i++)
    any |= bench->contender[i].rival;
  if (rivals.count > 0) {
    fprintf(stream, "\nbest rival / auto: ");
    print_ratios(&rivals, cases, stream);
  } else {
    fprintf(stream, "\nbest rival / auto: %s\n", any ? "no case has both" : "there is no rival here");
  }
  if (choice.count > 0) {
    fprintf(stream, "fastest kernel / auto: ");
    print_ratios(&choice, cases, stream);
  }
  print_contenders(bench, cases, count, stream);
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "matrix/job.h"
#include "output/terminal.h"

enum { NAME_WIDTH = 32 };

/* Bands of widths. Rows of X in one band take about the same share of a vector register or a cache line. */
static const int64_t band_end[] = {1, 4, 16, 64, 256, INT64_MAX};
enum { BANDS = sizeof band_end / sizeof *band_end };

/* Sum of the logarithms of ratios, and the smallest ratio with its case. */
typedef struct mean {
  int count;
  double log_sum, worst;
  const cli_case *at;
} mean;

static double ratio_of(const cli_case *one, int who) {
  (void)who;
  return one->ratio;
}

/* Time of contender `who` / time of auto. 0: one of them has no time. */
static double time_of(const cli_case *one, int who) {
  const cli_time *own = &one->time[0], *other = &one->time[who];
  if (own->repeats == 0 || own->wrong || other->repeats == 0 || other->wrong)
    return 0;
  return other->median_ms / own->median_ms;
}

/* Time of the fastest of Sley's kernels / time of auto, at most 1. 0: not known. */
static double choice_of(const cli_case *one, int who) {
  (void)who;
  return one->fastest < 0 ? 0 : fmin(time_of(one, one->fastest), 1);
}

/* A ratio of a case; `who`: the contender, which some ratios do not use. */
typedef double ratio_function(const cli_case *one, int who);

/* Mean over the cases with above < k <= most. */
static mean mean_of(const cli_case *cases, int count, ratio_function *ratio, int who, int64_t above,
                    int64_t most) {
  mean m = {0};
  for (int i = 0; i < count; i++) {
    double one = ratio(&cases[i], who);
    if (!(one > 0) || cases[i].k <= above || cases[i].k > most)
      continue;
    m.log_sum += log(one);
    if (m.count++ == 0 || one < m.worst) {
      m.worst = one;
      m.at = &cases[i];
    }
  }
  return m;
}

static double geometric(const mean *m) {
  return exp(m->log_sum / m->count);
}

static bool compares_mkl(const cli_bench *bench) {
  for (int i = 0; i < bench->contenders; i++)
    if (bench->contender[i].mkl)
      return true;
  return false;
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

void cli_bench_print_start(const cli_bench *bench, const cli_bench_words *words, FILE *stream) {
  fprintf(stream, "device     %s, ", bench->device);
  if (bench->threads > 0)
    fprintf(stream, "%d thread%s", bench->threads, bench->threads == 1 ? "" : "s");
  else
    fprintf(stream, "all cores");
  fprintf(stream, "; %s; seed %" PRIu64 "; %" PRId64 " turns each", sley_dtypes()[bench->dtype], bench->seed,
          bench->repeat);
  if (words->data)
    fprintf(stream, "\ndrawn      %" PRId64 " matrices of %s with more than %" PRId64 " entries",
            words->matrices, cli_shown(words->data), words->least);
  fprintf(stream, "\nwidths     %" PRId64 " of each matrix, from 1 to %" PRId64 "\n", words->widths,
          words->widest);
  if (compares_mkl(bench))
    fprintf(stream, "MKL        %s\n", cli_shown(words->mkl));
  else
    fprintf(stream, "MKL        not compared: %s\n",
            words->mkl ? "it serves f32 and f64 on the CPU" : cli_shown(words->no_mkl));
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
    else if (time->repeats == 0)
      fprintf(stream, " %12s %8s", "-", "-");
    else
      fprintf(stream, " %12.4f %8.4f", time->median_ms, time->p90_ms - time->p10_ms);
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

static void print_mean(const mean *m, FILE *stream) {
  fprintf(stream, "%d case%s, geometric mean %.3f, worst %.3f (%s, k = %" PRId64 ")\n", m->count,
          m->count == 1 ? "" : "s", geometric(m), m->worst, cli_shown(m->at->matrix), m->at->k);
}

static void print_bands(const cli_case *cases, int count, FILE *stream) {
  for (int b = 0; b < BANDS; b++) {
    int64_t above = b > 0 ? band_end[b - 1] : 0;
    mean m = mean_of(cases, count, ratio_of, 0, above, band_end[b]);
    if (m.count == 0)
      continue;
    if (above + 1 == band_end[b])
      fprintf(stream, "  k = %-11" PRId64, band_end[b]);
    else if (b + 1 < BANDS)
      fprintf(stream, "  k = %-4" PRId64 "to %-4" PRId64, above + 1, band_end[b]);
    else
      fprintf(stream, "  k = %-11s", "257 and up");
    print_mean(&m, stream);
  }
}

/* A line for each contender but auto. */
static void print_contenders(const cli_bench *bench, const cli_case *cases, int count, FILE *stream) {
  for (int i = 1; i < bench->contenders; i++) {
    mean m = mean_of(cases, count, time_of, i, 0, INT64_MAX);
    fprintf(stream, "%s / auto: ", bench->contender[i].name);
    if (m.count > 0)
      print_mean(&m, stream);
    else
      fprintf(stream, "no case has both\n");
  }
}

void cli_bench_print_end(const cli_bench *bench, const cli_case *cases, int count, FILE *stream) {
  mean rivals = mean_of(cases, count, ratio_of, 0, 0, INT64_MAX),
       choice = mean_of(cases, count, choice_of, 0, 0, INT64_MAX);
  bool any = false;
  for (int i = 0; i < bench->contenders; i++)
    any |= bench->contender[i].rival;
  if (rivals.count > 0) {
    fprintf(stream, "\nbest rival / auto: ");
    print_mean(&rivals, stream);
    print_bands(cases, count, stream);
  } else {
    fprintf(stream, "\nbest rival / auto: %s\n", any ? "no case has both" : "there is no rival here");
  }
  if (choice.count > 0) {
    fprintf(stream, "fastest kernel / auto: ");
    print_mean(&choice, stream);
  }
  print_contenders(bench, cases, count, stream);
}

/* ---- JSON */

static cli_json time_json(const cli_contender *who, const cli_time *time) {
  cli_json json = cli_json_start();
  cli_json_text(&json, "name", who->name);
  cli_json_bool(&json, "rival", who->rival);
  cli_json_bool(&json, "wrong", time->wrong);
  if (time->repeats == 0 || time->wrong)
    return json;
  cli_json_bool(&json, "of_auto", time->shared);
  cli_json_int(&json, "turns", time->repeats);
  cli_json_real(&json, "median_ms", time->median_ms);
  cli_json_real(&json, "p10_ms", time->p10_ms);
  cli_json_real(&json, "p90_ms", time->p90_ms);
  cli_json_real(&json, "spread_ms", time->p90_ms - time->p10_ms);
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
    if (one->time[i].wrong || one->time[i].repeats > 0)
      list[count++] = time_json(&bench->contender[i], &one->time[i]);
  cli_json_list(&json, "times", list, count);
  cli_json_text(&json, "best_rival", one->rival >= 0 ? bench->contender[one->rival].name : NULL);
  cli_json_text(&json, "fastest_kernel", one->fastest >= 0 ? bench->contender[one->fastest].name : NULL);
  cli_json_real(&json, "ratio", one->ratio > 0 ? one->ratio : NAN);
  return json;
}

static cli_json mean_json(const mean *m) {
  cli_json json = cli_json_start();
  cli_json_int(&json, "cases", m->count);
  cli_json_real(&json, "geomean", m->count > 0 ? geometric(m) : NAN);
  cli_json_real(&json, "worst", m->count > 0 ? m->worst : NAN);
  cli_json_text(&json, "worst_matrix", m->count > 0 ? m->at->matrix : NULL);
  cli_json_int(&json, "worst_k", m->count > 0 ? m->at->k : 0);
  return json;
}

static void add_bands(cli_json *json, const cli_case *cases, int count) {
  cli_json list[BANDS];
  int kept = 0;
  for (int b = 0; b < BANDS; b++) {
    int64_t above = b > 0 ? band_end[b - 1] : 0;
    mean m = mean_of(cases, count, ratio_of, 0, above, band_end[b]);
    if (m.count == 0)
      continue;
    list[kept] = mean_json(&m);
    cli_json_int(&list[kept], "from", above + 1);
    if (b + 1 < BANDS)
      cli_json_int(&list[kept], "to", band_end[b]);
    kept++;
  }
  cli_json_list(json, "bands", list, kept);
}

static void add_contenders(cli_json *json, const cli_bench *bench, const cli_case *cases, int count) {
  cli_json list[CLI_CONTENDERS];
  for (int i = 1; i < bench->contenders; i++) {
    mean m = mean_of(cases, count, time_of, i, 0, INT64_MAX);
    list[i - 1] = mean_json(&m);
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

json_t *cli_bench_json(const cli_bench *bench, const cli_bench_words *words, const cli_case *cases,
                       int count) {
  cli_json json = cli_json_start();
  mean rivals = mean_of(cases, count, ratio_of, 0, 0, INT64_MAX),
       choice = mean_of(cases, count, choice_of, 0, 0, INT64_MAX);
  cli_json_text(&json, "sley", sley_version());
  cli_json_text(&json, "device", bench->device);
  cli_json_int(&json, "threads", bench->threads);
  cli_json_text(&json, "dtype", sley_dtypes()[bench->dtype]);
  cli_json_int(&json, "seed", (int64_t)bench->seed);
  cli_json_int(&json, "turns", bench->repeat);
  cli_json_text(&json, "data", words->data);
  cli_json_int(&json, "matrices", words->matrices);
  cli_json_int(&json, "least", words->least);
  cli_json_int(&json, "widths", words->widths);
  cli_json_int(&json, "widest", words->widest);
  cli_json_text(&json, "mkl", compares_mkl(bench) ? words->mkl : NULL);
  add_cases(&json, bench, cases, count);
  cli_json_object(&json, "rivals", mean_json(&rivals));
  add_bands(&json, cases, count);
  cli_json_object(&json, "choice", mean_json(&choice));
  add_contenders(&json, bench, cases, count);
  return cli_json_end(json);
}

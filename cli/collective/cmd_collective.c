/* SPDX-License-Identifier: Apache-2.0 */
/* `sley collective`: times collectives over arrays of many zeros, compressed and dense.
 *
 * run.c measures on ranks, data.c draws and compares arrays, least.c computes the least times, report.c
 * prints, plot.c draws. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective/report.h"
#include "command.h"
#include "common.h"
#include "matrix/job.h"
#include "output/changes.h"
#include "output/output.h"
#include "output/plot.h"
#include "output/terminal.h"
#include "output/text.h"
#include "ranks/processes.h"
#include "ranks/start.h"

enum { RANKS = 4, GRAIN = 16 };

typedef struct collective_settings {
  cli_common common;
  const char *op, *format, *way, *dense_above;
  int64_t bytes, block, iters;
  double zeros;
  bool any_order, check, sweep;
} collective_settings;

static const char *about_kind(const char *word) {
  sley_collective_kind_info info;
  const int kind = cli_number_of(word, sley_collective_kinds());
  return sley_collective_kind_get((sley_collective_kind)kind, &info) == SLEY_OK ? info.summary : NULL;
}

static const char *about_way(const char *word) {
  sley_collective_way_info info;
  const int way = cli_number_of(word, sley_collective_ways());
  return sley_collective_way_get((sley_collective_way)way, &info) == SLEY_OK ? info.summary : NULL;
}

/* Names indexed by sley_compress. */
static const char *const format_names[] = {"none", "auto", "pici", "coo", NULL};
static const char *const *formats(void) {
  return format_names;
}

#define AT(field) offsetof(collective_settings, field)
static const cli_option own_options[] = {
    {.name = "bytes",
     .kind = CLI_SIZE,
     .value = "SIZE",
     .offset = AT(bytes),
     .help = "size of the larger of a rank's two arrays, such as 512M (default 64M)"},
    {.name = "zeros",
     .kind = CLI_REAL,
     .value = "Z",
     .positive = true,
     .offset = AT(zeros),
     .help = "share of values that are zero, from 0 to 1"},
    {.name = "blocks",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(block),
     .least = 1,
     .most = INT64_MAX,
     .help = "zeros are in blocks of N values"},
    {.name = "dtype",
     .kind = CLI_CHOICE,
     .value = "TYPE",
     .offset = AT(common.dtype),
     .choices = sley_types,
     .help = "type of all values; i8 and u8 are not reduced"},
    {.name = "op",
     .kind = CLI_CHOICE,
     .value = "OP",
     .offset = AT(op),
     .choices = sley_reduces,
     .help = "how values are reduced; an all-gather ignores it"},
    {.name = "format",
     .kind = CLI_CHOICE,
     .value = "NAME",
     .offset = AT(format),
     .choices = formats,
     .help =
         "the format in which arrays travel; none: not compressed, so two equal collectives are compared"},
    {.name = "way",
     .kind = CLI_CHOICE,
     .value = "NAME",
     .offset = AT(way),
     .choices = sley_collective_ways,
     .about = about_way,
     .help = "the ranks to which compressed arrays are sent"},
    {.name = "dense-above",
     .kind = CLI_TEXT,
     .value = "INTER,INTRA,ALLGATHER",
     .offset = AT(dense_above),
     .help =
         "densities above which arrays travel dense: to be reduced, between and inside workgroups; gathered; "
         "an empty one: chosen by predicted time"},
    {.name = "any-order",
     .kind = CLI_FLAG,
     .offset = AT(any_order),
     .help = "allow sums in another order than the order of the ranks: NCCL or MPI may reduce dense arrays"},
    {.name = "iters",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(iters),
     .least = 1,
     .most = CLI_MOST_RUNS,
     .help = "runs of a measurement, which are started one after the other; the time of one run is their "
             "time divided by N"},
    {.name = "check",
     .kind = CLI_SWITCH,
     .offset = AT(check),
     .help = "compare every value with the dense collective's (the default)"},
    {.name = "sweep",
     .kind = CLI_FLAG,
     .offset = AT(sweep),
     .help = "measure shares of zeros from 0 to 0.999 and sizes from 1M to --bytes, one line for each pair"},
    {0}};
static const cli_option *const options[] = {own_options, NULL};
static const collective_settings defaults = {
    .common = {.ranks = RANKS, .dtype = "f32", .device = "auto", .repeat = 11, .warmup = 2, .seed = 1},
    .op = "sum",
    .format = "auto",
    .way = "auto",
    .bytes = INT64_C(64) << 20,
    .block = 1,
    .iters = 1,
    .zeros = 0.99,
    .check = true};

/* ---- cases */

static const double sweep_zeros[] = {0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999};
enum { SWEEP_ZEROS = sizeof sweep_zeros / sizeof *sweep_zeros, SWEEP_FACTOR = 4 };

/* Returns the case for `bytes`. Its size is rounded down so that a rank's part is a multiple of 16 bytes, as
 * in nccl-tests. */
static cli_collective_case case_of(const cli_collective_bench *b, int64_t bytes, double zeros) {
  const int64_t each = (int64_t)sley_type_bytes(b->options.type);
  const int64_t ranks = b->kind.whole ? 1 : b->ranks.ranks;
  const int64_t part = ranks == 1 ? bytes / each * each : bytes / ranks / GRAIN * GRAIN;
  return (cli_collective_case){.size = part * ranks, .count = part / each, .zeros = zeros, .wrong = -1};
}

static void add_size(cli_collective_bench *b, const collective_settings *s, int64_t bytes) {
  for (int z = 0; z < (s->sweep ? SWEEP_ZEROS : 1); z++)
    b->result->at[b->cases++] = case_of(b, bytes, s->sweep ? sweep_zeros[z] : s->zeros);
}

/* Lists the cases. Sizes grow by a factor; the last size is --bytes. */
static void list_cases(cli_collective_bench *b, const collective_settings *s) {
  for (int64_t bytes = INT64_C(1) << 20; s->sweep && bytes < s->bytes; bytes *= SWEEP_FACTOR) {
    add_size(b, s, bytes);
    if (bytes > s->bytes / SWEEP_FACTOR)
      break;
  }
  add_size(b, s, s->bytes);
}

/* ---- the run */

/* Refuses wrong arguments before any work. *kind: the collective. Returns the exit code. */
static int check_words(const collective_settings *s, const char *word, int *kind,
                       sley_collective_kind_info *info) {
  char suggestion[256];
  int code;
  *kind = cli_number_of(word, sley_collective_kinds());
  if (sley_collective_kind_get((sley_collective_kind)*kind, info) != SLEY_OK) {
    cli_suggest(suggestion, sizeof suggestion, word, sley_collective_kinds());
    return cli_refuse(SLEY_ERR_ARG, "collective: there is no \"%s\"%s", word, suggestion);
  }
  if (info->reduces && cli_number_of(s->common.dtype, sley_types()) > SLEY_TYPE_I64)
    return cli_refuse(SLEY_ERR_ARG,
                      "collective: --dtype %s is not for %s: values of one byte are not reduced",
                      s->common.dtype, word);
  if (s->zeros > 1)
    return cli_refuse(SLEY_ERR_ARG, "collective: --zeros is %g: it is a share, from 0 to 1", s->zeros);
  if (s->common.plot && !s->sweep)
    return cli_refuse(SLEY_ERR_ARG, "collective: --plot draws a sweep: give --sweep");
  if (!cli_plot_possible("collective", s->common.plot, &code))
    return code;
  return cli_output_possible(s->common.json) ? CLI_DONE : CLI_FAILED;
}

/* Returns the exit code: a failure if any value is wrong. */
static int judge(const cli_collective_bench *b) {
  for (int i = 0; i < b->cases; i++)
    if (b->result->at[i].wrong > 0)
      return cli_refuse(SLEY_ERR_INTERNAL,
                        "collective: %" PRId64 " values of %" PRId64 " bytes with zeros %g are wrong",
                        b->result->at[i].wrong, b->result->at[i].size, b->result->at[i].zeros);
  return CLI_DONE;
}

static int report(const cli_collective_bench *b, const collective_settings *s) {
  cli_text text;
  if (b->result->note[0])
    cli_changed("%s; ranks ran on %s, transport %s", b->result->note, b->result->found, b->result->transport);
  cli_text_start(&text, s->common.json);
  cli_collective_print(b, text.stream);
  cli_text_end(&text);
  int code = judge(b);
  if (s->common.plot && code == CLI_DONE && !cli_collective_plot(s->common.plot, b, SWEEP_ZEROS))
    code = CLI_FAILED;
  if (s->common.json && !cli_output_json(s->common.json, cli_collective_json(b)))
    code = code == CLI_DONE ? CLI_FAILED : code;
  return code;
}

static int measure(cli_collective_bench *b, const collective_settings *s) {
  b->result = cli_share(sizeof *b->result);
  if (!b->result)
    return cli_refuse(SLEY_ERR_MEMORY, "collective: out of memory for the results");
  list_cases(b, s);
  int code = CLI_DONE;
  if (b->result->at[0].count == 0)
    code = cli_refuse(SLEY_ERR_ARG,
                      "collective: --bytes %" PRId64 " are no value for each of %d ranks: give more",
                      s->bytes, b->ranks.ranks);
  sley_status status = code == CLI_DONE ? cli_collective_run(b) : SLEY_OK;
  cli_progress_clear();
  if (status != SLEY_OK)
    code = b->result->told ? cli_quiet_code(status) : cli_start_failed(&b->ranks, status, "");
  else if (code == CLI_DONE && b->tells)
    code = report(b, s);
  cli_unshare(b->result, sizeof *b->result);
  return code;
}

/* Reads one density, up to a comma or the end of text. Returns the rest of text; NULL: it is none. */
static const char *read_density(const char *text, double *out) {
  char *end = (char *)text;
  if (*text != ',' && *text != '\0') {
    *out = strtod(text, &end);
    if (end == text || !(*out >= 0 && *out <= 1))
      return NULL;
  }
  return *end == ',' || *end == '\0' ? end : NULL;
}

/* Reads --dense-above into the options. Returns the exit code. */
static int take_dense_above(const char *text, sley_collective_options *o) {
  double *const to[] = {&o->dense_above_inter, &o->dense_above_intra, &o->dense_above_allgather};
  const char *at = text;
  for (int i = 0; i < 3 && at; i++) {
    at = read_density(at, to[i]);
    if (at && i < 2)
      at = *at == ',' ? at + 1 : NULL;
  }
  if (!at || *at != '\0')
    return cli_refuse(
        SLEY_ERR_ARG,
        "collective: --dense-above is \"%s\": it is three densities from 0 to 1, such as 0.5,0.4,0.9", text);
  return CLI_DONE;
}

static int run(void *settings, char **positionals) {
  const collective_settings *s = settings;
  int kind;
  sley_collective_kind_info info;
  int code = check_words(s, positionals[0], &kind, &info);
  if (code != CLI_DONE)
    return code;
  cli_collective_bench b = {.options = SLEY_COLLECTIVE_OPTIONS_INIT,
                            .kind = info,
                            .block = s->block,
                            .seed = s->common.seed,
                            .repeat = s->common.repeat,
                            .warmup = s->common.warmup,
                            .iters = s->iters,
                            .check = s->check};
  b.options.kind = (sley_collective_kind)kind;
  b.options.op = (sley_reduce)cli_number_of(s->op, sley_reduces());
  b.options.type = (sley_type)cli_number_of(s->common.dtype, sley_types());
  b.options.any_order = s->any_order;
  b.options.compress = (sley_compress)cli_number_of(s->format, format_names);
  b.options.way = (sley_collective_way)cli_number_of(s->way, sley_collective_ways());
  (void)sley_collective_way_get(b.options.way, &b.way);
  if (b.way.only_allreduce && b.options.kind != SLEY_ALLREDUCE && b.options.compress != SLEY_COMPRESS_NONE)
    return cli_refuse(SLEY_ERR_ARG, "collective: --way %s is for allreduce only", s->way);
  if (s->dense_above)
    code = take_dense_above(s->dense_above, &b.options);
  if (code == CLI_DONE)
    code = cli_start(&s->common, &b.ranks);
  if (code != CLI_DONE)
    return code;
  b.tells = cli_start_reports(&b.ranks);
  cli_workgroup_bounded("collective", s->common.workgroup, b.ranks.ranks);
  cli_no_effect("collective", "timeout", !b.ranks.transport, "ranks are threads of one process");
  cli_no_effect("collective", "op", !info.reduces, "the collective reduces nothing");
  cli_no_effect("collective", "dense-above", b.options.compress == SLEY_COMPRESS_NONE,
                "nothing is compressed");
  cli_no_effect("collective", "any-order", !info.reduces, "the collective adds nothing");
  return measure(&b, s);
}

const cli_command cli_collective_command = {
    .name = "collective",
    .summary = "time collectives over arrays of many zeros, compressed and dense, and compare their results",
    .arguments = "KIND",
    .positionals = 1,
    .words = sley_collective_kinds,
    .about = about_kind,
    .options = options,
    .common = CLI_TAKES_RANKS | CLI_TAKES_WORKGROUP | CLI_TAKES_THREADS | CLI_TAKES_TRANSPORT |
              CLI_TAKES_TIMEOUT | CLI_TAKES_DEVICE | CLI_TAKES_SEED | CLI_TAKES_REPEAT | CLI_TAKES_WARMUP |
              CLI_TAKES_PLOT | CLI_TAKES_JSON,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes = "Columns size to #wrong are as in nccl-tests; in and out: values that are not zero; wire: "
             "bytes that "
             "all ranks send. Nothing else should run meanwhile.\n"
             "Example: sley collective allreduce --bytes 16M --zeros 0.99 --blocks 64\n"
             "Exit status: 0 done, 1 a wrong value or a failure, 2 wrong usage, 130 interrupted.\n",
    .run = run};

/* SPDX-License-Identifier: Apache-2.0 */
/* `sley bench ops`: measures the operations of graph networks, forward and backward.
 *
 * ops_calls.c has the table of operations, ops_run.c measures one, ops_check.c checks its results against the
 * sums of ops_truth.c and ops_scores.c, ops_report.c prints. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lists.h"
#include "bench/ops_report.h"
#include "command.h"
#include "common.h"
#include "matrix/input.h"
#include "matrix/job.h"
#include "output/changes.h"
#include "output/output.h"
#include "output/terminal.h"
#include "output/text.h"

typedef struct ops_settings {
  cli_common common;
  const char *matrix, *ops, *k, *heads;
  bool alone;
} ops_settings;

#define AT(field) offsetof(ops_settings, field)
static const cli_option own_options[] = {
    {.name = "matrix",
     .kind = CLI_TEXT,
     .value = "LIST",
     .offset = AT(matrix),
     .help = "files and generators, separated by blanks"},
    {.name = "ops",
     .kind = CLI_TEXT,
     .value = "LIST",
     .offset = AT(ops),
     .help = "only these operations, separated by commas"},
    {.name = "k",
     .kind = CLI_TEXT,
     .value = "LIST",
     .offset = AT(k),
     .help = "values of a row of X, of all heads together, separated by commas"},
    {.name = "heads",
     .kind = CLI_TEXT,
     .value = "LIST",
     .offset = AT(heads),
     .help = "heads of attention and of the softmax, separated by commas"},
    {.name = "alone",
     .kind = CLI_FLAG,
     .offset = AT(alone),
     .help = "no product beside the operations, so that memory is theirs"},
    {0}};
static const cli_option *const options[] = {own_options, NULL};
static const ops_settings defaults = {
    .common = {.dtype = "f32", .device = "auto", .ranks = 1, .seed = 1, .repeat = 11, .reading.base = -1},
    .matrix = CLI_BENCH_MATRICES,
    .k = "32,64,128",
    .heads = "1,8"};

typedef struct running {
  const ops_settings *settings;
  cli_ops_bench bench;
  cli_numbers k, heads;
  unsigned chosen; /* the chosen operations: bits 1 << index in cli_ops */
  cli_text text;
  cli_op_result *results;
  int count;
  int code;        /* CLI_FAILED: a wrong result; CLI_USAGE: an operation could not be measured */
  bool unreadable; /* a matrix could not be read */
} running;

/* Index of the operation with this name of `length` letters; -1 after one line on stderr. */
static int find_op(const char *word, size_t length) {
  enum { MOST = 32 };
  const char *names[MOST] = {0};
  char name[MOST], suggestion[256];
  for (int i = 0; i < cli_ops_count() && i + 1 < MOST; i++) {
    names[i] = cli_ops[i].name;
    if (strlen(names[i]) == length && strncmp(names[i], word, length) == 0)
      return i;
  }
  snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), word);
  cli_suggest(suggestion, sizeof suggestion, name, names);
  cli_error("bench ops: --ops has no \"%s\"%s", name, suggestion);
  return -1;
}

/* Reads a list such as "sddmm,gat"; NULL chooses all. On failure prints one line on stderr and returns false.
 */
static bool read_ops(const char *text, unsigned *chosen) {
  *chosen = text ? 0 : ~0U;
  while (text) {
    const size_t length = strcspn(text, ",");
    const int op = find_op(text, length);
    if (op < 0)
      return false;
    *chosen |= 1U << op;
    text = text[length] ? text + length + 1 : NULL;
  }
  return true;
}

/* ---- cases */

static void keep(running *r, const cli_op_result *result) {
  cli_op_result *more = realloc(r->results, (size_t)(r->count + 1) * sizeof *more);
  if (!more) {
    cli_error("out of memory for the results");
    r->code = CLI_FAILED;
    return;
  }
  r->results = more;
  r->results[r->count++] = *result;
  if (result->wrong) {
    cli_error("%s, k = %" PRId64 ": %s", result->matrix, result->k, result->reason);
    r->code = CLI_FAILED;
  }
  if (result->status == SLEY_ERR_MEMORY || result->status == SLEY_ERR_OVERFLOW)
    r->code = r->code == CLI_FAILED ? CLI_FAILED : CLI_USAGE;
  else if (result->status != SLEY_OK && result->status != SLEY_ERR_UNSUPPORTED)
    r->code = CLI_FAILED;
  cli_text_start(&r->text, r->settings->common.json);
  cli_ops_print_result(result, r->text.stream);
  cli_text_end(&r->text);
  fflush(r->text.to);
}

static sley_status measure(running *r, const cli_op *op, const sley_matrix *matrix, const char *name,
                           int64_t k, int64_t heads) {
  char text[CLI_OPS_NAME + 64];
  cli_op_result result;
  if (k % heads != 0)
    return SLEY_OK; /* reported by tell_widths */
  snprintf(text, sizeof text, "measuring %s of %.*s, k = %" PRId64, op->name, CLI_OPS_NAME - 1, name, k);
  cli_progress(text, 0, 0);
  sley_status status = cli_op_run(&r->bench, op, matrix, name, k, heads, &result);
  cli_progress_clear();
  if (cli_interrupted())
    status = SLEY_ERR_INTERRUPTED;
  if (status == SLEY_OK)
    keep(r, &result);
  return status;
}

/* Measures the chosen operations of width k; k = 0 stands for the softmax, which has no width. */
static sley_status take_ops(running *r, const sley_matrix *matrix, const char *name, int64_t k) {
  static const cli_numbers one = {1, {1}};
  sley_status status =
      k > 0 && !r->settings->alone ? measure(r, &cli_op_product, matrix, name, k, 1) : SLEY_OK;
  for (int i = 0; i < cli_ops_count() && status == SLEY_OK; i++) {
    const cli_op *op = &cli_ops[i];
    const cli_numbers *heads = op->by_heads ? &r->heads : &one;
    if (!(r->chosen & (1U << i)) || (op->form == CLI_OP_SOFTMAX) != (k == 0))
      continue;
    for (int h = 0; h < heads->count && status == SLEY_OK; h++)
      status = measure(r, op, matrix, name, k, heads->at[h]);
  }
  return status;
}

static sley_status take_matrix(void *context, const char *name, const sley_matrix *matrix) {
  running *r = context;
  sley_matrix_info info;
  sley_status status = sley_matrix_info_get(matrix, &info);
  if (status != SLEY_OK)
    return status;
  cli_text_start(&r->text, r->settings->common.json);
  cli_ops_print_matrix(name, &info, r->text.stream);
  cli_text_end(&r->text);
  for (int i = 0; i < r->k.count && status == SLEY_OK; i++)
    status = take_ops(r, matrix, name, r->k.at[i]);
  return status == SLEY_OK ? take_ops(r, matrix, name, 0) : status;
}

/* ---- the run */

/* Reports, once per run, the widths that are left out because the heads do not divide them. */
static void tell_widths(const running *r) {
  bool any = false;
  for (int i = 0; i < cli_ops_count(); i++)
    any |= r->chosen & (1U << i) && cli_ops[i].form == CLI_OP_ATTENTION;
  if (!any)
    return;
  for (int i = 0; i < r->k.count; i++)
    for (int h = 0; h < r->heads.count; h++)
      if (r->k.at[i] % r->heads.at[h] != 0)
        cli_say("attention with k = %" PRId64 " is left out for %" PRId64 " heads, which do not divide it",
                r->k.at[i], r->heads.at[h]);
}

static int report(running *r) {
  cli_text_start(&r->text, r->settings->common.json);
  cli_sources_print(r->text.stream);
  if (r->count > 0)
    cli_ops_print_end(r->results, r->count, r->text.stream);
  cli_text_end(&r->text);
  if (r->settings->common.json &&
      !cli_output_json(r->settings->common.json, cli_ops_json(&r->bench, r->results, r->count)))
    return CLI_FAILED;
  return r->code == CLI_DONE && r->unreadable ? CLI_USAGE : r->code;
}

static int run_list(running *r) {
  tell_widths(r);
  cli_text_start(&r->text, r->settings->common.json);
  cli_ops_print_start(&r->bench, r->text.stream);
  cli_text_end(&r->text);
  sley_status status =
      cli_matrices_each(r->settings->matrix, &r->settings->common, take_matrix, r, &r->unreadable);
  int code = status == SLEY_OK ? report(r) : cli_finish(status);
  free(r->results);
  return code;
}

/* Reports options that were given but have no effect. */
static void say_idle(const running *r) {
  bool by_heads = false;
  for (int i = 0; i < cli_ops_count(); i++)
    by_heads |= cli_ops[i].by_heads && (r->chosen >> i & 1);
  cli_no_effect("bench ops", "heads", !by_heads, "no operation that runs has heads");
}

static int run(void *settings_, char **positionals) {
  (void)positionals;
  const ops_settings *settings = settings_;
  running r = {.settings = settings};
  r.bench = (cli_ops_bench){.device = settings->common.device,
                            .alone = settings->alone,
                            .threads = (int)settings->common.threads,
                            .ranks = (int)settings->common.ranks,
                            .dtype = cli_dtype(settings->common.dtype),
                            .seed = (uint64_t)settings->common.seed,
                            .repeat = settings->common.repeat};
  if (!read_ops(settings->ops, &r.chosen) || !cli_numbers_read("bench ops", "k", settings->k, &r.k) ||
      !cli_numbers_read("bench ops", "heads", settings->heads, &r.heads))
    return CLI_USAGE;
  if (!cli_name_fits_json("bench ops", settings->matrix, settings->common.json))
    return CLI_USAGE;
  if (!cli_output_possible(settings->common.json))
    return CLI_FAILED;
  sley_status status = cli_ops_find_device(&r.bench);
  if (status != SLEY_OK)
    return cli_finish(status);
  say_idle(&r);
  return run_list(&r);
}

const cli_command cli_bench_ops_command = {
    .name = "bench ops",
    .summary = "measure the operations of graph networks, forward and backward, beside the sparse product",
    .arguments = "",
    .positionals = 0,
    .options = options,
    .common = CLI_TAKES_RANKS | CLI_TAKES_THREADS | CLI_TAKES_DEVICE | CLI_TAKES_DTYPE | CLI_TAKES_SEED |
              CLI_TAKES_REPEAT | CLI_TAKES_READING | CLI_TAKES_JSON,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes =
        "Nothing else should run meanwhile. Results are checked in rows and columns that stand for all. "
        "bench/ops.py compares with rivals.\n"
        "Exit status: 0 done, 1 a wrong result or a failure, 2 wrong usage or a matrix that could not be "
        "measured, 130 interrupted.\n",
    .run = run};

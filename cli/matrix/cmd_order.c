/* SPDX-License-Identifier: Apache-2.0 */
/* `sley order`: computes an order of rows and columns, and writes the ordered matrix, the order itself, or
 * both. */
#include <string.h>

#include "command.h"
#include "common.h"
#include <string.h>

#include "matrix/input.h"
#include "matrix/job.h"
#include "matrix/windows.h"
#include "matrix/write.h"
#include "output/changes.h"
#include "output/output.h"
#include "output/terminal.h"

typedef struct order_settings {
  cli_common common;
  const char *output, *perm;
} order_settings;

#define AT(field) offsetof(order_settings, field)
static const cli_option own_options[] = {
    {.name = "order",
     .kind = CLI_CHOICE,
     .value = "NAME",
     .offset = AT(common.order),
     .choices = sley_orders,
     .about = sley_order_summary,
     .help = "order of rows and columns"},
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(output),
     .help = "write the ordered matrix; the ending of the name chooses the format"},
    {.name = "perm",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(perm),
     .help = "write the order as .npy: row i moves to position perm[i]"},
    {0}};
static const cli_option *const options[] = {own_options, NULL};
static const order_settings defaults = {
    .common = {.order = "rabbit", .dtype = "f64", .seed = 1, .reading.base = -1}};

static int write_results(const order_settings *settings, const sley_matrix *matrix, const int64_t *place) {
  sley_matrix_info info;
  sley_status status = sley_matrix_info_get(matrix, &info);
  if (status == SLEY_OK && settings->output)
    status = cli_write_matrix(matrix, settings->output);
  if (status == SLEY_OK && settings->perm && !cli_output_npy_int64(settings->perm, place, info.rows))
    return CLI_FAILED;
  return cli_finish(status);
}

/* Prints how the order changed the windows. */
static sley_status say_windows(const order_settings *settings, const sley_matrix *matrix,
                               const int64_t *place) {
  cli_windows windows;
  sley_status status = cli_windows_count(matrix, place, settings->common.threads, &windows);
  if (status == SLEY_OK)
    cli_say("intensity of windows of %d rows: %.2f, before %.2f nonzeros per distinct column",
            SLEY_WINDOW_ROWS, cli_intensity(&windows.now), cli_intensity(&windows.before));
  return status;
}

static int run(void *settings_, char **positionals) {
  const order_settings *settings = settings_;
  if (!settings->output && !settings->perm)
    return cli_refuse(SLEY_ERR_ARG, "order: --output FILE or --perm FILE is missing");
  static const char *const endings[] = {".npy", NULL};
  if (!cli_output_matrix_ending(settings->output) ||
      (settings->perm && strcmp(settings->perm, "-") != 0 &&
       !cli_output_ending("order: the permutation", settings->perm, endings)))
    return CLI_USAGE;
  if (!cli_output_possible(settings->output) || !cli_output_possible(settings->perm))
    return CLI_FAILED;
  int taken = cli_take_stdin("order", positionals[0], NULL, settings->common.mem_limit);
  if (taken != CLI_DONE)
    return taken;
  cli_seed_no_effect("order", strcmp(settings->common.order, "random") == 0, positionals[0], NULL, NULL);
  sley_matrix *matrix = NULL;
  int64_t *place = NULL;
  sley_status status =
      cli_load(positionals[0], settings->common.dtype, settings->common.threads, settings->common.seed,
               settings->common.mem_limit, &settings->common.reading, &matrix);
  double start = cli_now_ms();
  if (status == SLEY_OK)
    status = cli_apply_order(&matrix, settings->common.order, settings->common.threads, settings->common.seed,
                             &place);
  if (status == SLEY_OK) {
    cli_sources_print(stderr);
    cli_say("ordered by %s in %.1f ms", settings->common.order, cli_now_ms() - start);
    status = say_windows(settings, matrix, place);
  }
  int code = status == SLEY_OK ? write_results(settings, matrix, place) : cli_finish(status);
  sley_buffer_free(place);
  sley_matrix_destroy(matrix);
  return code;
}

const cli_command cli_order = {.name = "order",
                               .summary = "reorder a square matrix's rows and columns",
                               .arguments = "MATRIX",
                               .positionals = 1,
                               .options = options,
                               .common = CLI_TAKES_THREADS | CLI_TAKES_DTYPE | CLI_TAKES_SEED |
                                         CLI_TAKES_MEM_LIMIT | CLI_TAKES_READING,
                               .defaults = &defaults,
                               .settings_bytes = sizeof defaults,
                               .notes = "",
                               .run = run};

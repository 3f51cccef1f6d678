/* SPDX-License-Identifier: Apache-2.0 */
/* `sley convert`: reads a matrix and writes it in another format. */

#include "command.h"
#include "common.h"
#include "matrix/input.h"
#include "matrix/job.h"
#include "matrix/write.h"
#include "output/output.h"

typedef struct convert_settings {
  cli_common common;
} convert_settings;

#define AT(field) offsetof(convert_settings, field)
static const cli_option own_options[] = {{0}};
static const cli_option *const options[] = {own_options, NULL};
static const convert_settings defaults = {.common = {.dtype = "f64", .seed = 1, .reading.base = -1}};

static int run(void *settings_, char **positionals) {
  const convert_settings *settings = settings_;
  if (!cli_output_matrix_ending(positionals[1]))
    return CLI_USAGE;
  if (!cli_output_possible(positionals[1]))
    return CLI_FAILED;
  int taken = cli_take_stdin("convert", positionals[0], NULL, settings->common.mem_limit);
  if (taken != CLI_DONE)
    return taken;
  sley_matrix *matrix = NULL;
  sley_status status =
      cli_load(positionals[0], settings->common.dtype, settings->common.threads, settings->common.seed,
               settings->common.mem_limit, &settings->common.reading, &matrix);
  if (status == SLEY_OK)
    status = cli_write_matrix(matrix, positionals[1]);
  if (status == SLEY_OK)
    cli_sources_print(stderr);
  sley_matrix_destroy(matrix);
  return cli_finish(status);
}

const cli_command cli_convert = {
    .name = "convert",
    .summary = "read a matrix and write it in the format of the new name's ending",
    .arguments = "IN OUT",
    .positionals = 2,
    .options = options,
    .common = CLI_TAKES_THREADS | CLI_TAKES_DTYPE | CLI_TAKES_MEM_LIMIT | CLI_TAKES_READING,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes = "A name that ends with .gz or .zst after its format's ending is compressed.\n",
    .run = run};

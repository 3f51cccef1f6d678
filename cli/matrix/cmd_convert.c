/* SPDX-License-Identifier: Apache-2.0 */
/* `sley convert`: reads a matrix and writes it in another format. */

#include "command.h"
#include "matrix/input.h"
#include "matrix/job.h"
#include "matrix/write.h"
#include "output/output.h"

typedef struct convert_settings {
  const char *dtype;
  int64_t threads, seed, mem_limit;
  cli_reading reading;
} convert_settings;

#define AT(field) offsetof(convert_settings, field)
static const cli_option own_options[] = {
    {.name = "dtype",
     .kind = CLI_CHOICE,
     .value = "TYPE",
     .offset = AT(dtype),
     .choices = cli_dtypes,
     .help = "type of the values"},
    {.name = "threads",
     .kind = CLI_INT,
     .value = "T",
     .offset = AT(threads),
     .most = 4096,
     .help = "threads to read with; 0: all cores"},
    {.name = "mem-limit",
     .kind = CLI_SIZE,
     .value = "SIZE",
     .offset = AT(mem_limit),
     .help = "bytes that a compressed file may unpack to, or that come from a pipe, such as 512M or 8G"},
    CLI_READING_OPTIONS(convert_settings),
    {0}};
static const cli_option *const options[] = {own_options, NULL};
static const convert_settings defaults = {.dtype = "f64", .seed = 1, .reading = CLI_READING_DEFAULTS};

static int run(void *settings_, char **positionals) {
  const convert_settings *settings = settings_;
  if (!cli_output_matrix_ending(positionals[1]))
    return CLI_USAGE;
  if (!cli_output_possible(positionals[1]))
    return CLI_FAILED;
  int taken = cli_take_stdin("convert", positionals[0], NULL, settings->mem_limit);
  if (taken != CLI_DONE)
    return taken;
  sley_matrix *matrix = NULL;
  sley_status status = cli_load(positionals[0], settings->dtype, settings->threads, settings->seed,
                                settings->mem_limit, &settings->reading, &matrix);
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
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes = "Endings: .mtx, .sley, .npz, .graph, .el, .rb; with .gz or .zst after them compressed.\n",
    .run = run};

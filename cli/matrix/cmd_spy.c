/* SPDX-License-Identifier: Apache-2.0 */
/* `sley spy`: draws a picture of a matrix, darker where nonzeros are denser, with the lines of the partition.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "common.h"
#include "matrix/input.h"
#include "matrix/job.h"
#include "matrix/picture.h"
#include "matrix/spy_axes.h"
#include "output/changes.h"
#include "output/gnuplot.h"
#include "output/output.h"
#include "output/terminal.h"

typedef struct spy_settings {
  cli_common common;
  const char *output;
  int64_t size;
  bool bare;
} spy_settings;

#define AT(field) offsetof(spy_settings, field)
static const cli_option own_options[] = {
    {.name = "output",
     .letter = 'o',
     .required = true,
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(output),
     .help = "the picture to write, as .png or .svg; - for stdout, as PNG"},
    {.name = "ranks",
     .kind = CLI_INT,
     .value = "P",
     .offset = AT(common.ranks),
     .least = 1,
     .most = 4096,
     .help = "draw the lines between the row blocks of P ranks"},
    {.name = "size",
     .kind = CLI_INT,
     .value = "PIXELS",
     .offset = AT(size),
     .least = 16,
     .most = 16384,
     .help = "pixels of the longer side of the matrix; the other side has at least an eighth as many"},
    {.name = "bare",
     .kind = CLI_FLAG,
     .offset = AT(bare),
     .help = "draw only the matrix, as PNG, without axes, title and scale, which need gnuplot"},
    {0}};
static const cli_option *const options[] = {own_options, NULL};
static const spy_settings defaults = {
    .common = {.order = "none", .partition = "rows", .ranks = 1, .seed = 1, .reading.base = -1}, .size = 800};

/* Writes the title: the matrix's name and size, its order, and the ranks. */
static void write_title(const spy_settings *settings, const char *name, const sley_matrix *matrix, char *out,
                        size_t bytes) {
  sley_matrix_info info;
  char order[64] = "", ranks[32] = "";
  if (sley_matrix_info_get(matrix, &info) != SLEY_OK)
    info = (sley_matrix_info){0};
  if (strcmp(settings->common.order, "none") != 0)
    snprintf(order, sizeof order, ", order %s", settings->common.order);
  if (settings->common.ranks > 1)
    snprintf(ranks, sizeof ranks, ", %" PRId64 " ranks", settings->common.ranks);
  snprintf(out, bytes, "%s: %" PRId64 " x %" PRId64 ", %" PRId64 " nonzeros%s%s", cli_base_name(name),
           info.rows, info.cols, info.nnz, order, ranks);
}

/* Writes the picture with axes, or, if gnuplot is missing, without axes and with a message. */
static bool write_picture(const spy_settings *settings, const char *name, const sley_matrix *matrix,
                          const cli_picture *picture) {
  char title[256];
  if (settings->bare)
    return cli_picture_write(picture, settings->output);
  if (!cli_gnuplot_found()) {
    cli_say("spy: gnuplot is not installed (Debian: gnuplot-nox): drawn without axes, title and scale");
    return cli_picture_write(picture, settings->output);
  }
  write_title(settings, name, matrix, title, sizeof title);
  return cli_spy_axes(picture, title, settings->output);
}

static int draw(const spy_settings *settings, const char *name, const sley_matrix *matrix) {
  int64_t *row_begin = NULL, *col_begin = NULL;
  int ranks = (int)settings->common.ranks;
  cli_picture picture = {0};
  sley_status status = cli_partition(matrix, settings->common.partition, ranks, &row_begin, &col_begin);
  if (status == SLEY_OK)
    status = cli_picture_of(matrix, (int)settings->size, &picture);
  int code = CLI_DONE;
  if (status == SLEY_OK) {
    cli_picture_lines(&picture, row_begin, col_begin, ranks);
    code = write_picture(settings, name, matrix, &picture) ? CLI_DONE : CLI_FAILED;
  } else {
    code = cli_finish(status);
  }
  cli_picture_free(&picture);
  sley_buffer_free(row_begin);
  sley_buffer_free(col_begin);
  return code;
}

static int run(void *settings_, char **positionals) {
  static const char *const endings[] = {".svg", ".png", NULL};
  const spy_settings *settings = settings_;
  if (strcmp(settings->output, "-") != 0 &&
      !cli_output_ending("spy: the picture", settings->output, endings + (settings->bare ? 1 : 0)))
    return CLI_USAGE;
  if (!settings->bare && cli_ends_with(settings->output, ".svg") && !cli_gnuplot_found())
    return cli_refuse(SLEY_ERR_ARG, "spy: SVG needs the program gnuplot, which is not installed (Debian: "
                                    "gnuplot-nox); name a .png for a picture without axes");
  if (!cli_output_possible(settings->output))
    return CLI_FAILED;
  int taken = cli_take_stdin("spy", positionals[0], NULL, settings->common.mem_limit);
  if (taken != CLI_DONE)
    return taken;
  cli_seed_no_effect("spy", strcmp(settings->common.order, "random") == 0, positionals[0], NULL, NULL);
  cli_no_effect("spy", "partition", settings->common.ranks == 1, "one rank has all rows");
  sley_matrix *matrix = NULL;
  int64_t *place = NULL;
  sley_status status = cli_load(positionals[0], "f32", settings->common.threads, settings->common.seed,
                                settings->common.mem_limit, &settings->common.reading, &matrix);
  if (status == SLEY_OK && strcmp(settings->common.order, "none") != 0)
    status = cli_apply_order(&matrix, settings->common.order, settings->common.threads, settings->common.seed,
                             &place);
  int code = status == SLEY_OK ? draw(settings, positionals[0], matrix) : cli_finish(status);
  if (code == CLI_DONE)
    cli_sources_print(stderr);
  sley_buffer_free(place);
  sley_matrix_destroy(matrix);
  return code;
}

const cli_command cli_spy = {.name = "spy",
                             .summary = "draw where the nonzeros are",
                             .arguments = "MATRIX",
                             .positionals = 1,
                             .options = options,
                             .common = CLI_TAKES_THREADS | CLI_TAKES_ORDER | CLI_TAKES_PARTITION |
                                       CLI_TAKES_SEED | CLI_TAKES_MEM_LIMIT | CLI_TAKES_READING,
                             .defaults = &defaults,
                             .settings_bytes = sizeof defaults,
                             .notes = "",
                             .run = run};

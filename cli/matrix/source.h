/* SPDX-License-Identifier: Apache-2.0 */
/* How files of matrices are to be read, which every command that reads one can be told, and what they were
 * read as, which every command says. */
#ifndef SLEY_CLI_MATRIX_SOURCE_H
#define SLEY_CLI_MATRIX_SOURCE_H

#include <jansson.h>
#include <stdio.h>

#include "options.h"
#include "sley.h"

/* A member named reading of each such command's settings. */
typedef struct cli_reading {
  const char *format; /* NULL: told by the file */
  int64_t base;       /* -1: told by the file */
} cli_reading;

#define CLI_READING_DEFAULTS                                                                                 \
  { .format = NULL, .base = -1 }

/* The rows of the command's table of options. */
#define CLI_READING_OPTIONS(settings)                                                                        \
  {.name = "format",                                                                                         \
   .kind = CLI_TEXT,                                                                                         \
   .value = "NAME",                                                                                          \
   .offset = offsetof(settings, reading.format),                                                             \
   .choices = sley_formats,                                                                                  \
   .help = "what files of matrices are read as "                                                             \
           "(default: told by the file, and reported)"},                                                     \
  {                                                                                                          \
    .name = "base", .also = "0 1", .kind = CLI_INT, .value = "0|1",                                          \
    .offset = offsetof(settings, reading.base), .most = 1,                                                   \
    .help = "what rows and columns of edge lists, and of triplets without a header, count from "             \
            "(default: told by the file, and reported)"                                                      \
  }

/* Notes what a file was read as; nothing of a matrix that is of no file, or of a name that is noted already.
 */
void cli_source_note(const char *name, const sley_matrix_source *source);

/* A line for each that was noted and not yet printed: its format, and of edge lists and the like what they
 * were counted from, why, and what was not read. */
void cli_sources_print(FILE *stream);

/* All that were noted, as the list "inputs" of a JSON object. False if memory is short. */
bool cli_sources_json(json_t *object);

#endif

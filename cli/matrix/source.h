/* SPDX-License-Identifier: Apache-2.0 */
/* How files of matrices are to be read, which every command that reads one can be told, and what they were
 * read as, which every command says. */
#ifndef SLEY_CLI_MATRIX_SOURCE_H
#define SLEY_CLI_MATRIX_SOURCE_H

#include <jansson.h>
#include <stdio.h>

#include "options.h"
#include "sley.h"

/* What --format and --base say. */
typedef struct cli_reading {
  const char *format; /* NULL: told by the file */
  int64_t base;       /* -1: told by the file; the default of each command that reads a matrix */
} cli_reading;

/* Notes what a file was read as; nothing of a matrix that is of no file, or of a name that is noted already.
 */
void cli_source_note(const char *name, const sley_matrix_source *source);

/* A line for each that was noted and not yet printed: its format, and of edge lists and the like what they
 * were counted from, why, and what was not read. */
void cli_sources_print(FILE *stream);

/* All that were noted, as the list "inputs" of a JSON object. False if memory is short. */
bool cli_sources_json(json_t *object);

#endif

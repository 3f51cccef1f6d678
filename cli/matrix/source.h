/* SPDX-License-Identifier: Apache-2.0 */
/* How the files of matrices are read: the options that all commands share, and the format and base of each
 * file that was read, for reports. */
#ifndef SLEY_CLI_MATRIX_SOURCE_H
#define SLEY_CLI_MATRIX_SOURCE_H

#include <jansson.h>
#include <stdio.h>

#include "options.h"
#include "sley.h"

/* The values of --format and --base, in the settings of each command that reads matrices. */
typedef struct cli_reading {
  const char *format; /* NULL: determined from the file */
  int64_t base;       /* number from which rows and columns count, 0 or 1; -1: determined from the file */
} cli_reading;

/* Records how a file was read. Does nothing for a matrix without a file, and for a name that is recorded
 * already. */
void cli_source_note(const char *name, const sley_matrix_source *source);

/* Prints a line for each recorded file that has not been printed: its format, and, for edge lists and similar
 * formats, the base, the reason for it, and fields that were not read. */
void cli_sources_print(FILE *stream);

/* Adds all recorded files to a JSON object, as the list "inputs". Returns false if memory is short. */
bool cli_sources_json(json_t *object);

#endif

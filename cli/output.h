/* SPDX-License-Identifier: Apache-2.0 */
/* Files the command itself writes (JSON, PNG, permutations): whole or not at all. "-" is stdout. As with cp,
 * a link stays one, a file that is replaced keeps its mode, and a link to nothing is refused. One at a time.
 */
#ifndef SLEY_CLI_OUTPUT_H
#define SLEY_CLI_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_output {
  FILE *stream; /* write here */
  char *target; /* the name once links are followed */
  char *aside;  /* the name until it is done; NULL for stdout, a device or a pipe */
  const char *path;
} cli_output;

/* True if a file could be made at path; else one line on stderr. Asked before long work. NULL and "-": true.
 */
bool cli_output_possible(const char *path);

/* Whether a path has the ending, in capitals or not. */
bool cli_ends_with(const char *path, const char *ending);

/* False after one line on stderr. path must outlive the output. */
bool cli_output_open(cli_output *output, const char *path);

/* Checks every write and gives the file its name. False, with nothing left behind, after one line on stderr.
 */
bool cli_output_commit(cli_output *output);
void cli_output_discard(cli_output *output);

/* Removes the file that is being written, for a process that ends in a signal's handler: async-signal-safe.
 */
void cli_output_abandon(void);

/* Writes a JSON object, with what files were read as (source.h), and releases it (NULL counts as out of
 * memory). False after one line on stderr. */
bool cli_output_json(const char *path, json_t *value);

/* Writes count whole numbers as a one-dimensional .npy. False after one line on stderr. */
bool cli_output_npy_int64(const char *path, const int64_t *values, int64_t count);

#endif

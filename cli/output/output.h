/* SPDX-License-Identifier: Apache-2.0 */
/* Files the command itself writes (JSON, PNG, permutations): whole or not at all. "-" is stdout. As with cp,
 * a link stays one, a file that is replaced keeps its mode, and a link to nothing is refused. One at a time.
 */
#ifndef SLEY_CLI_OUTPUT_OUTPUT_H
#define SLEY_CLI_OUTPUT_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_output {
  FILE *stream; /* cli_output_put writes here */
  char *target; /* the name once links are followed */
  char *aside;  /* the name until it is done; NULL for stdout, a device or a pipe */
  const char *path;
  int reason; /* errno of the first write that failed; else 0 */
} cli_output;

/* True if a file could be made at path; else one line on stderr. Asked before long work. NULL and "-": true.
 */
bool cli_output_possible(const char *path);

/* Whether a path has the ending, in capitals or not. */
bool cli_ends_with(const char *path, const char *ending);

/* True if the path has one of the endings (a list ended by NULL), or is NULL, a device or a pipe, which may
 * have any name; else one line on stderr. what: of which the endings are formats, e.g. "spy: the picture". */
bool cli_output_ending(const char *what, const char *path, const char *const *endings);

/* The same of the formats that matrices are written in. */
bool cli_output_matrix_ending(const char *path);

/* False after one line on stderr. path must outlive the output. */
bool cli_output_open(cli_output *output, const char *path);

/* Writes bytes and keeps the reason of the first failure, which stdio forgets. Whether it has written them;
 * the line on stderr is cli_output_commit's. */
bool cli_output_put(cli_output *output, const void *bytes, size_t count);

/* Why cli_output_put could not write to stdout; 0: it could. */
int cli_output_stdout_reason(void);

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

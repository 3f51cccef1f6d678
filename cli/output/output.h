/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the command itself writes (JSON, PNG, permutations). A file is written completely or not at all.
 * "-" is stdout. As with cp, a link stays a link, a replaced file keeps its mode, and a link to nothing is
 * refused. Only one file can be open at a time. */
#ifndef SLEY_CLI_OUTPUT_OUTPUT_H
#define SLEY_CLI_OUTPUT_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_output {
  FILE *stream; /* cli_output_put writes here */
  char *target; /* final name, after links are followed */
  char *aside;  /* temporary name; NULL for stdout, a device or a pipe */
  const char *path;
  int reason; /* errno of the first failed write; 0: none */
} cli_output;

/* Returns true if a file can be created at path, else false after one line on stderr. Call it before long
 * work. NULL and "-": true. */
bool cli_output_possible(const char *path);

/* Returns true if a path has the ending, in any case. */
bool cli_ends_with(const char *path, const char *ending);

/* Returns true if the path has one of the endings (a list ended by NULL), or is NULL, a device or a pipe,
 * which may have any name; else false after one line on stderr. what: the content, for the message, e.g.
 * "spy: the picture". */
bool cli_output_ending(const char *what, const char *path, const char *const *endings);

/* The same for the endings of formats in which matrices are written. */
bool cli_output_matrix_ending(const char *path);

/* Opens the file. On failure prints one line on stderr and returns false. path must outlive the output. */
bool cli_output_open(cli_output *output, const char *path);

/* Writes bytes, and stores the reason of the first failure, which stdio does not keep. Returns true if all
 * were written; cli_output_commit prints the error. */
bool cli_output_put(cli_output *output, const void *bytes, size_t count);

/* Returns the errno of the first cli_output_put to stdout that failed; 0: none. */
int cli_output_stdout_reason(void);

/* Checks that every write succeeded, and renames the file to its final name. On failure returns false after
 * one line on stderr, and leaves no file behind. */
bool cli_output_commit(cli_output *output);
void cli_output_discard(cli_output *output);

/* Removes the file that is being written, when a signal handler ends the process. Async-signal-safe. */
void cli_output_abandon(void);

/* Adds the formats of the files that were read (source.h) and the list "changed", writes the JSON object, and
 * releases it. value NULL counts as out of memory. On failure prints one line on stderr and returns false. */
bool cli_output_json(const char *path, json_t *value);

/* Writes count whole numbers as a one-dimensional .npy file. On failure prints one line on stderr and returns
 * false. */
bool cli_output_npy_int64(const char *path, const int64_t *values, int64_t count);

#endif

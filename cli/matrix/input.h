/* SPDX-License-Identifier: Apache-2.0 */
/* Words that name inputs: "-", standard input, and names that JSON cannot hold. */
#ifndef SLEY_CLI_MATRIX_INPUT_H
#define SLEY_CLI_MATRIX_INPUT_H

#include <stdbool.h>
#include <stdint.h>

/* If one of the names (NULL: none) is "-", reads standard input to its end into memory that takes its place,
 * so that it can be looked at more than once, by every rank that is forked. Returns CLI_DONE, or an exit code
 * after one line on stderr: it cannot be read, it was interrupted, two names are "-", or this process is one
 * of several that a launcher has started, of which only one would have the input, or it is longer than limit
 * bytes (0: half the machine's memory). */
int cli_take_stdin(const char *command, const char *name, const char *other, int64_t limit);

/* Whether text is UTF-8; else one line on stderr: json, which would have to hold it, cannot. json NULL: true.
 */
bool cli_name_fits_json(const char *command, const char *text, const char *json);

/* The last part of an input's name, for titles. */
const char *cli_base_name(const char *name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Names of inputs: "-" for standard input, and names that JSON cannot store. */
#ifndef SLEY_CLI_MATRIX_INPUT_H
#define SLEY_CLI_MATRIX_INPUT_H

#include <stdbool.h>
#include <stdint.h>

/* If one of the names (NULL: none) is "-", reads standard input to its end into memory that replaces it, so
 * that this process and forked ranks can read it several times. limit: most bytes; 0: half of the machine's
 * memory. Returns CLI_DONE, or an exit code after one line on stderr: reading failed or was interrupted, both
 * names are "-", the input is longer than limit, or a launcher started this process as one of several, of
 * which only one would have the input. */
int cli_take_stdin(const char *command, const char *name, const char *other, int64_t limit);

/* Returns true if text is UTF-8 or json is NULL, else false after one line on stderr that --json cannot store
 * it. */
bool cli_name_fits_json(const char *command, const char *text, const char *json);

/* Returns the last part of an input's name, for titles. */
const char *cli_base_name(const char *name);

#endif

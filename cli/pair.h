/* SPDX-License-Identifier: Apache-2.0 */
/* Reads option values that are two whole numbers, such as 2x3. */
#ifndef SLEY_CLI_PAIR_H
#define SLEY_CLI_PAIR_H

#include <stdbool.h>
#include <stdint.h>

/* Reads text, the value of --option of a command: rows x cols, each from 1 to most, or, if `one`, also a
 * single number for both. text NULL: rows and cols stay unchanged. On failure prints one line on stderr and
 * returns false. */
bool cli_pair_read(const char *command, const char *option, const char *text, bool one, int64_t most,
                   int64_t *rows, int64_t *cols);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a matrix, with a message about it. */
#ifndef SLEY_CLI_MATRIX_WRITE_H
#define SLEY_CLI_MATRIX_WRITE_H

#include "sley.h"

/* Calls sley_matrix_write, with progress. On success prints one line on stderr: the path, rows, columns and
 * nonzeros. */
sley_status cli_write_matrix(const sley_matrix *matrix, const char *path);

#endif

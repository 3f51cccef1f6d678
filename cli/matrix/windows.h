/* SPDX-License-Identifier: Apache-2.0 */
/* The density of a matrix's windows, before and after it was ordered, for reports. */
#ifndef SLEY_CLI_MATRIX_WINDOWS_H
#define SLEY_CLI_MATRIX_WINDOWS_H

#include <stdio.h>

#include "output/json.h"
#include "sley.h"

typedef struct cli_windows {
  bool ordered;
  sley_window_info now, before; /* before: windows in the file's order, set if `ordered` */
} cli_windows;

/* Counts the windows of matrix. place: row i of the file is row place[i] of matrix; NULL: unordered. threads
 * 0: all cores. */
sley_status cli_windows_count(const sley_matrix *matrix, const int64_t *place, int64_t threads,
                              cli_windows *out);

/* Returns the nonzeros per distinct column over all windows; 0 without nonzeros. */
double cli_intensity(const sley_window_info *info);

/* Prints a line, and, if ordered, a second line for the file's order. */
void cli_windows_print(const cli_windows *windows, FILE *stream);

/* Adds the object "windows" and, if ordered, "windows_before". */
void cli_windows_json(cli_json *json, const cli_windows *windows);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of times that were measured. */
#ifndef SLEY_CLI_OUTPUT_TIMES_H
#define SLEY_CLI_OUTPUT_TIMES_H

#include <stdint.h>

typedef struct cli_times {
  double median, p10, p90;
} cli_times;

/* Of n times, at least 1, which are sorted. */
cli_times cli_times_of(double *ms, int64_t n);

#endif

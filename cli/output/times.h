/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of measured times. */
#ifndef SLEY_CLI_OUTPUT_TIMES_H
#define SLEY_CLI_OUTPUT_TIMES_H

#include <stdint.h>

typedef struct cli_times {
  double median, p10, p90;
} cli_times;

/* Computes the statistics of n times, at least 1, and sorts them. */
cli_times cli_times_of(double *ms, int64_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of measured times. */
#ifndef SLEY_CLI_OUTPUT_TIMES_H
#define SLEY_CLI_OUTPUT_TIMES_H

#include <stdint.h>

#include "output/json.h"

typedef struct cli_times {
  double median, min, p10, p90, p95;
} cli_times;

/* Computes the statistics of n times, at least 1, and sorts them. */
cli_times cli_times_of(double *ms, int64_t n);

/* Adds the member time_ms{min,median,p95,count} of a product: the statistics of count times. */
void cli_times_json(cli_json *json, const cli_times *times, int64_t count);

#endif

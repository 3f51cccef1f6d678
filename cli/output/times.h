/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of measured times, and of ratios of times. */
#ifndef SLEY_CLI_OUTPUT_TIMES_H
#define SLEY_CLI_OUTPUT_TIMES_H

#include "output/json.h"

typedef struct cli_times {
  int64_t count; /* 0: nothing was measured */
  double median, min, p10, p90, p95;
} cli_times;

/* Computes the statistics of n times, at least 1, and sorts them. */
cli_times cli_times_of(double *ms, int64_t n);

/* Adds the member time_ms{min,median,p95,count} of a product. */
void cli_times_json(cli_json *json, const cli_times *times);

/* Adds the members of a contender: turns, median_ms, p10_ms, p90_ms and spread_ms. */
void cli_turns_json(cli_json *json, const cli_times *ms);

/* The ratios of several cases: sum of their logarithms, and the worst one. */
typedef struct cli_ratios {
  int count;
  double log_sum, worst;
  int at; /* the case with the worst ratio */
} cli_ratios;

/* Adds the ratio of case `at`, which is the worst so far if is_worst or if it is the first. */
void cli_ratios_add(cli_ratios *ratios, double ratio, int at, bool is_worst);

/* Returns the geometric mean; NaN if there are no ratios. */
double cli_ratios_mean(const cli_ratios *ratios);

#endif

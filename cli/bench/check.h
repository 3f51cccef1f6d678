/* SPDX-License-Identifier: Apache-2.0 */
/* The check of products in `sley bench`: all rows, or, of large products, rows that stand for them. */
#ifndef SLEY_CLI_BENCH_CHECK_H
#define SLEY_CLI_BENCH_CHECK_H

#include "sley.h"

/* Rows of a matrix that are compared, as a matrix of their own. */
typedef struct cli_sample {
  const sley_matrix *matrix; /* whole, or own */
  sley_matrix *own;
  int64_t *row; /* the row of the whole matrix that each is; NULL: all of them */
  int64_t rows;
} cli_sample;

/* Rows for a check of k columns: all, or evenly spaced ones and the longest, of as many as take some seconds.
 * Ended by cli_sample_free. */
sley_status cli_sample_make(const sley_matrix *matrix, int64_t k, cli_sample *out);
void cli_sample_free(cli_sample *sample);

/* Compares the sample's rows of y (whole, k columns without gaps, in the host's memory) with a float64
 * product. info: of the plan that made it; zeros where no plan did. */
sley_status cli_sample_check(const cli_sample *sample, int64_t k, sley_dtype dtype, const void *x,
                             const void *y, const sley_plan_info *info, int threads, sley_check *out);

#endif

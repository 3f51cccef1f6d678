/* SPDX-License-Identifier: Apache-2.0 */
/* The check of products in `sley bench`: all rows, or a sample of the rows of a large product. */
#ifndef SLEY_CLI_BENCH_CHECK_H
#define SLEY_CLI_BENCH_CHECK_H

#include "sley.h"

/* The rows of a matrix that are compared, as a separate matrix. */
typedef struct cli_sample {
  const sley_matrix *matrix; /* the rows: the whole matrix, or own */
  sley_matrix *own;
  int64_t *row; /* for each sampled row its number in the whole matrix; NULL: all rows */
  int64_t rows;
} cli_sample;

/* Chooses rows for a check of k columns: all rows if the check is short, else evenly spaced rows and the
 * longest row, so that the check takes a few seconds. The caller frees the sample with cli_sample_free. */
sley_status cli_sample_make(const sley_matrix *matrix, int64_t k, cli_sample *out);
void cli_sample_free(cli_sample *sample);

/* Compares the sample's rows of y with a float64 product. y: the whole product in host memory, k columns,
 * leading dimension k. info: the info of the plan that computed y; zeros if no plan computed it. */
sley_status cli_sample_check(const cli_sample *sample, int64_t k, sley_dtype dtype, const void *x,
                             const void *y, const sley_plan_info *info, int threads, sley_check *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Draws charts of times and volumes with gnuplot. */
#ifndef SLEY_CLI_OUTPUT_PLOT_H
#define SLEY_CLI_OUTPUT_PLOT_H

#include <stdbool.h>

#include "matrix/job.h"
#include "product/ablation.h"

/* A chart: bars, stacked if there are several series, or lines over numbers on logarithmic scales. */
typedef struct cli_chart {
  const char *title, *unit; /* unit: unit of the values */
  bool lines;
  const char *across; /* for lines: label of the horizontal axis */
  int points;
  const char *const *point; /* names of the points; for lines, numbers */
  int series;
  const char *const *name; /* names of the series */
  const double *value;     /* series x points; 0: no value */
} cli_chart;

/* Checks a --plot before long work. Returns true for NULL. Returns false after one line on stderr if the path
 * does not end in .svg or .png, if it cannot be written (then *code is CLI_FAILED, else CLI_USAGE), or if
 * gnuplot is missing. */
bool cli_plot_possible(const char *command, const char *path, int *code);

/* Draws the charts side by side. Charts of lines share one legend, right of the last chart. On failure
 * returns false after one line on stderr, and leaves no file behind. */
bool cli_plot(const char *path, const char *title, const cli_chart *charts, int count);

/* Draws two charts, the times and the bytes of count algorithms, at most CLI_ALGORITHMS + 1. times: title and
 * unit of the first chart. Returns as cli_plot. */
bool cli_plot_steps(const char *path, const cli_job *job, int64_t k, const cli_step *steps, int count,
                    const cli_chart *times);

#endif

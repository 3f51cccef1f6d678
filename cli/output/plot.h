/* SPDX-License-Identifier: Apache-2.0 */
/* Charts of times and volumes, drawn by gnuplot. */
#ifndef SLEY_CLI_OUTPUT_PLOT_H
#define SLEY_CLI_OUTPUT_PLOT_H

#include <stdbool.h>

#include "matrix/job.h"
#include "product/ablation.h"

/* Bars, of several series stacked, or lines over numbers, on logarithmic scales. */
typedef struct cli_chart {
  const char *title, *unit; /* unit: of the values */
  bool lines;
  const char *across; /* of lines: what the points are numbers of */
  int points;
  const char *const *point; /* names of the points; of lines numbers */
  int series;
  const char *const *name; /* of the series */
  const double *value;     /* series by series; 0: there is none */
} cli_chart;

/* Before long work. True for NULL. Else false after one line on stderr: FILE's name does not end in .svg or
 * .png, it cannot be written (*code: CLI_FAILED), or there is no gnuplot. */
bool cli_plot_possible(const char *command, const char *path, int *code);

/* Draws the charts side by side; of those of lines the last has a legend, for all. False, with nothing left
 * behind, after one line on stderr. */
bool cli_plot(const char *path, const char *title, const cli_chart *charts, int count);

/* Draws the times and the bytes of count algorithms, CLI_ALGORITHMS + 1 at most, two charts. times: title and
 * unit of the first. Returns as cli_plot. */
bool cli_plot_steps(const char *path, const cli_job *job, int64_t k, const cli_step *steps, int count,
                    const cli_chart *times);

#endif

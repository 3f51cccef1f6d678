/* SPDX-License-Identifier: Apache-2.0 */
/* The results of `sley roofline`, and the functions that print and draw them. */
#ifndef SLEY_CLI_ROOFLINE_ROOFLINE_H
#define SLEY_CLI_ROOFLINE_ROOFLINE_H

#include <stdbool.h>
#include <stdio.h>

#include "matrix/job.h"
#include "sley_roofline.h"

enum { CLI_ROOFLINE_ROWS = 24, CLI_ROOFLINE_NAME = 64 };

/* An algorithm's roofline, its measured time, or both. */
typedef struct cli_roofline_row {
  char algo[CLI_ROOFLINE_NAME];
  bool known;         /* true: line and ranks hold the algorithm's model */
  sley_roofline line; /* if not known: bandwidths and local roof of the first algorithm */
  sley_roofline_rank *ranks;
  double measured_ms;    /* 0: not measured */
  double measured_bytes; /* counted bytes over the network; negative: not known */
} cli_roofline_row;

typedef struct cli_roofline {
  const char *matrix, *b; /* names; b is NULL if not given */
  sley_matrix_info info;  /* information about A */
  bool sparse;
  int64_t k; /* columns of a dense X */
  int ranks;
  sley_machine_info machine;
  int count;
  cli_roofline_row row[CLI_ROOFLINE_ROWS];
} cli_roofline;

/* The intensity of a row: flops per byte over the network, from the counted bytes if `measured`; 0 if nothing
 * travels. */
double cli_roofline_intensity(const cli_roofline_row *row, bool measured);

/* GFLOP/s of one rank if the run takes ms; 0 if ms is 0. */
double cli_roofline_rate(const cli_roofline *r, const cli_roofline_row *row, double ms);

/* Reads a file that `sley spmm --json` or the --json of another product wrote: an object with the field algo,
 * a time (time_ms.median) and possibly bytes (volume_bytes.message and .direct); or an object with a list of
 * such objects, algorithms. Sets the measured times and bytes in the algorithms' rows, and adds missing rows.
 * Returns false after one line on stderr if the file cannot be read, has another form, or has another number
 * of ranks, nonzeros or columns. */
bool cli_roofline_measured(const char *path, cli_roofline *r);

void cli_roofline_print(const cli_roofline *r, bool per_rank, bool brief, FILE *stream);
bool cli_roofline_write_json(const cli_roofline *r, const char *path);

/* Draws roofs and points with gnuplot. On failure returns false after one line on stderr, and leaves no file
 * behind. */
bool cli_roofline_plot(const char *path, const cli_roofline *r);

#endif

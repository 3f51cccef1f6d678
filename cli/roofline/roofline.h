/* SPDX-License-Identifier: Apache-2.0 */
/* What `sley roofline` finds, prints and draws. */
#ifndef SLEY_CLI_ROOFLINE_ROOFLINE_H
#define SLEY_CLI_ROOFLINE_ROOFLINE_H

#include <stdbool.h>
#include <stdio.h>

#include "matrix/job.h"
#include "sley_roofline.h"

enum { CLI_ROOFLINE_ROWS = 24, CLI_ROOFLINE_NAME = 64 };

/* An algorithm's roofline, what was measured of it, or both. */
typedef struct cli_roofline_row {
  char algo[CLI_ROOFLINE_NAME];
  bool known;         /* line and ranks hold its model */
  sley_roofline line; /* where it is not known, the bandwidths and local roof of another */
  sley_roofline_rank *ranks;
  double measured_ms;    /* 0: was not measured */
  double measured_bytes; /* over the network, as counted; negative: not told */
} cli_roofline_row;

typedef struct cli_roofline {
  const char *matrix, *b; /* names; b NULL: not given */
  sley_matrix_info info;  /* of A */
  bool sparse;
  int64_t k; /* of a dense X */
  int ranks;
  sley_machine_info machine;
  int count;
  cli_roofline_row row[CLI_ROOFLINE_ROWS];
} cli_roofline;

/* Of a row: flops for each byte over the network, by what was counted where `measured`; 0 where nothing
 * travels. GFLOP/s of a rank in so many ms; 0: none. */
double cli_roofline_intensity(const cli_roofline_row *row, bool measured);
double cli_roofline_rate(const cli_roofline *r, const cli_roofline_row *row, double ms);

/* Reads what `sley spmm --json`, or another product's --json, has written: an object with the fields algo;
 * time_ms.median, ms or total_ms; and, of bytes, volume_bytes.message and .direct or message_bytes and
 * direct_bytes; or a list of such objects, algorithms. Rows of the algorithms get the times; those that have
 * no row get one. False after one line on stderr: it cannot be read, is no such file, or is of other ranks,
 * nonzeros or k. */
bool cli_roofline_measured(const char *path, cli_roofline *r);

void cli_roofline_print(const cli_roofline *r, bool per_rank, FILE *stream);
bool cli_roofline_write_json(const cli_roofline *r, const char *path);

/* Draws roofs and points, by gnuplot. False, with nothing left behind, after one line on stderr. */
bool cli_roofline_plot(const char *path, const cli_roofline *r);

#endif

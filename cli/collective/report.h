/* SPDX-License-Identifier: Apache-2.0 */
/* What `sley collective` prints: the columns of nccl-tests, and what compression adds to them. */
#ifndef SLEY_CLI_COLLECTIVE_REPORT_H
#define SLEY_CLI_COLLECTIVE_REPORT_H

#include <stdio.h>

#include "collective/collective.h"
#include "output/json.h"

/* The names of options' values, by the enums of sley_collective.h; NULL-terminated. */
extern const char *const cli_collective_ops[], *const cli_collective_ways[], *const cli_collective_types[];

void cli_collective_print(const cli_collective_bench *bench, FILE *stream);
json_t *cli_collective_json(const cli_collective_bench *bench);

/* Draws times by those of dense collectives, and bus bandwidths, of a sweep whose cases are ordered by size
 * and then by zeros. Returns as cli_plot. */
bool cli_collective_plot(const char *path, const cli_collective_bench *bench, int zeros);

#endif

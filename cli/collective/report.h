/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `sley collective`: the columns of nccl-tests, and further columns for compression. */
#ifndef SLEY_CLI_COLLECTIVE_REPORT_H
#define SLEY_CLI_COLLECTIVE_REPORT_H

#include <stdio.h>

#include "collective/collective.h"
#include "output/json.h"

void cli_collective_print(const cli_collective_bench *bench, FILE *stream);
json_t *cli_collective_json(const cli_collective_bench *bench);

/* Draws two charts of a sweep with `zeros` shares of zeros per size, whose cases are ordered by size, then by
 * share: the time / the dense collective's time, and the time. Returns as cli_plot. */
bool cli_collective_plot(const char *path, const cli_collective_bench *bench, int zeros);

#endif

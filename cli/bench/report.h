/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `sley bench`: a line for each contender of a case, the means over all cases, and JSON. */
#ifndef SLEY_CLI_BENCH_REPORT_H
#define SLEY_CLI_BENCH_REPORT_H

#include <stdio.h>

#include "bench/bench.h"
#include "output/table.h"

/* Prints the settings of the run and the column headings. */
void cli_bench_print_start(const cli_bench *bench, FILE *stream);
void cli_bench_print_case(const cli_bench *bench, const cli_case *one, FILE *stream);

/* Prints geometric means and worst cases of three ratios: the fastest rival's time / auto's time, the fastest
 * kernel's time / auto's time, and each contender's time / auto's time. */
void cli_bench_print_end(const cli_bench *bench, const cli_case *cases, int count, FILE *stream);

json_t *cli_bench_json(const cli_bench *bench, const cli_case *cases, int count);

/* Writes four cells of the table's last row: number of cases, geometric mean, worst ratio, and the case with
 * the worst one: its matrix and width. */
void cli_bench_ratio_cells(cli_table *table, int column, const cli_ratios *ratios, const char *matrix,
                           int64_t k);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `sley bench ops`: a line per pass of an operation, means over the cases, and JSON. */
#ifndef SLEY_CLI_BENCH_OPS_REPORT_H
#define SLEY_CLI_BENCH_OPS_REPORT_H

#include <stdio.h>

#include "bench/ops.h"
#include "output/json.h"

void cli_ops_print_start(const cli_ops_bench *bench, FILE *stream);
void cli_ops_print_matrix(const char *name, const sley_matrix_info *matrix, FILE *stream);
void cli_ops_print_result(const cli_op_result *result, FILE *stream);

/* Prints, for each pass of each operation, the geometric mean and the worst of its time / the product's time.
 */
void cli_ops_print_end(const cli_op_result *results, int count, FILE *stream);

json_t *cli_ops_json(const cli_ops_bench *bench, const cli_op_result *results, int count);

#endif

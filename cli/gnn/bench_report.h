/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `sley gnn bench`: a table per model, and JSON. */
#ifndef SLEY_CLI_GNN_BENCH_REPORT_H
#define SLEY_CLI_GNN_BENCH_REPORT_H

#include "gnn/bench.h"
#include "gnn/options.h"
#include "output/json.h"

void cli_gnn_bench_print(const cli_gnn_bench *bench, const cli_gnn_settings *settings, const char *graph,
                         FILE *stream);

/* Returns NULL if out of memory. */
json_t *cli_gnn_bench_json(const cli_gnn_bench *bench, const cli_gnn_settings *settings, const char *graph);

#endif

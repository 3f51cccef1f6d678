/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `sley gnn train --runs`, in addition to cli_gnn_report_start. */
#ifndef SLEY_CLI_GNN_RUNS_REPORT_H
#define SLEY_CLI_GNN_RUNS_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "gnn/runs.h"

/* Prints a line with the splits, the trainings on each, and their seeds. split: the file of the splits, or
 * NULL. */
void cli_gnn_runs_report_start(const cli_gnn_training *training, const char *split, FILE *stream);

/* Prints a line, without delay, about a training that has ended. number counts from 0. */
void cli_gnn_runs_report_one(const cli_gnn_training *training, int64_t number, FILE *stream);

/* Prints the device and a table of statistics of the trainings that have ended. memory: the value of
 * --memory. */
void cli_gnn_runs_report_end(const cli_gnn_training *training, const char *memory, FILE *stream);

/* Returns NULL if out of memory or if a text cannot be stored in JSON. Parameters as in cli_gnn_report_json.
 */
json_t *cli_gnn_runs_report_json(const cli_gnn_training *training, const char *graph, const char *model,
                                 const char *memory);

#endif

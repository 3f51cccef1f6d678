/* SPDX-License-Identifier: Apache-2.0 */
/* What `sley gnn train --runs` says beside cli_gnn_report_start. */
#ifndef SLEY_CLI_GNN_RUNS_REPORT_H
#define SLEY_CLI_GNN_RUNS_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "gnn/runs.h"

/* A line: splits, trainings on each, and their seeds. split: the file that splits are from, or NULL. */
void cli_gnn_runs_report_start(const cli_gnn_training *training, const char *split, FILE *stream);

/* A line, at once: of a training that has ended, counted from 0. */
void cli_gnn_runs_report_one(const cli_gnn_training *training, int64_t number, FILE *stream);

/* Where it ran, and a table of what the trainings come to that have ended. memory: the user's word. */
void cli_gnn_runs_report_end(const cli_gnn_training *training, const char *memory, FILE *stream);

/* NULL: out of memory, or a text that JSON cannot hold. Words as for cli_gnn_report_json. */
json_t *cli_gnn_runs_report_json(const cli_gnn_training *training, const char *graph, const char *model,
                                 const char *memory);

#endif

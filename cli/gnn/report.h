/* SPDX-License-Identifier: Apache-2.0 */
/* What `sley gnn train` says of a training: text before and after it, and JSON. */
#ifndef SLEY_CLI_GNN_REPORT_H
#define SLEY_CLI_GNN_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "gnn/train.h"
#include "output/json.h"

/* graph, model, memory: the user's words for them. */
void cli_gnn_report_start(const cli_gnn_training *training, const char *graph, const char *model,
                          FILE *stream);
/* Lines: the device that training has run on, and what the network takes of memory there. */
void cli_gnn_report_place(const cli_gnn_training *training, const char *memory, FILE *stream);
void cli_gnn_report_end(const cli_gnn_training *training, const char *memory, FILE *stream);

/* Lines about the graph, features and labels that a user should know. */
void cli_gnn_report_data(const cli_gnn_data *data, FILE *stream);
/* A share, or "no rows"; and those of an epoch's sets, as the end of a line. */
void cli_gnn_report_share(double share, FILE *stream);
void cli_gnn_report_shares(const cli_gnn_epoch *epoch, FILE *stream);

/* NULL: out of memory, or a text that JSON cannot hold. */
json_t *cli_gnn_report_json(const cli_gnn_training *training, const char *graph, const char *model,
                            const char *memory);

/* Its first fields: what was trained, how, and where. */
cli_json cli_gnn_report_json_start(const cli_gnn_training *training, const char *graph, const char *model,
                                   const char *memory);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `sley gnn train`: text before and after the training, and JSON. */
#ifndef SLEY_CLI_GNN_REPORT_H
#define SLEY_CLI_GNN_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "gnn/train.h"

/* Prints the text before the training. graph, model: as the user named them. */
void cli_gnn_report_start(const cli_gnn_training *training, const char *graph, const char *model,
                          FILE *stream);
/* Prints the text after it. memory: the value of --memory. */
void cli_gnn_report_end(const cli_gnn_training *training, const char *memory, FILE *stream);

/* Prints remarks about the graph, features and labels that a user should know. */
void cli_gnn_report_data(const cli_gnn_data *data, FILE *stream);
/* The first function prints a share, or "no rows". The second prints the shares of an epoch's sets, and ends
 * the line. */
void cli_gnn_report_share(double share, FILE *stream);
void cli_gnn_report_shares(const cli_gnn_epoch *epoch, FILE *stream);

/* Returns NULL if out of memory or if a text cannot be stored in JSON. */
json_t *cli_gnn_report_json(const cli_gnn_training *training, const char *graph, const char *model,
                            const char *memory);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Fingerprints of what a network is trained on: BLAKE2b, by libsodium, over numbers in an order of their own,
 * so that neither ranks nor the way of storing them matter. docs/FORMATS.md says what is hashed. */
#ifndef SLEY_CLI_GNN_PRINT_H
#define SLEY_CLI_GNN_PRINT_H

#include "gnn/data.h"

/* Of a graph's entries, with their values or without. */
sley_status cli_gnn_print_matrix(const sley_matrix *matrix, bool values, cli_gnn_print *out);
/* Of the values of features that are not 0, dense or sparse. */
sley_status cli_gnn_print_features(const cli_gnn_data *data, cli_gnn_print *out);
sley_status cli_gnn_print_labels(const cli_gnn_data *data, cli_gnn_print *out);
sley_status cli_gnn_print_split(const cli_gnn_data *data, const cli_gnn_split *split, cli_gnn_print *out);

bool cli_gnn_print_same(const cli_gnn_print *one, const cli_gnn_print *other);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Fingerprints of the data that a network is trained on: BLAKE2b, by libsodium, over numbers in a fixed
 * order, so that neither the number of ranks nor the file format matters. docs/FORMATS.md says what is
 * hashed. */
#ifndef SLEY_CLI_GNN_PRINT_H
#define SLEY_CLI_GNN_PRINT_H

#include "gnn/data.h"

/* Hashes the entries of a graph, with or without their values. */
sley_status cli_gnn_print_matrix(const sley_matrix *matrix, bool values, cli_gnn_print *out);
/* Hashes the nonzero values of features, dense or sparse. */
sley_status cli_gnn_print_features(const cli_gnn_data *data, cli_gnn_print *out);
sley_status cli_gnn_print_labels(const cli_gnn_data *data, cli_gnn_print *out);
sley_status cli_gnn_print_split(const cli_gnn_data *data, const cli_gnn_split *split, cli_gnn_print *out);

bool cli_gnn_print_same(const cli_gnn_print *one, const cli_gnn_print *other);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows are for training, validation and test, one way or several: drawn, or from a file. */
#ifndef SLEY_CLI_GNN_SPLIT_H
#define SLEY_CLI_GNN_SPLIT_H

#include "gnn/reading.h"

/* Makes the splits that the source asks for; without labels one, in which every row is in no set. Drawn: of
 * each class `train` rows, then `valid` others, the rest for the test, in an order of rows that the split's
 * seed decides. Freed by the second, also on an error. Errors: the library's; SLEY_ERR_INPUT with a message
 * (too few splits in the file, no row to train on). */
sley_status cli_gnn_splits_make(const cli_gnn_reading *reading);
void cli_gnn_splits_free(cli_gnn_data *data);

/* Rows that a training by the split `before` was trained on are in no other set than that for training:
 * CLI_GNN_SPENT. How many were for validation or the test. */
int64_t cli_gnn_split_spend(cli_gnn_split *split, const cli_gnn_split *before, int64_t rows);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the split of the rows into training, validation and test: drawn, or read from a file. */
#ifndef SLEY_CLI_GNN_SPLIT_H
#define SLEY_CLI_GNN_SPLIT_H

#include "gnn/reading.h"

/* Makes the split that the source requests; without labels each row is in no set. A split is drawn in a
 * random order of the rows that its seed determines: of each class the first `train` rows are for training,
 * the next `valid` rows for validation, the rest for the test. Errors: the library's errors; SLEY_ERR_INPUT
 * with a message (no training row). */
sley_status cli_gnn_split_make(const cli_gnn_reading *reading);

/* Changes rows to CLI_GNN_SPENT if a training by the split `before` was trained on them, unless they are
 * training rows here too. Returns how many of them were for validation or the test. */
int64_t cli_gnn_split_spend(cli_gnn_split *split, const cli_gnn_split *before, int64_t rows);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the modes of `sley gnn` begin with: what they read. */
#ifndef SLEY_CLI_GNN_START_H
#define SLEY_CLI_GNN_START_H

#include "gnn/data.h"

/* Reads graph, features, labels and sets, with progress; *out is to be freed in any case. An exit code,
 * after one line on stderr where it is not CLI_DONE. */
int cli_gnn_read(const cli_gnn_source *source, cli_gnn_data *out);

#endif

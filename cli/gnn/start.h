/* SPDX-License-Identifier: Apache-2.0 */
/* The first step of all modes of `sley gnn`: reading the data. */
#ifndef SLEY_CLI_GNN_START_H
#define SLEY_CLI_GNN_START_H

#include "gnn/data.h"

/* Reads graph, features, labels and sets, and shows progress. The caller frees *out in any case. Returns an
 * exit code; if it is not CLI_DONE, one line has been printed on stderr. */
int cli_gnn_read(const cli_gnn_source *source, cli_gnn_data *out);

#endif

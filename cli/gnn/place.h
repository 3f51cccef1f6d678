/* SPDX-License-Identifier: Apache-2.0 */
/* What each rank of `sley gnn` begins with: its network, and its rows in the memory of its device. */
#ifndef SLEY_CLI_GNN_PLACE_H
#define SLEY_CLI_GNN_PLACE_H

#include "gnn/data.h"

/* A network over the rank's rows of the graph, begin[rank] to begin[rank + 1], with their features where
 * these are sparse. Collective, agreed. */
sley_status cli_gnn_network(sley_comm *comm, const cli_gnn_data *data, const int64_t *begin,
                            const sley_gnn_options *model, sley_gnn **out);

/* Features of `rows` rows from `first` on (NULL where they are sparse), and their labels, -1 of rows that the
 * first split does not train on; both are to be freed by sley_comm_free, also on an error. Not collective. */
sley_status cli_gnn_place(sley_comm *comm, const cli_gnn_data *data, int64_t first, int64_t rows, void **x,
                          void **label);

/* Labels of another split where those are. Not collective. */
sley_status cli_gnn_place_labels(sley_comm *comm, const cli_gnn_data *data, const cli_gnn_split *split,
                                 int64_t first, int64_t rows, void *label);

#endif

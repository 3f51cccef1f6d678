/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the network of each rank of `sley gnn`, and copies the rank's features and labels to the memory of
   its device. */
#ifndef SLEY_CLI_GNN_PLACE_H
#define SLEY_CLI_GNN_PLACE_H

#include "gnn/order.h"

/* Creates a network over the rank's rows of the layout, which keeps their features if these are sparse.
 * Collective, agreed. */
sley_status cli_gnn_network(sley_comm *comm, const cli_gnn_data *data, const cli_gnn_layout *layout,
                            const sley_gnn_options *model, sley_gnn **out);

/* Copies the features (if they are sparse, *x stays NULL) and labels of the rank's rows of the layout to the
 * device. Labels are -1 for rows that are not for training. The caller frees both with sley_comm_free, also
 * after an error. Not collective. */
sley_status cli_gnn_place(sley_comm *comm, const cli_gnn_data *data, const cli_gnn_layout *layout, void **x,
                          void **label);

#endif

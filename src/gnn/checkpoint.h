/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a network as a file of arrays. */
#ifndef SLEY_GNN_CHECKPOINT_H
#define SLEY_GNN_CHECKPOINT_H

#include "gnn/network.h"

/* The same as sley_gnn_save, sley_gnn_load and sley_gnn_options_read. */
sley_status sl_network_save(sley_gnn *gnn, const char *path, const sley_array *more, int count);
sley_status sl_network_load(sley_gnn *gnn, const char *path, const char *prefix);
sley_status sl_network_options(const char *path, sley_gnn_options *out);

#endif

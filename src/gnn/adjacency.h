/* SPDX-License-Identifier: Apache-2.0 */
/* The graph that layers sum over: a rank's rows of A, with one entry for each row itself where a kind asks
 * for it, and the values that normalise its entries. */
#ifndef SLEY_GNN_ADJACENCY_H
#define SLEY_GNN_ADJACENCY_H

#include "gnn/layer.h"

/* A copy of block, the rank's rows from row `first` on, with columns numbered globally, in which each row i
 * has exactly one entry (i, i): it stands where columns ascend, if they do. Only where entries are is copied:
 * the values of out are undefined. Errors: SLEY_ERR_MEMORY. Not collective. */
sley_status sl_adjacency_with_loops(const sley_matrix *block, int64_t first, sley_matrix **out);

/* The values of the entries of graph's relation 0, in the device's memory; NULL for SL_NORM_NONE. Collective,
 * agreed. */
sley_status sl_adjacency_norm(sley_graph *graph, sl_norm norm, sley_dtype dtype, void **out);

#endif

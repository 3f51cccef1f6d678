/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix that layers sum over: a rank's rows of A, with one entry for each row itself where a kind asks
 * for it, and values that normalise its entries. */
#ifndef SLEY_GNN_ADJACENCY_H
#define SLEY_GNN_ADJACENCY_H

#include "gnn/layer.h"

/* A copy of block, this rank's rows, with columns numbered globally. loops: each row i has exactly one entry
 * (i, i), which stands where columns ascend, if they do. Values, in dtype, are 1, or with `weights` those of
 * block and 1 for an (i, i) that it does not have; norm divides them. row_begin: as for sley_gnn_create.
 * Collective, agreed. Errors: SLEY_ERR_MEMORY, SLEY_ERR_PEER, SLEY_ERR_INPUT (the weights of a row that norm
 * divides do not add up to a number above 0). */
sley_status sl_adjacency_make(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin, bool loops,
                              bool weights, sl_norm norm, sley_dtype dtype, sley_matrix **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix over which layers sum: a rank's rows of A, with diagonal entries if a kind needs them, and with
 * values that normalize its entries. */
#ifndef SLEY_GNN_ADJACENCY_H
#define SLEY_GNN_ADJACENCY_H

#include "gnn/layer.h"

/* Copies block, this rank's rows, with global columns. loops: each row i has exactly one entry (i, i), in
 * ascending position if the columns ascend. Values, in dtype, are 1, or with `weights` those of block, and 1
 * for an added (i, i); norm divides them. row_begin: as for sley_gnn_create. Collective, agreed. Errors:
 * SLEY_ERR_MEMORY, SLEY_ERR_PEER, SLEY_ERR_INPUT (the weights of a row that norm divides have a sum that is
 * not above 0). */
sley_status sl_adjacency_make(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin, bool loops,
                              bool weights, sl_norm norm, sley_dtype dtype, sley_matrix **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Distributes sparse features to the ranks and in the order that their products (sparse_product.h) need. */
#ifndef SLEY_GNN_SPARSE_FEATURES_H
#define SLEY_GNN_SPARSE_FEATURES_H

#include "gnn/row_blocks.h"
#include "gnn/sparse_product.h"

/* Opens sparse features. x: this rank's rows, the first of which is row first_row of all ranks' rows. number:
 * the rows' numbers for masks of dropout, in host memory; NULL: their places among all ranks' rows. blocks:
 * opened. drops: whether sl_sparse_input_drop is called with a mask. Collective, agreed: rows of blocks that
 * other ranks sum are sent to them. Ended by the second, which accepts NULL. */
sley_status sl_sparse_input_open(const sl_dense_work *work, const sley_matrix *x, int64_t first_row,
                                 const int64_t *number, const sl_row_blocks *blocks, bool drops,
                                 sl_sparse_input **out);
void sl_sparse_input_close(sl_sparse_input *sparse);

#endif

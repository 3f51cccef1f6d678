/* SPDX-License-Identifier: Apache-2.0 */
/* Creates sparse features in the form that their products need (sparse_product.h). */
#ifndef SLEY_GNN_SPARSE_H
#define SLEY_GNN_SPARSE_H

#include "gnn/row_blocks.h"
#include "gnn/sparse_product.h"

/* sl_sparse_open: x: this rank's rows, which are global rows first_row and later. blocks: opened. drops:
 * sl_sparse_drop will be called with a mask. Sends rows of blocks to the ranks that sum them. Collective,
 * agreed. sl_sparse_close destroys it, and accepts NULL. */
sley_status sl_sparse_open(const sl_dense_work *work, const sley_matrix *x, int64_t first_row,
                           const sl_row_blocks *blocks, bool drops, sl_sparse **out);
void sl_sparse_close(sl_sparse *sparse);

#endif

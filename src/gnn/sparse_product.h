/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse features: X as the left operand of the first layer's products, X W and X^T D, by the kernels of the
 * sparse product. X has its rows as they are given; its transpose is there once for each block of rows
 * (row_blocks.h), so that gradients are summed block by block. Made by sparse_features.h.
 *
 * With `in_order` sums are those of dense products in order: terms in the same order, without the zeros,
 * which change no sum. Dropout sets entries to zero by the masks that a dense X has. */
#ifndef SLEY_GNN_SPARSE_PRODUCT_H
#define SLEY_GNN_SPARSE_PRODUCT_H

#include "gnn/dense.h"

enum { SL_SPARSE_WIDTHS = 2 };

/* A matrix with a kernel for each width of the products that it is in. */
typedef struct sl_sparse_side {
  sl_spmm_matrix matrix; /* arrays in the host's memory */
  int64_t cols, entries;
  void *values, *dropped; /* in the device's memory: as given; after dropout, where there is any */
  int64_t *row, *column;  /* with dropout, of each entry: its global row and column in X; there too */
  int widths;
  struct sl_sparse_width {
    sl_spmm_problem problem;
    const sl_kernel *kernel;
    void *prepared;
  } width[SL_SPARSE_WIDTHS];
} sl_sparse_side;

typedef struct sl_sparse_input {
  sl_comm *comm;
  const sl_dense_work *work;
  int64_t rows, features;
  bool drops; /* there is dropout; */
  bool lacks; /* the products have what it has left */
  sl_sparse_side x;
  int64_t blocks;
  sl_sparse_side *back; /* of each of this rank's blocks of rows */
} sl_sparse_input;

/* Makes products X W of so many columns, or with `back` X^T D. Not collective. Errors: SLEY_ERR_MEMORY,
 * SLEY_ERR_UNSUPPORTED. */
sley_status sl_sparse_input_expect(sl_sparse_input *sparse, bool back, int64_t width);

/* X as rows. */
sl_rows sl_sparse_input_rows(sl_sparse_input *sparse);

/* From here on products are of X after dropout by the mask; NULL: of X as it is. */
sley_status sl_sparse_input_drop(sl_sparse_input *sparse, const sl_mask *mask);

/* c = act(alpha op(a) b + beta c + bias), with a sparse, and op the transpose of its block where it is asked
 * for; of a width that was expected. */
sley_status sl_sparse_input_multiply(const sl_dense_work *work, const sl_product *product, sl_rows c);

/* What it takes of the device's memory. */
int64_t sl_sparse_input_bytes(const sl_sparse_input *sparse);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse features: X as the left operand of the first layer's products, X W and X^T D, by the kernels of the
 * sparse product. X has its rows as passed; its transpose is stored for each block of rows (row_blocks.h), so
 * that gradients are summed block by block. Created by sparse_features.h.
 *
 * With `in_order` the sums equal those of dense products in order: the terms have the same order without the
 * zeros, which change no sum. Dropout sets entries to zero by the same masks as for a dense X. */
#ifndef SLEY_GNN_SPARSE_PRODUCT_H
#define SLEY_GNN_SPARSE_PRODUCT_H

#include "gnn/dense.h"

enum { SL_SPARSE_WIDTHS = 2 };

/* A matrix with a prepared kernel for each width of its products. */
typedef struct sl_sparse_side {
  sl_spmm_matrix matrix; /* its arrays are in host memory */
  int64_t cols, entries;
  void *values, *dropped; /* in device memory: the original values; and the values after dropout, if there is
                           * any */
  int64_t *row,
      *column; /* with dropout: the number of each entry's row and its column in X; in device memory */
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
  bool drops; /* dropout is used */
  bool lacks; /* the kernels currently hold values after dropout */
  sl_sparse_side x;
  int64_t blocks;
  sl_sparse_side *back; /* one element per block of rows of this rank */
} sl_sparse_input;

/* Prepares products X W of `width` columns, or with `back` X^T D. Not collective. Errors: SLEY_ERR_MEMORY,
 * SLEY_ERR_UNSUPPORTED. */
sley_status sl_sparse_input_expect(sl_sparse_input *sparse, bool back, int64_t width);

/* Returns rows that refer to X. */
sl_rows sl_sparse_input_rows(sl_sparse_input *sparse);

/* Applies dropout by the mask to X for all products from now on; if mask is NULL, restores the original X. */
sley_status sl_sparse_input_drop(sl_sparse_input *sparse, const sl_mask *mask);

/* Sets c to act(alpha op(a) b + beta c + bias), where a is sparse, and op is the transpose of its block if
 * requested. The width must have been announced by sl_sparse_input_expect. */
sley_status sl_sparse_input_multiply(const sl_dense_work *work, const sl_product *product, sl_rows c);

/* Bytes of device memory. */
int64_t sl_sparse_input_bytes(const sl_sparse_input *sparse);

#endif

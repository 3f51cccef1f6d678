/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of a given number of sparse matrices, which are numbered but may arrive in any order: the products
 * that make up a tile of C. */
#ifndef SLEY_TILE_PRODUCTS_SPARSE_SUM_H
#define SLEY_TILE_PRODUCTS_SPARSE_SUM_H

#include "tile/products/sparse_add.h"

/* Neighbours are added in pairs, these sums again in pairs, and so on, each as soon as both terms have
 * arrived. With n matrices an entry is copied about log2 n times. The pairs depend only on the number of
 * matrices, and so do the bits. */
typedef struct sl_sparse_sum {
  sl_sparse_adder *adder; /* must outlive the sum */
  int64_t rows, cols;
  int64_t count, missing; /* number of matrices, and number of matrices that have not arrived */
  bool *came;             /* for each matrix, whether it has arrived */
  /* node: sums that wait for their neighbours: first `count` places for sums of 1 matrix, then half as many,
   * rounded down, for sums of 2, and so on. Empty places have NULL arrays. */
  sl_csr_arrays *node;
} sl_sparse_sum;

/* Allocates memory for `count` matrices and sets the last three fields; the caller sets the others. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_sparse_sum_open(sl_sparse_sum *sum, int64_t count);

/* Adds matrix `number`, 0 to count - 1, which has not been added before: `rows` rows whose columns ascend,
 * each once in a row. Takes ownership of its arrays, also after an error. Errors: SLEY_ERR_MEMORY. */
sley_status sl_sparse_sum_put(sl_sparse_sum *sum, int64_t number, sl_csr_arrays arrays);

/* Moves the sum to *out, after all matrices have been added; its arrays are NULL if count is 0. Errors: as
 * sl_sparse_sum_put. */
sley_status sl_sparse_sum_take(sl_sparse_sum *sum, sl_csr_arrays *out);

/* Frees matrices and sums that were not taken. Does nothing if all bytes are zero. */
void sl_sparse_sum_close(sl_sparse_sum *sum);

#endif

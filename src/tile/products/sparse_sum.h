/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of so many sparse matrices, which have an order and come in any: the products that make up a tile
 * of C. */
#ifndef SLEY_TILE_PRODUCTS_SPARSE_SUM_H
#define SLEY_TILE_PRODUCTS_SPARSE_SUM_H

#include "tile/products/sparse_add.h"

/* Neighbours are added in pairs, whose sums are added in pairs, and so on, each as soon as both are there: of
 * n matrices an entry is copied about log2 n times. Which are added to which depends on their number alone,
 * and so do the bits. */
typedef struct sl_sparse_sum {
  sl_sparse_adder *adder; /* which outlives the sum */
  int64_t rows, cols;
  int64_t count, missing; /* matrices: all of them, and those that have not come */
  bool *came;             /* of each */
  sl_csr_arrays *node; /* sums that wait for their neighbours: of 1 matrix at count places, then of 2 at half
                          as many, rounded down, and so on; others have NULL arrays */
} sl_sparse_sum;

/* Takes memory for `count` matrices, by which the sum's field is set; the other fields but the last three are
 * the caller's. Errors: SLEY_ERR_MEMORY. */
sley_status sl_sparse_sum_open(sl_sparse_sum *sum, int64_t count);

/* Matrix `number`, 0 to count - 1, which has not come before: `rows` rows whose columns ascend, each once in
 * a row. Takes its arrays over, also on an error. Errors: SLEY_ERR_MEMORY. */
sley_status sl_sparse_sum_put(sl_sparse_sum *sum, int64_t number, sl_csr_arrays arrays);

/* The sum, once all have come; its arrays are NULL if count is 0. Nothing is left in the sum. Errors:
 * as put. */
sley_status sl_sparse_sum_take(sl_sparse_sum *sum, sl_csr_arrays *out);

/* Frees what has not been taken. Of a sum of zeros: nothing. */
void sl_sparse_sum_close(sl_sparse_sum *sum);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of sparse matrices that come one after the other: the products that make up a tile of C. */
#ifndef SLEY_TILE_SPARSE_SUM_H
#define SLEY_TILE_SPARSE_SUM_H

#include "device/op_spgemm.h"
#include "matrix/matrix.h"

enum { SL_SPARSE_SUM_LEVELS = 48 };

/* Matrices are added in pairs of about as many terms, as bits carry in a counter: of n matrices an entry is
 * copied about log2 n times. Which are added to which depends on their number alone, and so do the bits. */
typedef struct sl_sparse_sum {
  int64_t rows;
  sley_index index;
  sley_dtype dtype; /* f32 or f64 */
  sley_semiring semiring;
  sl_team *team;
  sl_csr_arrays level[SL_SPARSE_SUM_LEVELS]; /* the sum of 2^level matrices, or NULL arrays */
} sl_sparse_sum;

/* Adds a matrix of `rows` rows whose columns ascend, each once in a row, and takes its arrays over, also on
 * an error. Errors: SLEY_ERR_MEMORY. */
sley_status sl_sparse_sum_add(sl_sparse_sum *sum, sl_csr_arrays arrays);

/* The sum; its arrays are NULL if nothing was added. The sum is empty then. Errors: SLEY_ERR_MEMORY. */
sley_status sl_sparse_sum_take(sl_sparse_sum *sum, sl_csr_arrays *out);

/* Frees what has not been taken. */
void sl_sparse_sum_free(sl_sparse_sum *sum);

#endif

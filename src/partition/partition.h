/* SPDX-License-Identifier: Apache-2.0 */
/* The division of rows among ranks: begin has ranks + 1 ascending entries, begin[0] = 0, begin[ranks] = rows.
 * Rank r owns rows begin[r] .. begin[r + 1] - 1. */
#ifndef SLEY_PARTITION_PARTITION_H
#define SLEY_PARTITION_PARTITION_H

#include "matrix/matrix.h"

/* Divides rows equally: the first rows mod ranks ranks own one more. */
void sl_partition_equal(int64_t rows, int ranks, int64_t *begin);

/* Divides rows so that each rank's nonzeros are as near nnz / ranks as whole rows allow: each split is the
 * nearest to its multiple of nnz / ranks. MGG, alg. 1. */
void sl_partition_nnz(const sley_matrix *matrix, int ranks, int64_t *begin);

/* Returns the rank that owns row, by binary search; empty ranks own nothing. */
int sl_partition_owner(const int64_t *begin, int ranks, int64_t row);

/* Returns a hash of a partition, at least 0, by which ranks compare their partitions. */
int64_t sl_partition_hash(const int64_t *begin, int ranks);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns which rows: begin has ranks + 1 ascending entries, begin[0] = 0, begin[ranks] = rows. */
#ifndef SLEY_PARTITION_PARTITION_H
#define SLEY_PARTITION_PARTITION_H

#include "matrix/matrix.h"

/* Equal rows: the first rows mod ranks ranks own one more. */
void sl_partition_equal(int64_t rows, int ranks, int64_t *begin);

/* Each rank's nonzeros as near nnz / ranks as whole rows allow: the split nearest to each multiple. MGG,
 * alg. 1. */
void sl_partition_nnz(const sley_matrix *matrix, int ranks, int64_t *begin);

/* The rank that owns row, by binary search; empty ranks own nothing. */
int sl_partition_owner(const int64_t *begin, int ranks, int64_t row);

/* A number of at least 0 that differs, but for chance, where partitions do: for ranks that compare theirs. */
int64_t sl_partition_hash(const int64_t *begin, int ranks);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The transpose of a matrix in row blocks: builds blocks of A^T from blocks of A, and later moves new values
 * to them. */
#ifndef SLEY_PLAN_TRANSPOSE_BLOCKS_H
#define SLEY_PLAN_TRANSPOSE_BLOCKS_H

#include "matrix/matrix.h"
#include "transport/transport.h"

/* A prepared exchange of values: which entries a rank sends to which rank, and where received entries are
 * stored. It refers to no matrix. */
typedef struct sl_transposition sl_transposition;

/* Builds this rank's row block of A^T from every rank's row block of A: rows col_begin[rank] ..
 * col_begin[rank + 1] - 1 of A^T, whose columns are the rows of A. The partitions are the ones that
 * sl_inspect takes for A. The caller owns *out. values: NULL, or receives the exchange that moves values of
 * blocks with these entries. The caller owns it too; it needs 8 bytes per entry of either block, and room for
 * a value of each. Collective, agreed. */
sley_status sl_transpose_blocks(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                                const int64_t *col_begin, sl_transposition **values, sley_matrix **out);

/* Moves values. val: the values of this rank's block of A, in the order of its entries. out: receives the
 * values of this rank's block of A^T, in the order of its entries. Both are in host memory. Allocates
 * nothing; not counted. Errors: SLEY_ERR_PEER. Collective. */
sley_status sl_transposition_run(const sl_transposition *transposition, const void *val, void *out);

/* Frees the exchange. transposition may be NULL. Not collective. */
void sl_transposition_destroy(sl_transposition *transposition);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The transpose of a matrix in row blocks: blocks of A^T from those of A, and later new values for them. */
#ifndef SLEY_PLAN_TRANSPOSE_BLOCKS_H
#define SLEY_PLAN_TRANSPOSE_BLOCKS_H

#include "matrix/matrix.h"
#include "transport/transport.h"

/* A prepared exchange of values: which of its entries a rank sends where, and where those that come belong.
 * It refers to no matrix. */
typedef struct sl_transposition sl_transposition;

/* This rank's row block of A^T from every rank's row block of A: rows col_begin[rank] .. of A^T, whose
 * columns are the rows of A. Partitions as sl_inspect takes them for A. *out is the caller's. values: NULL,
 * or receives the exchange of values from blocks with the entries of these, also the caller's, which takes 8
 * bytes for each entry of either block, and a value. Collective, agreed. */
sley_status sl_transpose_blocks(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                                const int64_t *col_begin, sl_transposition **values, sley_matrix **out);

/* Moves values: val has those of this rank's block of A, in the order of its entries; out receives those of
 * its block of A^T, likewise, from all ranks. Both in the host's memory. Allocates nothing. Not counted.
 * Errors: SLEY_ERR_PEER. Collective. */
sley_status sl_transposition_run(const sl_transposition *transposition, const void *val, void *out);

/* Accepts NULL. Not collective. */
void sl_transposition_destroy(sl_transposition *transposition);

#endif

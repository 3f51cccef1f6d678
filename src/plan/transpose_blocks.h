/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLEY_PLAN_TRANSPOSE_H
#define SLEY_PLAN_TRANSPOSE_H

#include "matrix/matrix.h"
#include "transport/transport.h"

/* This rank's row block of A^T from every rank's row block of A: rows col_begin[rank] .. of A^T, whose
 * columns are the rows of A. Partitions as sl_inspect takes them for A. *out is the caller's. Collective,
 * agreed. */
sley_status sl_transpose_blocks(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                                const int64_t *col_begin, sley_matrix **out);

#endif

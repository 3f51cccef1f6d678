/* SPDX-License-Identifier: Apache-2.0 */
/* Moving entries to the ranks that own their rows. */
#ifndef SLEY_PARALLEL_IO_PIO_ENTRIES_H
#define SLEY_PARALLEL_IO_PIO_ENTRIES_H

#include "matrix/matrix.h"
#include "transport/transport.h"

/* Makes this rank's rows [begin[rank], begin[rank + 1]) of the matrix whose triplets, numbered over the whole
 * matrix, are distributed over the ranks. The result has the same bits as sl_coo_to_csr of all ranks'
 * triplets in the order of the ranks. coo is freed, also on an error. Besides the triplets and the rows it
 * takes memory for the rank's entries twice. Collective, agreed. */
sley_status sl_entries_to_rows(sl_comm *comm, sl_coo *coo, sl_symmetry symmetry, sl_repeats repeats,
                               const int64_t *begin, sley_matrix **out);

/* Moves the rows of a matrix from one partition to another: block is this rank's rows [from[rank], from[rank
 * + 1]), *out its rows [to[rank], to[rank + 1]). A rank without rows may pass a block of other columns and
 * index type, or NULL. The block is destroyed, also on an error. Collective, agreed. */
sley_status sl_rows_to_rows(sl_comm *comm, sley_matrix *block, const int64_t *from, const int64_t *to,
                            sley_matrix **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Entries on their way to the ranks that own their rows. */
#ifndef SLEY_SPREAD_ENTRIES_H
#define SLEY_SPREAD_ENTRIES_H

#include "matrix/matrix.h"
#include "transport/transport.h"

/* This rank's rows [begin[rank], begin[rank + 1]) of the matrix whose triplets, numbered over the whole
 * matrix, the ranks hold: the rows of sl_coo_to_csr of all ranks' triplets, one rank's after the other's, to
 * the bit. coo is freed on the way, also on an error. Takes, beside the triplets and the rows, the rank's
 * entries twice. Collective, agreed. */
sley_status sl_entries_to_rows(sl_comm *comm, sl_coo *coo, sl_symmetry symmetry, sl_repeats repeats,
                               const int64_t *begin, sley_matrix **out);

/* Rows of a matrix that the ranks hold by one partition, by another: this rank's rows [to[rank], to[rank +
 * 1]) of the blocks that ranks have of rows [from[r], from[r + 1]). The block, of another rank's number of
 * columns and index as well, is destroyed, also on an error; ranks without rows may give NULL. Collective,
 * agreed. */
sley_status sl_rows_to_rows(sl_comm *comm, sley_matrix *block, const int64_t *from, const int64_t *to,
                            sley_matrix **out);

#endif

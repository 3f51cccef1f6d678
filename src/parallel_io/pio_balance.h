/* SPDX-License-Identifier: Apache-2.0 */
/* Balanced nonzeros of a matrix of which every rank has its rows alone. */
#ifndef SLEY_PARALLEL_IO_PIO_BALANCE_H
#define SLEY_PARALLEL_IO_PIO_BALANCE_H

#include "matrix/matrix.h"
#include "transport/transport.h"

/* What sl_partition_nnz says of the whole matrix; block: the rank's rows [from[rank], from[rank + 1]).
 * Collective, agreed. */
sley_status sl_pio_partition_nnz(sl_comm *comm, const sley_matrix *block, const int64_t *from,
                                 int64_t *begin);

#endif

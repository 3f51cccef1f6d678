/* SPDX-License-Identifier: Apache-2.0 */
/* A partition by balanced nonzeros, for a matrix whose rows are distributed. */
#ifndef SLEY_PARALLEL_IO_PIO_BALANCE_H
#define SLEY_PARALLEL_IO_PIO_BALANCE_H

#include "matrix/matrix.h"
#include "transport/transport.h"

/* Computes the partition that sl_partition_nnz computes for the whole matrix; block: the rank's rows
 * [from[rank], from[rank + 1]). Collective, agreed. */
sley_status sl_pio_partition_nnz(sl_comm *comm, const sley_matrix *block, const int64_t *from,
                                 int64_t *begin);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The displacement and count arrays of an alltoallv, and exclusive prefix sums over ranks. */
#ifndef SLEY_PARALLEL_IO_PIO_ALLTOALL_H
#define SLEY_PARALLEL_IO_PIO_ALLTOALL_H

#include "transport/transport.h"

/* The lists of an alltoallv: size entries each, in bytes. */
typedef struct sl_alltoall_lists {
  int64_t *send_at, *send_bytes, *recv_at, *recv_bytes;
} sl_alltoall_lists;

sley_status sl_alltoall_alloc(int size, sl_alltoall_lists *out);
void sl_alltoall_free(sl_alltoall_lists *trade);

/* Sets all lists to zero. */
void sl_alltoall_clear(sl_alltoall_lists *trade, int size);

/* Computes the positions from the bytes, without gaps. */
void sl_alltoall_pack(sl_alltoall_lists *trade, int size);

/* Runs the alltoallv. Collective. */
sley_status sl_alltoall_run(sl_comm *comm, const sl_alltoall_lists *trade, const void *send, void *recv);

/* Sums numbers over ranks. *before: the sum over lower ranks; *all (or NULL): over all ranks. Collective. */
sley_status sl_prefix_sum(sl_comm *comm, int64_t own, int64_t *before, int64_t *all);

#endif

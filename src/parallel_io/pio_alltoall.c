/* SPDX-License-Identifier: Apache-2.0 */
/* The displacement and count arrays of an alltoallv, and exclusive prefix sums over ranks. */
#include "parallel_io/pio_alltoall.h"

#include <string.h>

#include "base/memory.h"

enum { LISTS = 4 };

sley_status sl_alltoall_alloc(int size, sl_alltoall_lists *out) {
  int64_t *lists = sl_alloc_zero(size, LISTS * sizeof *lists, "the sizes of an exchange");
  if (!lists)
    return SLEY_ERR_MEMORY;
  *out = (sl_alltoall_lists){lists, lists + size, lists + 2 * (size_t)size, lists + 3 * (size_t)size};
  return SLEY_OK;
}

void sl_alltoall_free(sl_alltoall_lists *trade) {
  sl_free(trade->send_at);
  *trade = (sl_alltoall_lists){0};
}

void sl_alltoall_clear(sl_alltoall_lists *trade, int size) {
  memset(trade->send_at, 0, LISTS * (size_t)size * sizeof *trade->send_at);
}

void sl_alltoall_pack(sl_alltoall_lists *trade, int size) {
  trade->send_at[0] = trade->recv_at[0] = 0;
  for (int r = 1; r < size; r++) {
    trade->send_at[r] = trade->send_at[r - 1] + trade->send_bytes[r - 1];
    trade->recv_at[r] = trade->recv_at[r - 1] + trade->recv_bytes[r - 1];
  }
}

sley_status sl_alltoall_run(sl_comm *comm, const sl_alltoall_lists *trade, const void *send, void *recv) {
  return comm->ops->alltoallv(comm, send, trade->send_at, trade->send_bytes, recv, trade->recv_at,
                              trade->recv_bytes);
}

sley_status sl_prefix_sum(sl_comm *comm, int64_t own, int64_t *before, int64_t *all) {
  int64_t *numbers = NULL, sum = 0;
  sley_status status = sl_agree(comm, SL_NEW(numbers, comm->size, "numbers of the ranks"));
  if (status == SLEY_OK)
    status = comm->ops->allgather(comm, &own, sizeof own, numbers);
  for (int r = 0; r < comm->size && status == SLEY_OK; r++) {
    if (r == comm->rank)
      *before = sum;
    if (__builtin_add_overflow(sum, numbers[r], &sum))
      status = sl_fail(SLEY_ERR_OVERFLOW, "a sum over %d ranks does not fit 64 bits", comm->size);
  }
  if (all && status == SLEY_OK)
    *all = sum;
  sl_free(numbers);
  return status;
}

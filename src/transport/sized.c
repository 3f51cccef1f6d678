/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/sized.h"

#include "base/memory.h"

static void fill(const sl_sized_list *lists, int count, sl_row_list *rows) {
  for (int i = 0; i < count; i++)
    rows[i] = (sl_row_list){.peer = lists[i].peer, .count = lists[i].capacity, .bytes = 1};
}

sley_status sl_sized_as_rows(const sl_sized_spec *spec, const sl_comm *comm, sl_exchange_spec *out,
                             sl_row_list **rows) {
  const int size = comm->size;
  *rows = NULL;
  if (!spec->name)
    return sl_fail(SLEY_ERR_ARG, "a sized exchange needs a name");
  if (spec->sends < 0 || spec->sends > size || spec->recvs < 0 || spec->recvs > size ||
      (spec->sends > 0 && !spec->send) || (spec->recvs > 0 && !spec->recv))
    return sl_fail(SLEY_ERR_ARG,
                   "sized exchange %s: %d lists to send and %d to receive, with %d ranks: at most one of "
                   "each per rank is possible",
                   spec->name, spec->sends, spec->recvs, size);
  SL_TRY(SL_NEW_ZERO(*rows, (int64_t)spec->sends + spec->recvs, "a sized exchange"));
  fill(spec->send, spec->sends, *rows);
  fill(spec->recv, spec->recvs, *rows + spec->sends);
  *out = (sl_exchange_spec){.name = spec->name,
                            .sends = spec->sends,
                            .recvs = spec->recvs,
                            .send = *rows,
                            .recv = *rows + spec->sends,
                            .dtype = SLEY_F32};
  return sl_lists_check(out, comm);
}

sley_status sl_sized_check_lengths(const char *name, const sl_row_list *send, int sends,
                                   const int64_t *send_bytes) {
  for (int i = 0; i < sends; i++)
    if (send_bytes[i] < 0 || send_bytes[i] > send[i].count)
      return sl_fail(SLEY_ERR_ARG, "sized exchange %s: %lld bytes for rank %d, but the capacity is %lld",
                     name, (long long)send_bytes[i], send[i].peer, (long long)send[i].count);
  return SLEY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of an exchange's lists that all transports share. */
#include "transport/lists.h"

enum { ROW_HEADER = 128 }; /* maximum number of bytes that a transport adds to a row that travels alone */

typedef struct signs {
  const int64_t *row;
  _Atomic bool negative; /* a row number is negative */
} signs;

static sley_status look_for_negative(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  signs *s = context;
  int64_t all = 0;
  for (int64_t i = begin; i < end; i++)
    all |= s->row[i];
  if (all < 0)
    s->negative = true;
  return SLEY_OK;
}

/* Searches in parallel for a negative row number, and for its position only if there is one, because most
 * lists are long and correct. */
static sley_status check_rows(const sl_exchange_spec *spec, const char *way, const sl_row_list *list,
                              sl_team *team) {
  enum { GRAIN = 1 << 14, LONG = 1 << 17 };
  const int64_t count = list->rows ? list->count : 0;
  signs s = {.row = list->rows};
  SL_TRY(sl_team_for(count < LONG ? NULL : team, count, GRAIN, look_for_negative, &s));
  for (int64_t i = 0; s.negative; i++)
    if (list->rows[i] < 0)
      return sl_fail(SLEY_ERR_ARG, "exchange %s: %s rank %d: entry %lld is row %lld: it must not be negative",
                     spec->name, way, list->peer, (long long)i, (long long)list->rows[i]);
  return SLEY_OK;
}

static sley_status check_list(const sl_exchange_spec *spec, const char *way, const sl_row_list *list,
                              const sl_comm *comm) {
  const int size = comm->size;
  int64_t bytes;
  if (list->peer < 0 || list->peer >= size)
    return sl_fail(SLEY_ERR_ARG, "exchange %s: %s rank %d: there are %d ranks", spec->name, way, list->peer,
                   size);
  if (list->count < 0 || list->bytes < 0 || list->offset < 0 || list->first < 0 ||
      __builtin_add_overflow(list->bytes, ROW_HEADER, &bytes) ||
      __builtin_mul_overflow(list->count, bytes, &bytes) ||
      __builtin_add_overflow(list->first, list->count, &bytes))
    return sl_fail(SLEY_ERR_ARG,
                   "exchange %s: %s rank %d: %lld rows from row %lld on, %lld bytes from byte %lld on: a "
                   "number is negative or too large",
                   spec->name, way, list->peer, (long long)list->count, (long long)list->first,
                   (long long)list->bytes, (long long)list->offset);
  if (spec->add && list->bytes % (int64_t)sley_dtype_bytes(spec->dtype) != 0)
    return sl_fail(SLEY_ERR_ARG,
                   "exchange %s: %s rank %d: rows to add must consist of whole values, but have %lld bytes",
                   spec->name, way, list->peer, (long long)list->bytes);
  int64_t staged = 0;
  for (int s = 0; list->piece_end && s < spec->pieces - 1; s++) {
    if (list->piece_end[s] < staged || list->piece_end[s] > list->count)
      return sl_fail(SLEY_ERR_ARG,
                     "exchange %s: %s rank %d: piece %d ends at %lld of %lld rows, but the one before at "
                     "%lld: ends must ascend",
                     spec->name, way, list->peer, s, (long long)list->piece_end[s], (long long)list->count,
                     (long long)staged);
    staged = list->piece_end[s];
  }
  return check_rows(spec, way, list, comm->team);
}

static sley_status check_lists(const sl_exchange_spec *spec, const char *way, const sl_row_list *lists,
                               int count, const sl_comm *comm) {
  const int size = comm->size;
  if (count < 0 || count > size || (count > 0 && !lists))
    return sl_fail(SLEY_ERR_ARG,
                   "exchange %s: %d lists to %s %d ranks: there must be 0 or more, and at most one per rank",
                   spec->name, count, way, size);
  for (int i = 0; i < count; i++) {
    SL_TRY(check_list(spec, way, &lists[i], comm));
    if (i > 0 && lists[i].peer <= lists[i - 1].peer)
      return sl_fail(SLEY_ERR_ARG, "exchange %s: the lists to %s must have ascending peers, not %d after %d",
                     spec->name, way, lists[i].peer, lists[i - 1].peer);
  }
  return SLEY_OK;
}

sley_status sl_lists_check(const sl_exchange_spec *spec, const sl_comm *comm) {
  if (!spec->name)
    return sl_fail(SLEY_ERR_ARG, "an exchange needs a name");
  if (sley_dtype_bytes(spec->dtype) == 0 || spec->grain > SL_GRAIN_ROW)
    return sl_fail(SLEY_ERR_ARG, "exchange %s: dtype %d or grain %d does not exist", spec->name,
                   (int)spec->dtype, (int)spec->grain);
  if (spec->pieces < 0 || spec->pieces > SL_PIECES_MOST || (spec->add && spec->pieces > 0))
    return sl_fail(SLEY_ERR_ARG, "exchange %s: %d pieces: 0 to %d are possible, and only 0 if rows are added",
                   spec->name, spec->pieces, SL_PIECES_MOST);
  SL_TRY(check_lists(spec, "send to", spec->send, spec->sends, comm));
  return check_lists(spec, "receive from", spec->recv, spec->recvs, comm);
}

sl_list_facts sl_list_facts_of(const sl_exchange_spec *spec, const sl_row_list *lists, int count, int peer) {
  for (int i = 0; i < count; i++)
    if (lists[i].peer == peer)
      return (sl_list_facts){1,         lists[i].count,      lists[i].bytes, (int64_t)spec->grain,
                             spec->add, (int64_t)spec->dtype};
  return (sl_list_facts){0};
}

sley_status sl_list_facts_match(const char *name, int from, int to, const sl_list_facts *sent,
                                const sl_list_facts *taken) {
  if (!sent->present && !taken->present)
    return SLEY_OK;
  if (!taken->present)
    return sl_fail(SLEY_ERR_ARG, "exchange %s: rank %d sends to rank %d, which does not receive from it",
                   name, from, to);
  if (!sent->present)
    return sl_fail(SLEY_ERR_ARG, "exchange %s: rank %d receives from rank %d, which does not send to it",
                   name, to, from);
  if (sent->count != taken->count || sent->bytes != taken->bytes)
    return sl_fail(
        SLEY_ERR_ARG,
        "exchange %s: rank %d sends rank %d %lld rows of %lld bytes, but it receives %lld rows of %lld bytes",
        name, from, to, (long long)sent->count, (long long)sent->bytes, (long long)taken->count,
        (long long)taken->bytes);
  if (sent->grain != taken->grain || sent->add != taken->add || sent->dtype != taken->dtype)
    return sl_fail(SLEY_ERR_ARG, "exchange %s: ranks %d and %d have different grains, operators or dtypes",
                   name, from, to);
  return SLEY_OK;
}

static int64_t list_memory(const sl_comm *comm, const sl_row_list *list) {
  if (!sl_list_moves(list))
    return 0;
  int64_t bytes = list->peer == comm->rank ? 0 : sl_device_bytes(list->count * list->bytes);
  if (list->rows && !comm->device->ops->host_addresses)
    bytes += sl_device_bytes(list->count * (int64_t)sizeof *list->rows);
  return bytes;
}

int64_t sl_lists_memory(sl_comm *comm, const sl_exchange_spec *spec) {
  int64_t bytes = 0;
  for (int i = 0; i < spec->sends; i++)
    bytes += list_memory(comm, &spec->send[i]);
  for (int i = 0; i < spec->recvs; i++)
    bytes += list_memory(comm, &spec->recv[i]);
  return bytes;
}

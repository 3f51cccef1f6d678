/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of ranks that are threads: making and ending them. Two meetings: at the first each rank shows
 * what it has made of its lists, at the second whether its lists fit its peers'. */
#include <string.h>

#include "base/memory.h"
#include "transport/threads/device_exchange.h"

static sley_status check_list(const sl_exchange_spec *spec, const char *way, const sl_row_list *list,
                              int size) {
  int64_t bytes;
  if (list->peer < 0 || list->peer >= size)
    return sl_fail(SLEY_ERR_ARG, "exchange %s: %s rank %d of %d", spec->name, way, list->peer, size);
  if (list->count < 0 || list->bytes < 0 || list->offset < 0 || list->first < 0 ||
      __builtin_add_overflow(list->bytes, 2 * SL_SLOT_HEADER, &bytes) ||
      __builtin_mul_overflow(list->count, bytes, &bytes) ||
      __builtin_add_overflow(list->first, list->count, &bytes))
    return sl_fail(SLEY_ERR_ARG, "exchange %s: %s rank %d: %lld rows from %lld, %lld bytes at %lld",
                   spec->name, way, list->peer, (long long)list->count, (long long)list->first,
                   (long long)list->bytes, (long long)list->offset);
  if (spec->add && list->bytes % (int64_t)sley_dtype_bytes(spec->dtype) != 0)
    return sl_fail(SLEY_ERR_ARG, "exchange %s: %s rank %d: %lld bytes are no whole values to add", spec->name,
                   way, list->peer, (long long)list->bytes);
  for (int64_t i = 0; list->rows && i < list->count; i++)
    if (list->rows[i] < 0)
      return sl_fail(SLEY_ERR_ARG, "exchange %s: %s rank %d: entry %lld is row %lld", spec->name, way,
                     list->peer, (long long)i, (long long)list->rows[i]);
  return SLEY_OK;
}

static sley_status check_lists(const sl_exchange_spec *spec, const char *way, const sl_row_list *lists,
                               int count, int size) {
  if (count < 0 || count > size || (count > 0 && !lists))
    return sl_fail(SLEY_ERR_ARG, "exchange %s: %d lists to %s %d ranks", spec->name, count, way, size);
  for (int i = 0; i < count; i++) {
    SL_TRY(check_list(spec, way, &lists[i], size));
    if (i > 0 && lists[i].peer <= lists[i - 1].peer)
      return sl_fail(SLEY_ERR_ARG, "exchange %s: the lists to %s must have ascending peers, not %d after %d",
                     spec->name, way, lists[i].peer, lists[i - 1].peer);
  }
  return SLEY_OK;
}

static sley_status check_spec(const sl_exchange_spec *spec, int size) {
  if (!spec->name)
    return sl_fail(SLEY_ERR_ARG, "an exchange needs a name");
  if (sley_dtype_bytes(spec->dtype) == 0 || spec->grain > SL_GRAIN_ROW)
    return sl_fail(SLEY_ERR_ARG, "exchange %s: dtype %d, grain %d", spec->name, (int)spec->dtype,
                   (int)spec->grain);
  SL_TRY(check_lists(spec, "send to", spec->send, spec->sends, size));
  return check_lists(spec, "receive from", spec->recv, spec->recvs, size);
}

/* Frees an exchange to which nobody refers any more. */
static void free_exchange(sl_threads_exchange *exchange) {
  if (!exchange)
    return;
  for (int i = 0; exchange->channel && i < exchange->sends; i++)
    sl_free(exchange->channel[i].buffer);
  sl_free(exchange->channel);
  sl_free(exchange->from);
  sl_free(exchange->ranks);
  sl_free(exchange->send);
  sl_free(exchange->recv);
  sl_free(exchange->name);
  sl_free(exchange);
}

static sley_status open_channel(sl_threads_exchange *exchange, int i) {
  sl_channel *channel = &exchange->channel[i];
  const sl_row_list *list = &exchange->send[i];
  channel->list = list;
  channel->closed = &exchange->closed;
  bool here =
      exchange->base.comm->device->ops->host_addresses; /* else the buffers are made when peers are known */
  bool message =
      sl_link_to(exchange->base.comm, list->peer) == SL_LINK_MESSAGE && list->count > 0 && list->bytes > 0;
  if (message && exchange->grain == SL_GRAIN_ROW) {
    channel->way = SL_ROW_BY_ROW;
    channel->slot = SL_SLOT_HEADER + (list->bytes + SL_SLOT_HEADER - 1) / SL_SLOT_HEADER * SL_SLOT_HEADER;
    return here ? SL_NEW_ZERO(channel->buffer, list->count * channel->slot, "messages of rows") : SLEY_OK;
  }
  if (message && list->rows) {
    channel->way = SL_PACKED;
    return here ? SL_NEW(channel->buffer, list->count * list->bytes, "a message") : SLEY_OK;
  }
  channel->way = SL_IN_PLACE;
  return SLEY_OK;
}

static sley_status make(sl_comm *comm, const sl_exchange_spec *spec, sl_threads_exchange **out) {
  SL_TRY(check_spec(spec, comm->size));
  sl_threads_exchange *exchange;
  SL_TRY(SL_NEW_ZERO(exchange, 1, "an exchange"));
  *out = exchange;
  exchange->base.comm = comm;
  atomic_init(&exchange->references, comm->size);
  exchange->add = spec->add;
  exchange->dtype = spec->dtype;
  exchange->grain = spec->grain;
  exchange->name = sl_strdup(spec->name);
  if (!exchange->name)
    return SLEY_ERR_MEMORY;
  SL_TRY(SL_NEW(exchange->send, spec->sends, "an exchange"));
  SL_TRY(SL_NEW(exchange->recv, spec->recvs, "an exchange"));
  SL_TRY(SL_NEW_ZERO(exchange->channel, spec->sends, "an exchange"));
  SL_TRY(SL_NEW_ZERO(exchange->from, spec->recvs, "an exchange"));
  SL_TRY(SL_NEW_ZERO(exchange->ranks, comm->size, "an exchange"));
  for (; exchange->recvs < spec->recvs; exchange->recvs++)
    exchange->recv[exchange->recvs] = spec->recv[exchange->recvs];
  for (; exchange->sends < spec->sends; exchange->sends++) {
    exchange->send[exchange->sends] = spec->send[exchange->sends];
    SL_TRY(open_channel(exchange, exchange->sends));
  }
  return SLEY_OK;
}

static int find_peer(const sl_row_list *lists, int count, int peer) {
  for (int i = 0; i < count; i++)
    if (lists[i].peer == peer)
      return i;
  return -1;
}

/* Whether what one rank sends another is what that one takes. */
static sley_status match(const sl_threads_exchange *sender, const sl_threads_exchange *receiver) {
  int from = sender->base.comm->rank, to = receiver->base.comm->rank;
  int s = find_peer(sender->send, sender->sends, to), r = find_peer(receiver->recv, receiver->recvs, from);
  if (s < 0 && r < 0)
    return SLEY_OK;
  if (r < 0)
    return sl_fail(SLEY_ERR_ARG, "exchange %s: rank %d sends to rank %d, which does not receive from it",
                   sender->name, from, to);
  if (s < 0)
    return sl_fail(SLEY_ERR_ARG, "exchange %s: rank %d receives from rank %d, which does not send to it",
                   sender->name, to, from);
  const sl_row_list *sent = &sender->send[s], *taken = &receiver->recv[r];
  if (sent->count != taken->count || sent->bytes != taken->bytes)
    return sl_fail(
        SLEY_ERR_ARG,
        "exchange %s: rank %d sends rank %d %lld rows of %lld bytes, which takes %lld rows of %lld bytes",
        sender->name, from, to, (long long)sent->count, (long long)sent->bytes, (long long)taken->count,
        (long long)taken->bytes);
  if (sender->grain != receiver->grain || sender->add != receiver->add || sender->dtype != receiver->dtype)
    return sl_fail(SLEY_ERR_ARG, "exchange %s: ranks %d and %d differ in grain, operator or dtype",
                   sender->name, from, to);
  return SLEY_OK;
}

static sley_status connect(sl_threads_exchange *exchange) {
  sl_comm *comm = exchange->base.comm;
  for (int p = 0; p < comm->size; p++) {
    SL_TRY(match(exchange, exchange->ranks[p]));
    SL_TRY(match(exchange->ranks[p], exchange));
  }
  for (int i = 0; i < exchange->recvs; i++) {
    sl_threads_exchange *sender = exchange->ranks[exchange->recv[i].peer];
    exchange->from[i] = &sender->channel[find_peer(sender->send, sender->sends, comm->rank)];
  }
  return SLEY_OK;
}

static void release(sl_threads_exchange *exchange) {
  if (atomic_fetch_sub(&exchange->references, 1) == 1)
    free_exchange(exchange);
}

static void release_all(sl_threads_exchange *exchange) {
  int size = exchange->base.comm->size, rank = exchange->base.comm->rank;
  for (int r = 0; r < size; r++)
    if (r != rank)
      release(exchange->ranks[r]);
  release(exchange);
}

sley_status sl_threads_exchange_create(sl_comm *base, const sl_exchange_spec *spec, sl_exchange **out) {
  sl_threads_comm *comm = (sl_threads_comm *)base;
  *out = NULL;
  sl_threads_exchange *exchange = NULL;
  sley_status made = make(base, spec, &exchange);
  sley_status status =
      sl_world_meet(comm, &(sl_post){.call = "exchange_create", .data = {exchange}, .status = made});
  if (status != SLEY_OK) { /* on every rank, so nobody refers to another's */
    free_exchange(exchange);
    return status;
  }
  for (int r = 0; r < base->size; r++)
    exchange->ranks[r] = (sl_threads_exchange *)sl_world_post(comm, r)->data[0];
  sley_status fits = connect(exchange);
  if (fits == SLEY_OK && !base->device->ops->host_addresses)
    fits = sl_device_exchange_prepare(exchange);
  status = sl_world_meet(comm, &(sl_post){.call = "end of exchange_create", .status = fits});
  if (status != SLEY_OK) {
    sl_device_exchange_free(exchange);
    release_all(exchange);
    return status;
  }
  *out = &exchange->base;
  return SLEY_OK;
}

/* Waits for nobody but those that are copying from this rank right now, and for its own device. */
void sl_threads_exchange_destroy(sl_exchange *base) {
  if (!base)
    return;
  sl_threads_exchange *exchange = (sl_threads_exchange *)base;
  if (exchange->device)
    sl_device_exchange_drain(exchange);
  atomic_store(&exchange->closed, true);
  sl_world_quiesce((sl_threads_comm *)base->comm);
  sl_device_exchange_free(exchange);
  release_all(exchange);
}

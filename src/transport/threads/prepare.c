/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and destroys exchanges of ranks that are threads. The ranks meet twice: in the first meeting each
 * rank publishes its exchange, in the second it publishes whether its lists match its peers' lists. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "transport/lists.h"
#include "transport/threads/device_exchange.h"
#include "transport/threads/peers.h"

/* Frees an exchange without references. */
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
  bool here = exchange->base.comm->device->ops->host_addresses; /* otherwise the buffers are made when the
                                                                   peers are known */
  bool message = sl_link_to(exchange->base.comm, list->peer) == SL_LINK_MESSAGE && sl_list_moves(list);
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

int64_t sl_threads_exchange_memory(sl_comm *comm, const sl_exchange_spec *spec) {
  int64_t bytes = 0;
  if (!comm->device->ops->host_addresses)
    return sl_device_exchange_memory(comm, spec);
  for (int i = 0; i < spec->sends; i++) {
    const sl_row_list *list = &spec->send[i];
    int64_t header = spec->grain == SL_GRAIN_ROW ? 2 * SL_SLOT_HEADER : 0;
    if (sl_link_to(comm, list->peer) == SL_LINK_MESSAGE)
      bytes += list->count * (header + list->bytes);
  }
  return bytes;
}

static sley_status make(sl_comm *comm, const sl_exchange_spec *spec, sl_threads_exchange **out) {
  SL_TRY(sl_lists_check(spec, comm));
  sl_threads_exchange *exchange;
  SL_TRY(SL_NEW_ZERO(exchange, 1, "an exchange"));
  *out = exchange;
  exchange->base.comm = comm;
  atomic_init(&exchange->references, comm->size);
  exchange->add = spec->add;
  exchange->dtype = spec->dtype;
  exchange->grain = spec->grain;
  exchange->pieces = spec->pieces;
  exchange->unhurried = spec->unhurried;
  exchange->capture = spec->capture;
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

static sl_list_facts facts_of(const sl_threads_exchange *exchange, bool sends, int peer) {
  sl_exchange_spec spec = {.grain = exchange->grain, .add = exchange->add, .dtype = exchange->dtype};
  return sends ? sl_list_facts_of(&spec, exchange->send, exchange->sends, peer)
               : sl_list_facts_of(&spec, exchange->recv, exchange->recvs, peer);
}

/* Checks that the rows that one rank sends to another match the rows that the other receives. */
static sley_status match(const sl_threads_exchange *sender, const sl_threads_exchange *receiver) {
  int from = sender->base.comm->rank, to = receiver->base.comm->rank;
  sl_list_facts sent = facts_of(sender, true, to), taken = facts_of(receiver, false, from);
  return sl_list_facts_match(sender->name, from, to, &sent, &taken);
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
  if (status != SLEY_OK) { /* the status is the same on every rank, so no rank refers to another's exchange */
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

/* Reclaims the last round, also after a failure, whose message is preserved. */
static void reclaim_last(sl_threads_exchange *exchange) {
  sl_error error;
  sl_error_save(&error);
  sley_status status = sl_threads_exchange_reclaim(&exchange->base, exchange->base.comm->queue);
  if (status != SLEY_OK && *error.text)
    (void)sl_error_restore(&error);
}

/* Waits for the receivers of this rank's last rows, and for its own device. */
void sl_threads_exchange_destroy(sl_exchange *base) {
  if (!base)
    return;
  sl_threads_exchange *exchange = (sl_threads_exchange *)base;
  if (exchange->ended)
    reclaim_last(exchange);
  if (exchange->device)
    sl_device_exchange_drain(exchange);
  atomic_store(&exchange->closed, true);
  sl_threads_leave_words(exchange);
  sl_world_quiesce((sl_threads_comm *)base->comm);
  sl_threads_settle_boards(exchange);
  sl_device_exchange_free(exchange);
  release_all(exchange);
}

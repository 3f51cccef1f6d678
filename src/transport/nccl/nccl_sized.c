/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of sized exchanges by NCCL, whose receives must know their length: begin sends the lengths over
 * the sockets, and the first receive, or end, waits for the lengths of all peers and enqueues the group.
 * Ranks end their exchanges in the same order, so their groups match. The host waits for its peers' begin,
 * but not for a GPU. */
#include "base/memory.h"
#include "transport/nccl/nccl_comm.h"

/* A channel's length, and its messages over the sockets. */
typedef struct length_message {
  int64_t bytes;
  sl_mesh_outgoing send;
  sl_mesh_incoming recv;
} length_message;

typedef struct nccl_sized {
  sl_process_exchange base;
  sl_nccl_events events;
  bool messages; /* there are messages between this rank and others */
  bool grouped;  /* this round's group is enqueued */
} nccl_sized;

static sl_nccl_comm *comm_of(const sl_process_exchange *exchange) {
  return (sl_nccl_comm *)exchange->base.comm;
}

static sl_mesh *mesh_of(const sl_process_exchange *exchange) {
  return comm_of(exchange)->base.mesh;
}

static uint64_t tag_of(const sl_process_exchange *exchange) {
  return exchange->id << 32 | (exchange->round & UINT32_MAX);
}

static sley_status open_channels(sl_process_channel *channels, int count) {
  for (int i = 0; i < count; i++)
    if (channels[i].travels && !(channels[i].own = sl_alloc_zero(1, sizeof(length_message), "a message")))
      return SLEY_ERR_MEMORY;
  return SLEY_OK;
}

static sley_status open_messages(sl_process_exchange *base) {
  nccl_sized *exchange = (nccl_sized *)base;
  SL_TRY(open_channels(base->send, base->sends));
  SL_TRY(open_channels(base->recv, base->recvs));
  exchange->messages = sl_nccl_travels(base);
  return sl_nccl_events_open(comm_of(base), &exchange->events);
}

static void close_messages(sl_process_exchange *base) {
  sl_nccl_events_close(comm_of(base), &((nccl_sized *)base)->events);
  for (int i = 0; i < base->sends; i++)
    sl_free(base->send[i].own);
  for (int i = 0; i < base->recvs; i++)
    sl_free(base->recv[i].own);
}

static sley_status begin(sl_process_exchange *base, sl_queue *queue) {
  nccl_sized *exchange = (nccl_sized *)base;
  sl_mesh *mesh = mesh_of(base);
  exchange->grouped = !exchange->messages;
  SL_TRY(queue->ops->event_record(queue, exchange->events.ready));
  for (int i = 0; i < base->recvs; i++) {
    length_message *message = base->recv[i].own;
    if (base->recv[i].travels)
      sl_mesh_recv(mesh, base->recv[i].list.peer, tag_of(base), &message->bytes, sizeof message->bytes,
                   &message->recv);
  }
  for (int i = 0; i < base->sends; i++) {
    length_message *message = base->send[i].own;
    if (!base->send[i].travels)
      continue;
    message->bytes = base->send[i].bytes;
    sl_mesh_send(mesh, base->send[i].list.peer, tag_of(base), &message->bytes, sizeof message->bytes,
                 &message->send);
  }
  return sl_mesh_progress(mesh);
}

static sley_status take_lengths(sl_process_exchange *base) {
  for (int i = 0; i < base->recvs; i++) {
    sl_process_channel *c = &base->recv[i];
    length_message *message = c->own;
    if (!c->travels)
      continue;
    SL_TRY(sl_mesh_wait_received(mesh_of(base), c->list.peer, &message->recv));
    if (message->bytes < 0 || message->bytes > c->list.count)
      return sl_fail(SLEY_ERR_INTERNAL, "exchange %s: rank %d announces %lld bytes, but the capacity is %lld",
                     base->name, c->list.peer, (long long)message->bytes, (long long)c->list.count);
    c->bytes = message->bytes;
  }
  for (int i = 0; i < base->sends; i++)
    if (base->send[i].travels)
      SL_TRY(sl_mesh_wait_sent(mesh_of(base), base->send[i].list.peer,
                               &((length_message *)base->send[i].own)->send));
  return SLEY_OK;
}

/* Enqueues the group, once in a round. */
static sley_status group(sl_process_exchange *base, sl_queue *queue) {
  nccl_sized *exchange = (nccl_sized *)base;
  sl_queue *beside = comm_of(base)->beside;
  if (exchange->grouped)
    return SLEY_OK;
  exchange->grouped = true;
  SL_TRY(take_lengths(base));
  SL_TRY(queue->ops->event_wait(beside, exchange->events.ready));
  SL_TRY(sl_nccl_enqueue(base));
  SL_TRY(queue->ops->event_record(beside, exchange->events.done));
  return queue->ops->event_wait(queue, exchange->events.done);
}

static sley_status receive(sl_process_exchange *base, sl_process_channel *channel, sl_queue *queue) {
  (void)channel;
  return group(base, queue);
}

const sl_carrier sl_nccl_sized_messages = {.exchange_bytes = sizeof(nccl_sized),
                                           .open = open_messages,
                                           .close = close_messages,
                                           .begin = begin,
                                           .receive = receive,
                                           .end = group,
                                           .reclaim = sl_carrier_reclaim_nothing,
                                           .messages = sl_carrier_one_message};

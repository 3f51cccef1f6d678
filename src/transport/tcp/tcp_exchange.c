/* SPDX-License-Identifier: Apache-2.0 */
/* Messages over sockets. Begin posts the receives and sends packed rows; end takes the messages in the order
 * of the list and acknowledges each to its sender by an empty message; reclaim waits for these
 * acknowledgements: so no rank completes a product in which a peer has failed, and none waits in between for
 * a slower rank. Sized exchanges have no acknowledgements: their src is free once the sockets have accepted
 * it. Messages also move while the rank computes (sl_mesh_work). On a device without host addresses messages
 * pass through host memory. */
#include "base/memory.h"
#include "transport/tcp/tcp.h"

/* The tcp part of a channel. */
typedef struct tcp_message {
  char *staged; /* buffer of the message in host memory; NULL if the message itself is in host memory */
  sl_mesh_outgoing send; /* the message, or its acknowledgement */
  sl_mesh_incoming recv;
} tcp_message;

static bool on_host(const sl_process_exchange *exchange) {
  return exchange->base.comm->device->ops->host_addresses;
}

static sl_mesh *boot_of(const sl_process_exchange *exchange) {
  return ((const sl_process_comm *)exchange->base.comm)->mesh;
}

/* Returns the memory from which the socket sends, or to which it receives. */
static char *message_of(const sl_process_channel *c) {
  const tcp_message *message = c->own;
  return message->staged ? message->staged : c->at;
}

/* ---- making */

static sley_status open_channels(const sl_process_exchange *exchange, sl_process_channel *channels,
                                 int count) {
  for (int i = 0; i < count; i++) {
    tcp_message *message;
    if (!channels[i].travels)
      continue;
    SL_TRY(SL_NEW_ZERO(message, 1, "a message"));
    channels[i].own = message;
    if (!on_host(exchange) &&
        !(message->staged = sl_alloc(channels[i].list.count, (size_t)channels[i].list.bytes, "a message")))
      return SLEY_ERR_MEMORY;
  }
  return SLEY_OK;
}

static sley_status open_messages(sl_process_exchange *exchange) {
  SL_TRY(open_channels(exchange, exchange->send, exchange->sends));
  return open_channels(exchange, exchange->recv, exchange->recvs);
}

static void close_channels(sl_process_channel *channels, int count) {
  for (int i = 0; i < count; i++) {
    tcp_message *message = channels[i].own;
    if (message)
      sl_free(message->staged);
    sl_free(message);
  }
}

static void close_messages(sl_process_exchange *exchange) {
  close_channels(exchange->send, exchange->sends);
  close_channels(exchange->recv, exchange->recvs);
}

/* ---- running */

static const uint64_t TAKEN = UINT64_C(1) << 55; /* bit in the tag of a message that is an acknowledgement */

static uint64_t tag_of(const sl_process_exchange *exchange) {
  return exchange->id << 32 | (exchange->round & UINT32_MAX);
}

static sley_status begin(sl_process_exchange *exchange, sl_queue *queue) {
  sl_comm *comm = exchange->base.comm;
  sl_mesh *mesh = boot_of(exchange);
  for (int i = 0; i < exchange->recvs; i++) {
    const sl_process_channel *c = &exchange->recv[i];
    tcp_message *message = c->own;
    if (c->travels && exchange->sized)
      sl_mesh_recv_up_to(mesh, c->list.peer, tag_of(exchange), message_of(c), c->list.count, &message->recv);
    else if (c->travels)
      sl_mesh_recv(mesh, c->list.peer, tag_of(exchange), message_of(c), c->bytes, &message->recv);
  }
  for (int i = 0; i < exchange->sends && !on_host(exchange); i++) {
    const sl_process_channel *c = &exchange->send[i];
    if (c->travels && c->bytes > 0)
      SL_TRY(queue->ops->copy(queue, SL_COPY_TO_HOST, message_of(c), c->at, c->bytes));
  }
  SL_TRY(sl_process_wait_for((sl_process_comm *)comm, queue)); /* until the messages are packed */
  uint64_t turn = ++((sl_process_comm *)comm)->rounds;
  int start = 0;
  while (start < exchange->sends && exchange->send[start].list.peer <= comm->rank)
    start++;
  for (int i = 0; i < exchange->sends; i++) {
    const sl_process_channel *c = &exchange->send[(start + i) % exchange->sends];
    tcp_message *message = c->own;
    if (!c->travels)
      continue;
    if (!exchange->sized)
      sl_mesh_recv(mesh, c->list.peer, TAKEN | tag_of(exchange), NULL, 0, &message->recv);
    sl_mesh_send_in_turn(mesh, sl_link_to(comm, c->list.peer) == SL_LINK_MESSAGE ? turn : 0, c->list.peer,
                         tag_of(exchange), message_of(c), c->bytes, &message->send);
    sl_process_counters_add(comm, sl_link_to(comm, c->list.peer), c->bytes, c->bytes > 0);
  }
  SL_TRY(sl_mesh_progress(mesh));
  sl_mesh_work(mesh);
  return SLEY_OK;
}

static sley_status receive(sl_process_exchange *exchange, sl_process_channel *c, sl_queue *queue) {
  tcp_message *message = c->own;
  SL_TRY(sl_mesh_wait_received(boot_of(exchange), c->list.peer, &message->recv));
  if (exchange->sized)
    c->bytes = message->recv.bytes;
  else
    sl_mesh_send(boot_of(exchange), c->list.peer, TAKEN | tag_of(exchange), NULL, 0, &message->send);
  if (!message->staged || c->bytes == 0)
    return SLEY_OK;
  return queue->ops->copy(queue, SL_COPY_TO_DEVICE, c->at, message->staged, c->bytes);
}

/* Does not wait for messages to other ranks, which may still be in flight. */
static sley_status end(sl_process_exchange *exchange, sl_queue *queue) {
  (void)queue;
  sl_mesh_work(boot_of(exchange));
  return SLEY_OK;
}

static sley_status reclaim(sl_process_exchange *exchange) {
  for (int i = 0; i < exchange->sends; i++) {
    const sl_process_channel *c = &exchange->send[i];
    tcp_message *message = c->own;
    if (!c->travels)
      continue;
    SL_TRY(sl_mesh_wait_sent(boot_of(exchange), c->list.peer, &message->send));
    if (!exchange->sized)
      SL_TRY(sl_mesh_wait_received(boot_of(exchange), c->list.peer, &message->recv));
  }
  for (int i = 0; i < exchange->recvs && !exchange->sized; i++) {
    const sl_process_channel *c = &exchange->recv[i];
    if (c->travels)
      SL_TRY(sl_mesh_wait_sent(boot_of(exchange), c->list.peer, &((tcp_message *)c->own)->send));
  }
  sl_mesh_work(boot_of(exchange));
  return SLEY_OK;
}

const sl_carrier sl_tcp_messages = {.exchange_bytes = sizeof(sl_process_exchange),
                                    .open = open_messages,
                                    .close = close_messages,
                                    .begin = begin,
                                    .receive = receive,
                                    .end = end,
                                    .reclaim = reclaim,
                                    .messages = sl_carrier_one_message};

/* SPDX-License-Identifier: Apache-2.0 */
/* Messages by NCCL. Begin enqueues one group of sends and receives on a stream beside the rank's own work, so
 * that the local part runs meanwhile; before the first message is used the queue waits for that stream. The
 * host does not wait for a GPU, and nothing is allocated. All rows for a peer are one transfer. */
#include "transport/nccl/nccl_comm.h"

typedef struct nccl_exchange {
  sl_process_exchange base;
  sl_nccl_events events;
  bool messages; /* there are messages between this rank and others */
} nccl_exchange;

static sl_nccl_comm *comm_of(const sl_process_exchange *exchange) {
  return (sl_nccl_comm *)exchange->base.comm;
}

static sley_status open_messages(sl_process_exchange *base) {
  nccl_exchange *exchange = (nccl_exchange *)base;
  exchange->messages = sl_nccl_travels(base);
  return sl_nccl_events_open(comm_of(base), &exchange->events);
}

static void close_messages(sl_process_exchange *base) {
  sl_nccl_events_close(comm_of(base), &((nccl_exchange *)base)->events);
}

sley_status sl_nccl_enqueue(const sl_process_exchange *exchange) {
  sl_nccl_comm *comm = comm_of(exchange);
  const sl_nccl_library *nccl = &comm->nccl;
  ncclResult_t result = nccl->GroupStart();
  for (int i = 0; i < exchange->sends && result == ncclSuccess; i++) {
    const sl_process_channel *c = &exchange->send[i];
    if (c->travels && c->bytes > 0)
      result = nccl->Send(c->at, (size_t)c->bytes, ncclInt8, c->list.peer, comm->comm, comm->stream);
    if (c->travels && c->bytes > 0 && result == ncclSuccess)
      sl_process_counters_add(&comm->base.base, sl_link_to(&comm->base.base, c->list.peer), c->bytes, 1);
  }
  for (int i = 0; i < exchange->recvs && result == ncclSuccess; i++) {
    const sl_process_channel *c = &exchange->recv[i];
    if (c->travels && c->bytes > 0)
      result = nccl->Recv(c->at, (size_t)c->bytes, ncclInt8, c->list.peer, comm->comm, comm->stream);
  }
  ncclResult_t ended = nccl->GroupEnd();
  return sl_nccl_settle(comm, result == ncclSuccess ? ended : result, "ncclSend and ncclRecv");
}

static sley_status begin(sl_process_exchange *base, sl_queue *queue) {
  nccl_exchange *exchange = (nccl_exchange *)base;
  sl_queue *beside = comm_of(base)->beside;
  if (!exchange->messages)
    return SLEY_OK;
  SL_TRY(queue->ops->event_record(queue, exchange->events.ready));
  SL_TRY(queue->ops->event_wait(beside, exchange->events.ready));
  SL_TRY(sl_nccl_enqueue(base));
  return queue->ops->event_record(beside, exchange->events.done);
}

static sley_status receive(sl_process_exchange *base, sl_process_channel *channel, sl_queue *queue) {
  (void)channel;
  return queue->ops->event_wait(queue, ((nccl_exchange *)base)->events.done);
}

/* A rank that only sends waits here for its sends. */
static sley_status end(sl_process_exchange *base, sl_queue *queue) {
  const nccl_exchange *exchange = (nccl_exchange *)base;
  return exchange->messages ? queue->ops->event_wait(queue, exchange->events.done) : SLEY_OK;
}

const sl_carrier sl_nccl_messages = {.exchange_bytes = sizeof(nccl_exchange),
                                     .open = open_messages,
                                     .close = close_messages,
                                     .begin = begin,
                                     .receive = receive,
                                     .end = end,
                                     .reclaim = sl_carrier_reclaim_nothing,
                                     .messages = sl_carrier_one_message};

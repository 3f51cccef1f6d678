/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges by NCCL. Begin packs rows that do not lie side by side, in the rank's own queue, and then
 * enqueues one group of sends and receives on a stream beside it, so that the local part runs meanwhile; end
 * makes the queue wait for that stream and puts the rows into place, peers in the order of the list. The host
 * waits for no GPU, and nothing is allocated. All rows for a peer are one transfer; with SL_GRAIN_ROW each
 * row counts as a message. */
#include "base/memory.h"
#include "transport/nccl/nccl_comm.h"
#include "transport/process/direct.h"

typedef struct channel {
  sl_row_list list; /* its rows lie in the device's memory */
  int64_t *rows;
  char *message; /* on the device; NULL: none travels */
} channel;

typedef struct nccl_exchange {
  sl_exchange base;
  char *name;
  int sends, recvs;
  channel *send, *recv;
  sl_direct *direct; /* peers of the workgroup whose memory the GPU can load; NULL: none */
  sl_event *packed, *arrived;
  bool add, in_flight;
  bool messages; /* rows travel by NCCL */
  sley_dtype dtype;
  sl_grain grain;
  const char *src; /* of this round */
  int64_t src_stride;
  char *dst;
  int64_t dst_stride;
} nccl_exchange;

static sl_nccl_comm *comm_of(const nccl_exchange *exchange) {
  return (sl_nccl_comm *)exchange->base.comm;
}

/* ---- making */

static sley_status open_channel(sl_comm *comm, const sl_row_list *list, channel *out) {
  const sl_device_ops *ops = comm->device->ops;
  void *block = NULL;
  out->list = *list;
  if (!sl_list_moves(list) || sl_direct_serves((const sl_process_comm *)comm, list->peer))
    return SLEY_OK;
  if (list->rows) {
    SL_TRY(sl_device_upload(comm->queue, list->rows, list->count * (int64_t)sizeof *list->rows, "row lists",
                            &block));
    out->list.rows = out->rows = block;
  }
  if (list->peer == comm->rank)
    return SLEY_OK;
  SL_TRY(ops->alloc(comm->device, list->count * list->bytes, "a message", &block));
  out->message = block;
  return SLEY_OK;
}

static void close_channels(sl_comm *comm, channel *channels, int count) {
  for (int i = 0; i < count; i++) {
    if (channels[i].message)
      comm->device->ops->free(comm->device, channels[i].message);
    if (channels[i].rows)
      comm->device->ops->free(comm->device, channels[i].rows);
  }
  sl_free(channels);
}

static void free_exchange(nccl_exchange *exchange) {
  if (!exchange)
    return;
  sl_comm *comm = exchange->base.comm;
  close_channels(comm, exchange->send, exchange->sends);
  close_channels(comm, exchange->recv, exchange->recvs);
  if (exchange->packed)
    comm->device->ops->event_destroy(exchange->packed);
  if (exchange->arrived)
    comm->device->ops->event_destroy(exchange->arrived);
  sl_free(exchange->name);
  sl_free(exchange);
}

static sley_status make(sl_comm *comm, const sl_exchange_spec *spec, nccl_exchange **out) {
  nccl_exchange *exchange;
  SL_TRY(SL_NEW_ZERO(exchange, 1, "an exchange"));
  *out = exchange;
  exchange->base.comm = comm;
  exchange->add = spec->add;
  exchange->dtype = spec->dtype;
  exchange->grain = spec->grain;
  exchange->name = sl_strdup(spec->name);
  if (!exchange->name)
    return SLEY_ERR_MEMORY;
  SL_TRY(comm->device->ops->event_create(comm->device, &exchange->packed));
  SL_TRY(comm->device->ops->event_create(comm->device, &exchange->arrived));
  SL_TRY(SL_NEW_ZERO(exchange->send, spec->sends, "an exchange"));
  SL_TRY(SL_NEW_ZERO(exchange->recv, spec->recvs, "an exchange"));
  while (exchange->sends < spec->sends) {
    int i = exchange->sends++;
    SL_TRY(open_channel(comm, &spec->send[i], &exchange->send[i]));
  }
  while (exchange->recvs < spec->recvs) {
    int i = exchange->recvs++;
    SL_TRY(open_channel(comm, &spec->recv[i], &exchange->recv[i]));
  }
  for (int i = 0; i < spec->sends; i++)
    exchange->messages = exchange->messages || exchange->send[i].message;
  for (int i = 0; i < spec->recvs; i++)
    exchange->messages = exchange->messages || exchange->recv[i].message;
  return comm->queue->ops->queue_wait(comm->queue); /* the lists are there */
}

sley_status sl_nccl_exchange_create(sl_comm *base, const sl_exchange_spec *spec, sl_exchange **out) {
  sl_process_comm *comm = (sl_process_comm *)base;
  nccl_exchange *exchange = NULL;
  *out = NULL;
  SL_TRY(sl_process_match_lists(comm, spec, SLEY_OK));
  sley_status status = make(base, spec, &exchange);
  status = sl_bootstrap_agree(comm->boot, "buffers of exchange_create", 0, 0, status);
  if (status == SLEY_OK)
    status = sl_direct_create(comm, spec, &exchange->direct);
  if (status != SLEY_OK) {
    free_exchange(exchange);
    return status;
  }
  *out = &exchange->base;
  return SLEY_OK;
}

void sl_nccl_exchange_destroy(sl_exchange *base) {
  if (!base)
    return;
  sl_comm *comm = base->comm;
  if (sl_bootstrap_broken(((sl_process_comm *)comm)->boot))
    sl_nccl_abort(comm, SLEY_ERR_PEER); /* or the GPU would wait for the rank that failed */
  nccl_exchange *exchange = (nccl_exchange *)base;
  if (exchange->in_flight)
    sl_nccl_abort(comm,
                  sl_fail(SLEY_ERR_INTERNAL, "exchange %s is destroyed before its end", exchange->name));
  sl_process_comm *process = (sl_process_comm *)comm;
  (void)sl_process_wait_for(process, comm->queue); /* it may still use what is freed here */
  (void)sl_process_wait_for(process, ((sl_nccl_comm *)comm)->beside);
  sl_direct_destroy(exchange->direct);
  free_exchange(exchange);
}

/* ---- running */

static sley_status failed(nccl_exchange *exchange, sley_status status) {
  exchange->in_flight = false;
  sl_nccl_abort(exchange->base.comm, status);
  return status;
}

static sley_status move(sl_queue *queue, sl_rows_args rows) {
  return sl_kernel_run(queue, &(sl_kernel_args){.op = SL_OP_ROWS, .rows = rows});
}

/* Whether the rows of a list lie side by side, so that they are a message already. */
static bool is_message(const channel *c, int64_t stride) {
  return !c->list.rows && stride == c->list.bytes && c->list.offset == 0;
}

static sley_status pack(nccl_exchange *exchange, sl_queue *queue) {
  for (int i = 0; i < exchange->sends; i++) {
    const channel *c = &exchange->send[i];
    if (!c->message || is_message(c, exchange->src_stride))
      continue;
    SL_TRY(move(queue, (sl_rows_args){.count = c->list.count,
                                      .bytes = c->list.bytes,
                                      .src = exchange->src + c->list.offset,
                                      .src_stride = exchange->src_stride,
                                      .src_rows = c->list.rows,
                                      .src_first = c->list.first,
                                      .dst = c->message,
                                      .dst_stride = c->list.bytes,
                                      .dtype = exchange->dtype}));
  }
  return SLEY_OK;
}

/* One group: all that this rank sends and receives in the round. */
static sley_status enqueue(nccl_exchange *exchange) {
  sl_nccl_comm *comm = comm_of(exchange);
  const sl_nccl_library *nccl = &comm->nccl;
  ncclResult_t result = nccl->GroupStart();
  for (int i = 0; i < exchange->sends && result == ncclSuccess; i++) {
    const channel *c = &exchange->send[i];
    const char *from = is_message(c, exchange->src_stride)
                           ? exchange->src + c->list.first * exchange->src_stride
                           : c->message;
    if (c->message)
      result = nccl->Send(from, (size_t)(c->list.count * c->list.bytes), ncclInt8, c->list.peer, comm->comm,
                          comm->stream);
  }
  for (int i = 0; i < exchange->recvs && result == ncclSuccess; i++) {
    const channel *c = &exchange->recv[i];
    bool in_place = !exchange->add && is_message(c, exchange->dst_stride);
    char *into = in_place ? exchange->dst + c->list.first * exchange->dst_stride : c->message;
    if (c->message)
      result = nccl->Recv(into, (size_t)(c->list.count * c->list.bytes), ncclInt8, c->list.peer, comm->comm,
                          comm->stream);
  }
  ncclResult_t ended = nccl->GroupEnd();
  return sl_nccl_settle(comm, result == ncclSuccess ? ended : result, "ncclSend and ncclRecv");
}

static sley_status begin(nccl_exchange *exchange, sl_queue *queue) {
  sl_nccl_comm *comm = comm_of(exchange);
  const sl_device_ops *ops = queue->ops;
  SL_TRY(sl_bootstrap_progress(comm->base.boot));
  SL_TRY(sl_direct_begin(exchange->direct, exchange->src, exchange->src_stride, queue));
  if (!exchange->messages)
    return SLEY_OK;
  SL_TRY(pack(exchange, queue));
  SL_TRY(ops->event_record(queue, exchange->packed));
  SL_TRY(ops->event_wait(comm->beside, exchange->packed));
  SL_TRY(enqueue(exchange));
  return ops->event_record(comm->beside, exchange->arrived);
}

sley_status sl_nccl_exchange_begin(sl_exchange *base, const void *src, int64_t src_stride, void *dst,
                                   int64_t dst_stride, sl_queue *queue) {
  nccl_exchange *exchange = (nccl_exchange *)base;
  if (exchange->in_flight)
    return failed(exchange,
                  sl_fail(SLEY_ERR_ARG, "exchange %s is begun again before its end", exchange->name));
  exchange->in_flight = true;
  exchange->src = src;
  exchange->src_stride = src_stride;
  exchange->dst = dst;
  exchange->dst_stride = dst_stride;
  sley_status status = begin(exchange, queue);
  return status == SLEY_OK ? SLEY_OK : failed(exchange, status);
}

sley_status sl_nccl_exchange_borrow(sl_exchange *base, sl_lent *lent, sl_queue *queue) {
  (void)lent;
  (void)queue;
  nccl_exchange *exchange = (nccl_exchange *)base;
  return failed(exchange,
                sl_fail(SLEY_ERR_UNSUPPORTED, "exchange %s cannot be borrowed over NCCL", exchange->name));
}

static sley_status take(nccl_exchange *exchange, const channel *c, sl_queue *queue) {
  sl_rows_args rows = {.count = c->list.count,
                       .bytes = c->list.bytes,
                       .src = c->message,
                       .src_stride = c->list.bytes,
                       .dst = exchange->dst + c->list.offset,
                       .dst_stride = exchange->dst_stride,
                       .dst_rows = c->list.rows,
                       .dst_first = c->list.first,
                       .add = exchange->add,
                       .dtype = exchange->dtype};
  if (rows.count == 0 || rows.bytes == 0 || sl_direct_serves(&comm_of(exchange)->base, c->list.peer))
    return SLEY_OK;
  sl_process_count(&comm_of(exchange)->base, &c->list, exchange->grain);
  if (c->list.peer == exchange->base.comm->rank) {
    const channel *own = exchange->send;
    while (own->list.peer != c->list.peer)
      own++;
    rows.src = exchange->src + own->list.offset;
    rows.src_stride = exchange->src_stride;
    rows.src_rows = own->list.rows;
    rows.src_first = own->list.first;
  } else if (!exchange->add && is_message(c, exchange->dst_stride)) {
    return SLEY_OK;
  }
  return move(queue, rows);
}

static sley_status end(nccl_exchange *exchange, sl_queue *queue) {
  SL_TRY(sl_bootstrap_progress(comm_of(exchange)->base.boot));
  SL_TRY(sl_direct_end(exchange->direct, exchange->dst, exchange->dst_stride, queue));
  if (exchange->messages)
    SL_TRY(queue->ops->event_wait(queue, exchange->arrived));
  for (int i = 0; i < exchange->recvs; i++) {
    SL_TRY(sl_direct_add(exchange->direct, i, queue));
    SL_TRY(take(exchange, &exchange->recv[i], queue));
  }
  return SLEY_OK;
}

sley_status sl_nccl_exchange_end(sl_exchange *base, sl_queue *queue) {
  nccl_exchange *exchange = (nccl_exchange *)base;
  if (!exchange->in_flight)
    return failed(exchange, sl_fail(SLEY_ERR_ARG, "exchange %s is ended but was not begun", exchange->name));
  sley_status status = end(exchange, queue);
  if (status != SLEY_OK)
    return failed(exchange, status);
  exchange->in_flight = false;
  return SLEY_OK;
}

/* Only rows from the workgroup come in stages: end has seen to the others. */
sley_status sl_nccl_exchange_arrive(sl_exchange *base, int stage, sl_queue *queue) {
  nccl_exchange *exchange = (nccl_exchange *)base;
  sley_status status =
      exchange->in_flight
          ? sl_fail(SLEY_ERR_ARG, "exchange %s: stage %d is to arrive before the end", exchange->name, stage)
          : sl_direct_arrive(exchange->direct, stage, queue);
  return status == SLEY_OK ? SLEY_OK : failed(exchange, status);
}

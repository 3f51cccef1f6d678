/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of exchanges of all transports between processes. Begin packs rows that are not contiguous,
 * in the rank's own queue, and makes the carrier start the messages; end takes direct rows, then copies or
 * adds the rows of messages, peers in the order of the list. */
#include "transport/process/process_exchange.h"

#include <stdio.h>

#include "base/memory.h"

static sl_process_comm *comm_of(const sl_process_exchange *exchange) {
  return (sl_process_comm *)exchange->base.comm;
}

/* ---- making */

static sley_status open_channel(sl_comm *comm, const sl_row_list *list, sl_process_channel *out) {
  const sl_device_ops *ops = comm->device->ops;
  void *block = NULL;
  out->list = *list;
  if (!sl_list_moves(list) || sl_direct_serves((const sl_process_comm *)comm, list->peer))
    return SLEY_OK;
  if (list->rows && !ops->host_addresses) {
    SL_TRY(sl_device_upload_private(comm->queue, list->rows, list->count * (int64_t)sizeof *list->rows,
                                    "row lists", &block));
    out->list.rows = out->rows = block;
  }
  if (list->peer == comm->rank)
    return SLEY_OK;
  SL_TRY(ops->alloc(comm->device, list->count * list->bytes, "a message", &block));
  out->packed = block;
  out->travels = true;
  out->bytes = list->count * list->bytes;
  return SLEY_OK;
}

static void close_channels(sl_comm *comm, sl_process_channel *channels, int count) {
  for (int i = 0; i < count; i++) {
    if (channels[i].packed)
      comm->device->ops->free(comm->device, channels[i].packed);
    if (channels[i].rows)
      comm->device->ops->free(comm->device, channels[i].rows);
  }
  sl_free(channels);
}

static void free_exchange(sl_process_exchange *exchange) {
  if (!exchange)
    return;
  exchange->carrier->close(exchange);
  close_channels(exchange->base.comm, exchange->send, exchange->sends);
  close_channels(exchange->base.comm, exchange->recv, exchange->recvs);
  sl_free(exchange->name);
  sl_free(exchange);
}

static sley_status make(sl_process_comm *comm, const sl_exchange_spec *spec, sl_process_exchange **out) {
  sl_comm *base = &comm->base;
  sl_process_exchange *exchange = sl_alloc_zero(1, comm->backend->carrier->exchange_bytes, "an exchange");
  *out = exchange;
  if (!exchange)
    return SLEY_ERR_MEMORY;
  exchange->base.comm = base;
  exchange->carrier = comm->backend->carrier;
  exchange->add = spec->add;
  exchange->dtype = spec->dtype;
  exchange->grain = spec->grain;
  exchange->name = sl_strdup(spec->name);
  if (!exchange->name)
    return SLEY_ERR_MEMORY;
  SL_TRY(SL_NEW_ZERO(exchange->send, spec->sends, "an exchange"));
  SL_TRY(SL_NEW_ZERO(exchange->recv, spec->recvs, "an exchange"));
  while (exchange->sends < spec->sends) {
    int i = exchange->sends++;
    SL_TRY(open_channel(base, &spec->send[i], &exchange->send[i]));
  }
  while (exchange->recvs < spec->recvs) {
    int i = exchange->recvs++;
    SL_TRY(open_channel(base, &spec->recv[i], &exchange->recv[i]));
  }
  SL_TRY(exchange->carrier->open(exchange));
  return sl_process_wait_for(comm, base->queue); /* until the lists are on the device */
}

sley_status sl_process_exchange_create(sl_comm *base, const sl_exchange_spec *spec, sl_exchange **out) {
  sl_process_comm *comm = (sl_process_comm *)base;
  sl_process_exchange *exchange = NULL;
  *out = NULL;
  uint64_t id = comm->next_id++;
  SL_TRY(sl_process_over(base, sl_process_match_lists(comm, spec, SLEY_OK)));
  sley_status status = make(comm, spec, &exchange);
  status = sl_mesh_agree(comm->mesh, "buffers of exchange_create", 0, 0, status);
  if (status == SLEY_OK)
    status = sl_direct_create(comm, spec, &exchange->direct);
  if (status != SLEY_OK) {
    status = sl_process_over(base, status);
    free_exchange(exchange);
    return status;
  }
  exchange->id = id;
  *out = &exchange->base;
  return SLEY_OK;
}

/* Waits until the peers have taken their rows of the last round. */
static sley_status reclaim(sl_process_exchange *exchange) {
  if (!exchange->unreclaimed)
    return SLEY_OK;
  SL_TRY(exchange->carrier->reclaim(exchange));
  exchange->unreclaimed = false;
  return SLEY_OK;
}

void sl_process_exchange_destroy(sl_exchange *base) {
  if (!base)
    return;
  sl_process_exchange *exchange = (sl_process_exchange *)base;
  sl_process_comm *comm = comm_of(exchange);
  sl_error error;
  if (sl_mesh_broken(comm->mesh)) /* else the device would wait for the rank that failed */
    sl_process_abort(base->comm, SLEY_ERR_PEER);
  else if (exchange->in_flight) /* no peer may write to memory that is freed here */
    sl_process_abort(base->comm,
                     sl_fail(SLEY_ERR_INTERNAL, "exchange %s is destroyed before its end", exchange->name));
  sl_error_save(&error);
  if (!sl_mesh_broken(comm->mesh))
    (void)sl_process_over(base->comm, reclaim(exchange));
  (void)sl_process_wait_for(comm, base->comm->queue); /* its work may still use memory that is freed here */
  sl_direct_destroy(exchange->direct);
  free_exchange(exchange);
  if (*error.text)
    (void)sl_error_restore(&error);
}

/* ---- running */

static sley_status failed(sl_process_exchange *exchange, sley_status status) {
  exchange->in_flight = false;
  sl_process_abort(exchange->base.comm, status);
  return status;
}

static sley_status move(sl_queue *queue, sl_rows_args rows) {
  return sl_kernel_run(queue, &(sl_kernel_args){.op = SL_OP_ROWS, .rows = rows});
}

/* The address of the channel's message in this round. */
static char *place_of(const sl_process_exchange *exchange, const sl_process_channel *c, const char *rows,
                      int64_t stride) {
  bool side_by_side = !c->list.rows && (stride == c->list.bytes || c->list.count == 1);
  bool in_place = c->travels && side_by_side && comm_of(exchange)->in_place;
  return in_place ? (char *)rows + c->list.offset + c->list.first * stride : c->packed;
}

static sley_status pack(const sl_process_exchange *exchange, sl_queue *queue) {
  for (int i = 0; i < exchange->sends; i++) {
    const sl_process_channel *c = &exchange->send[i];
    if (c->travels && c->at == c->packed)
      SL_TRY(move(queue, (sl_rows_args){.count = c->list.count,
                                        .bytes = c->list.bytes,
                                        .src = exchange->src + c->list.offset,
                                        .src_stride = exchange->src_stride,
                                        .src_rows = c->list.rows,
                                        .src_first = c->list.first,
                                        .dst = c->packed,
                                        .dst_stride = c->list.bytes,
                                        .dtype = exchange->dtype}));
  }
  return SLEY_OK;
}

static sley_status begin(sl_process_exchange *exchange, sl_queue *queue) {
  SL_TRY(reclaim(exchange));
  SL_TRY(sl_mesh_progress(comm_of(exchange)->mesh));
  for (int i = 0; i < exchange->sends; i++) {
    sl_process_channel *c = &exchange->send[i];
    c->at = place_of(exchange, c, exchange->src, exchange->src_stride);
  }
  for (int i = 0; i < exchange->recvs; i++) {
    sl_process_channel *c = &exchange->recv[i];
    c->at = exchange->add ? c->packed : place_of(exchange, c, exchange->dst, exchange->dst_stride);
  }
  SL_TRY(sl_direct_begin(exchange->direct, exchange->src, exchange->src_stride, queue));
  SL_TRY(pack(exchange, queue));
  return exchange->carrier->begin(exchange, queue);
}

sley_status sl_process_exchange_begin(sl_exchange *base, const void *src, int64_t src_stride, void *dst,
                                      int64_t dst_stride, sl_queue *queue) {
  sl_process_exchange *exchange = (sl_process_exchange *)base;
  if (exchange->in_flight)
    return failed(exchange,
                  sl_fail(SLEY_ERR_ARG, "exchange %s is begun again before its end", exchange->name));
  exchange->in_flight = true;
  exchange->received = false;
  exchange->round++;
  exchange->src = src;
  exchange->src_stride = src_stride;
  exchange->dst = dst;
  exchange->dst_stride = dst_stride;
  sley_status status = begin(exchange, queue);
  return status == SLEY_OK ? sl_process_over(base->comm, SLEY_OK) : failed(exchange, status);
}

sley_status sl_process_exchange_map(sl_exchange *base, sl_mapped_rows *mapped, sl_queue *queue) {
  (void)mapped;
  (void)queue;
  sl_process_exchange *exchange = (sl_process_exchange *)base;
  return failed(exchange, sl_fail(SLEY_ERR_UNSUPPORTED,
                                  "exchange %s cannot be mapped: its ranks are processes", exchange->name));
}

/* Copies or adds the rows of a list that were not exchanged directly. */
static sley_status take(sl_process_exchange *exchange, sl_process_channel *c, sl_queue *queue) {
  sl_rows_args rows = {.count = c->list.count,
                       .bytes = c->list.bytes,
                       .src = c->packed,
                       .src_stride = c->list.bytes,
                       .dst = exchange->dst + c->list.offset,
                       .dst_stride = exchange->dst_stride,
                       .dst_rows = c->list.rows,
                       .dst_first = c->list.first,
                       .add = exchange->add,
                       .dtype = exchange->dtype};
  if (!sl_list_moves(&c->list) || sl_direct_serves(comm_of(exchange), c->list.peer))
    return SLEY_OK;
  if (c->travels) {
    SL_TRY(exchange->carrier->receive(exchange, c, queue));
  } else {
    const sl_process_channel *own = exchange->send;
    while (own->list.peer != c->list.peer)
      own++;
    rows.src = exchange->src + own->list.offset;
    rows.src_stride = exchange->src_stride;
    rows.src_rows = own->list.rows;
    rows.src_first = own->list.first;
  }
  if (c->at == c->packed)
    SL_TRY(move(queue, rows));
  if (!c->travels)
    sl_process_counters_add(exchange->base.comm, SL_LINK_SELF, rows.count * rows.bytes, 1);
  return SLEY_OK;
}

/* Makes the receiving half of a round, unless it was made already. */
static sley_status receive(sl_process_exchange *exchange, sl_queue *queue) {
  SL_TRY(sl_mesh_progress(comm_of(exchange)->mesh));
  if (exchange->received)
    return SLEY_OK;
  SL_TRY(sl_direct_receive(exchange->direct, exchange->dst, exchange->dst_stride, queue));
  for (int i = 0; i < exchange->recvs; i++) {
    SL_TRY(sl_direct_add(exchange->direct, i, queue));
    SL_TRY(take(exchange, &exchange->recv[i], queue));
  }
  exchange->received = true;
  return SLEY_OK;
}

static sley_status end(sl_process_exchange *exchange, sl_queue *queue) {
  SL_TRY(receive(exchange, queue));
  SL_TRY(sl_direct_complete(exchange->direct, queue));
  return exchange->carrier->end(exchange, queue);
}

sley_status sl_process_exchange_end(sl_exchange *base, sl_queue *queue) {
  sl_process_exchange *exchange = (sl_process_exchange *)base;
  if (!exchange->in_flight)
    return failed(exchange, sl_fail(SLEY_ERR_ARG, "exchange %s is ended but was not begun", exchange->name));
  sley_status status = end(exchange, queue);
  if (status != SLEY_OK)
    return failed(exchange, status);
  exchange->in_flight = false;
  exchange->unreclaimed = true;
  return sl_process_over(base->comm, SLEY_OK);
}

sley_status sl_process_exchange_reclaim(sl_exchange *base, sl_queue *queue) {
  (void)queue;
  sl_process_exchange *exchange = (sl_process_exchange *)base;
  sley_status status = exchange->in_flight
                           ? sl_fail(SLEY_ERR_ARG, "exchange %s is reclaimed before its end", exchange->name)
                           : reclaim(exchange);
  return status == SLEY_OK ? sl_process_over(base->comm, SLEY_OK) : failed(exchange, status);
}

/* Only rows from the workgroup come in pieces; the others are received first. */
static sley_status arrive(sl_process_exchange *exchange, sl_queue *queue, const sl_piece_words **words) {
  if (!exchange->in_flight)
    return sl_fail(SLEY_ERR_ARG, "exchange %s: arrive is called outside begin and end", exchange->name);
  SL_TRY(receive(exchange, queue));
  return sl_direct_arrive(exchange->direct, queue, words);
}

sley_status sl_process_exchange_arrive(sl_exchange *base, sl_queue *queue, const sl_piece_words **words) {
  sl_process_exchange *exchange = (sl_process_exchange *)base;
  *words = NULL;
  sley_status status = arrive(exchange, queue, words);
  return status == SLEY_OK ? sl_process_over(base->comm, SLEY_OK) : failed(exchange, status);
}

/* ---- no messages */

static sley_status open_nothing(sl_process_exchange *exchange) {
  (void)exchange;
  return SLEY_OK;
}

static void close_nothing(sl_process_exchange *exchange) {
  (void)exchange;
}

static sley_status wait_for_nothing(sl_process_exchange *exchange, sl_queue *queue) {
  (void)exchange;
  (void)queue;
  return SLEY_OK;
}

static sley_status refuse(sl_process_exchange *exchange, sl_process_channel *channel, sl_queue *queue) {
  (void)queue;
  return sl_fail(
      SLEY_ERR_INTERNAL,
      "exchange %s: the rows of rank %d cannot be loaded directly, and this transport has no messages",
      exchange->name, channel->list.peer);
}

sley_status sl_carrier_reclaim_nothing(sl_process_exchange *exchange) {
  (void)exchange;
  return SLEY_OK;
}

int64_t sl_carrier_one_message(const sl_comm *comm, const sl_row_list *list, sl_grain grain) {
  (void)comm;
  (void)list;
  (void)grain;
  return 1;
}

/* ---- the model for predictions */

int64_t sl_process_list_messages(const sl_comm *base, const sl_row_list *list, sl_grain grain) {
  const sl_process_comm *comm = (const sl_process_comm *)base;
  if (!sl_list_moves(list))
    return 0;
  bool travels = list->peer != base->rank && !sl_direct_serves(comm, list->peer);
  return travels ? comm->backend->carrier->messages(base, list, grain) : 1;
}

/* Rows that can be loaded directly are read one by one. The others come by an exchange; or, on host memory,
 * unless that exchange sends each row as a message, by requests for many rows at once. */
int64_t sl_process_row_messages(const sl_comm *base, int peer, int64_t count, int64_t bytes) {
  const sl_row_list list = {.peer = peer, .count = count, .bytes = bytes};
  if (!sl_list_moves(&list))
    return 0;
  bool on_host = base->device->ops->host_addresses;
  if (sl_link_to(base, peer) != SL_LINK_MESSAGE &&
      (on_host || sl_direct_serves((const sl_process_comm *)base, peer)))
    return count;
  const sl_row_list two = {.peer = peer, .count = 2, .bytes = bytes};
  if (on_host && sl_process_list_messages(base, &two, SL_GRAIN_ROW) == 1)
    return (count + SL_MESH_ROWS_MOST - 1) / SL_MESH_ROWS_MOST;
  return sl_process_list_messages(base, &list, SL_GRAIN_ROW);
}

const sl_carrier sl_no_messages = {.exchange_bytes = sizeof(sl_process_exchange),
                                   .open = open_nothing,
                                   .close = close_nothing,
                                   .begin = wait_for_nothing,
                                   .receive = refuse,
                                   .end = wait_for_nothing,
                                   .reclaim = sl_carrier_reclaim_nothing,
                                   .messages = sl_carrier_one_message};

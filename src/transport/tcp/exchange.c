/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges over sockets. Every pair of ranks with rows to move has one message a round, of all its rows.
 * Begin packs the rows (those that lie side by side in the host's memory are sent from where they are), posts
 * the receives and starts sending; end takes the messages in the order of the list, moves their rows into
 * place, tells each sender so with an empty message, and waits to be told the same: so no rank gets past a
 * round in which a peer has failed. On a device without host addresses messages pass through memory of the
 * host. */
#include "base/memory.h"
#include "transport/process/direct.h"
#include "transport/tcp/tcp.h"

/* One list with its message. */
typedef struct channel {
  sl_row_list list;
  int64_t *device_rows; /* list.rows in the device's memory, where the host's is not good enough */
  char *message;        /* in the host's memory; NULL: none travels */
  char *staged;         /* the same in the device's memory; message itself where the device is the host */
  bool in_place;        /* this round: message unused */
  sl_boot_send send;    /* the message, or that it was taken */
  sl_boot_recv recv;
} channel;

typedef struct tcp_exchange {
  sl_exchange base;
  char *name;
  uint64_t id, round;
  int sends, recvs;
  channel *send, *recv;
  sl_direct *direct; /* peers of the workgroup whose memory the device can load; NULL: none */
  bool add, in_flight;
  sley_dtype dtype;
  sl_grain grain;
  const char *src; /* of this round */
  int64_t src_stride;
  char *dst;
  int64_t dst_stride;
} tcp_exchange;

static bool on_host(const sl_comm *comm) {
  return comm->device->ops->host_addresses;
}

/* ---- making */

static sley_status open_channel(sl_comm *comm, const sl_row_list *list, channel *out) {
  const sl_device_ops *ops = comm->device->ops;
  out->list = *list;
  if (!sl_list_moves(list) || sl_direct_serves((const sl_process_comm *)comm, list->peer))
    return SLEY_OK;
  if (!on_host(comm) && list->rows) {
    void *rows = NULL;
    SL_TRY(sl_device_upload(comm->queue, list->rows, list->count * (int64_t)sizeof *list->rows, "row lists",
                            &rows));
    out->list.rows = out->device_rows = rows;
  }
  if (list->peer == comm->rank)
    return SLEY_OK;
  out->message = sl_alloc(list->count, (size_t)list->bytes, "a message");
  if (!out->message)
    return SLEY_ERR_MEMORY;
  void *staged = out->message;
  if (!on_host(comm))
    SL_TRY(ops->alloc(comm->device, list->count * list->bytes, "a message", &staged));
  out->staged = staged;
  return SLEY_OK;
}

static void close_channel(sl_comm *comm, channel *c) {
  const sl_device_ops *ops = comm->device->ops;
  if (c->staged && c->staged != c->message)
    ops->free(comm->device, c->staged);
  if (c->device_rows)
    ops->free(comm->device, c->device_rows);
  sl_free(c->message);
}

static void free_exchange(tcp_exchange *exchange) {
  if (!exchange)
    return;
  for (int i = 0; i < exchange->sends; i++)
    close_channel(exchange->base.comm, &exchange->send[i]);
  for (int i = 0; i < exchange->recvs; i++)
    close_channel(exchange->base.comm, &exchange->recv[i]);
  sl_free(exchange->send);
  sl_free(exchange->recv);
  sl_free(exchange->name);
  sl_free(exchange);
}

static sley_status make(sl_comm *comm, const sl_exchange_spec *spec, tcp_exchange **out) {
  tcp_exchange *exchange;
  SL_TRY(SL_NEW_ZERO(exchange, 1, "an exchange"));
  *out = exchange;
  exchange->base.comm = comm;
  exchange->add = spec->add;
  exchange->dtype = spec->dtype;
  exchange->grain = spec->grain;
  exchange->name = sl_strdup(spec->name);
  if (!exchange->name)
    return SLEY_ERR_MEMORY;
  SL_TRY(SL_NEW_ZERO(exchange->send, spec->sends, "an exchange"));
  SL_TRY(SL_NEW_ZERO(exchange->recv, spec->recvs, "an exchange"));
  for (int i = 0; i < spec->sends; i++) {
    exchange->sends = i + 1;
    SL_TRY(open_channel(comm, &spec->send[i], &exchange->send[i]));
  }
  for (int i = 0; i < spec->recvs; i++) {
    exchange->recvs = i + 1;
    SL_TRY(open_channel(comm, &spec->recv[i], &exchange->recv[i]));
  }
  return SLEY_OK;
}

sley_status sl_tcp_exchange_create(sl_comm *base, const sl_exchange_spec *spec, sl_exchange **out) {
  sl_process_comm *comm = (sl_process_comm *)base;
  tcp_exchange *exchange = NULL;
  *out = NULL;
  uint64_t id = comm->next_id++;
  SL_TRY(sl_process_match_lists(comm, spec, SLEY_OK));
  sley_status status = make(base, spec, &exchange);
  status = sl_bootstrap_agree(comm->boot, "buffers of exchange_create", 0, 0, status);
  if (status == SLEY_OK)
    status = sl_direct_create(comm, spec, &exchange->direct);
  if (status != SLEY_OK) {
    free_exchange(exchange);
    return status;
  }
  exchange->id = id;
  *out = &exchange->base;
  return SLEY_OK;
}

void sl_tcp_exchange_destroy(sl_exchange *base) {
  if (!base)
    return;
  tcp_exchange *exchange = (tcp_exchange *)base;
  sl_bootstrap *boot = ((sl_process_comm *)base->comm)->boot;
  if (exchange->in_flight && !sl_bootstrap_broken(boot)) /* nobody may write to what is freed here */
    sl_bootstrap_abort(boot,
                       sl_fail(SLEY_ERR_INTERNAL, "exchange %s is destroyed before its end", exchange->name));
  sl_direct_destroy(exchange->direct);
  free_exchange(exchange);
}

/* ---- running */

static sley_status failed(tcp_exchange *exchange, sley_status status) {
  exchange->in_flight = false;
  sl_process_abort(exchange->base.comm, status);
  return status;
}

static sley_status move(sl_queue *queue, sl_rows_args rows) {
  return sl_kernel_run(queue, &(sl_kernel_args){.op = SL_OP_ROWS, .rows = rows});
}

static const uint64_t TAKEN = UINT64_C(1) << 55; /* in the tag of the empty message */

static uint64_t tag_of(const tcp_exchange *exchange) {
  return exchange->id << 32 | (exchange->round & UINT32_MAX);
}

/* Whether the rows of a list lie side by side, so that they are a message already. */
static bool is_message(const tcp_exchange *exchange, const channel *c, int64_t stride) {
  return on_host(exchange->base.comm) && !c->list.rows && stride == c->list.bytes && c->list.offset == 0;
}

/* Packs the rows of all messages that need it, and waits until they can be sent. */
static sley_status pack(tcp_exchange *exchange, sl_queue *queue) {
  for (int i = 0; i < exchange->sends; i++) {
    channel *c = &exchange->send[i];
    c->in_place = is_message(exchange, c, exchange->src_stride);
    if (!c->message || c->in_place)
      continue;
    int64_t bytes = c->list.count * c->list.bytes;
    SL_TRY(move(queue, (sl_rows_args){.count = c->list.count,
                                      .bytes = c->list.bytes,
                                      .src = exchange->src + c->list.offset,
                                      .src_stride = exchange->src_stride,
                                      .src_rows = c->list.rows,
                                      .src_first = c->list.first,
                                      .dst = c->staged,
                                      .dst_stride = c->list.bytes,
                                      .dtype = exchange->dtype}));
    if (c->staged != c->message)
      SL_TRY(queue->ops->copy(queue, SL_COPY_TO_HOST, c->message, c->staged, bytes));
  }
  return sl_process_wait_for((sl_process_comm *)exchange->base.comm, queue);
}

static sley_status begin(tcp_exchange *exchange, sl_queue *queue) {
  sl_comm *comm = exchange->base.comm;
  sl_bootstrap *boot = ((sl_process_comm *)comm)->boot;
  SL_TRY(sl_bootstrap_progress(boot));
  for (int i = 0; i < exchange->recvs; i++) {
    channel *c = &exchange->recv[i];
    c->in_place = !exchange->add && is_message(exchange, c, exchange->dst_stride);
    char *into = c->in_place ? exchange->dst + c->list.first * exchange->dst_stride : c->message;
    if (c->message)
      sl_bootstrap_recv(boot, c->list.peer, tag_of(exchange), into, c->list.count * c->list.bytes, &c->recv);
  }
  SL_TRY(sl_direct_begin(exchange->direct, exchange->src, exchange->src_stride, queue));
  SL_TRY(pack(exchange, queue));
  int start = 0;
  while (start < exchange->sends && exchange->send[start].list.peer <= comm->rank)
    start++;
  for (int i = 0; i < exchange->sends; i++) {
    channel *c = &exchange->send[(start + i) % exchange->sends];
    const char *from = c->in_place ? exchange->src + c->list.first * exchange->src_stride : c->message;
    if (!c->message)
      continue;
    sl_bootstrap_recv(boot, c->list.peer, TAKEN | tag_of(exchange), NULL, 0, &c->recv);
    sl_bootstrap_send(boot, c->list.peer, tag_of(exchange), from, c->list.count * c->list.bytes, &c->send);
  }
  return sl_bootstrap_progress(boot);
}

sley_status sl_tcp_exchange_begin(sl_exchange *base, const void *src, int64_t src_stride, void *dst,
                                  int64_t dst_stride, sl_queue *queue) {
  tcp_exchange *exchange = (tcp_exchange *)base;
  if (exchange->in_flight)
    return failed(exchange,
                  sl_fail(SLEY_ERR_ARG, "exchange %s is begun again before its end", exchange->name));
  exchange->in_flight = true;
  exchange->round++;
  exchange->src = src;
  exchange->src_stride = src_stride;
  exchange->dst = dst;
  exchange->dst_stride = dst_stride;
  sley_status status = begin(exchange, queue);
  return status == SLEY_OK ? SLEY_OK : failed(exchange, status);
}

sley_status sl_tcp_exchange_borrow(sl_exchange *base, sl_lent *lent, sl_queue *queue) {
  (void)lent;
  (void)queue;
  tcp_exchange *exchange = (tcp_exchange *)base;
  return failed(exchange,
                sl_fail(SLEY_ERR_UNSUPPORTED, "exchange %s cannot be borrowed: rows travel over sockets",
                        exchange->name));
}

/* The list of what this rank sends itself. */
static const channel *own_channel(const tcp_exchange *exchange) {
  int i = 0;
  while (exchange->send[i].list.peer != exchange->base.comm->rank)
    i++;
  return &exchange->send[i];
}

static sley_status take(tcp_exchange *exchange, channel *c, sl_queue *queue) {
  sl_comm *comm = exchange->base.comm;
  sl_rows_args rows = {.count = c->list.count,
                       .bytes = c->list.bytes,
                       .src = c->staged,
                       .src_stride = c->list.bytes,
                       .dst = exchange->dst + c->list.offset,
                       .dst_stride = exchange->dst_stride,
                       .dst_rows = c->list.rows,
                       .dst_first = c->list.first,
                       .add = exchange->add,
                       .dtype = exchange->dtype};
  if (!sl_list_moves(&c->list) || sl_direct_serves((const sl_process_comm *)comm, c->list.peer))
    return SLEY_OK;
  if (c->list.peer == comm->rank) {
    const channel *own = own_channel(exchange);
    rows.src = exchange->src + own->list.offset;
    rows.src_stride = exchange->src_stride;
    rows.src_rows = own->list.rows;
    rows.src_first = own->list.first;
  } else {
    sl_bootstrap *boot = ((sl_process_comm *)comm)->boot;
    SL_TRY(sl_bootstrap_wait_received(boot, c->list.peer, &c->recv));
    sl_bootstrap_send(boot, c->list.peer, TAKEN | tag_of(exchange), NULL, 0, &c->send);
    if (c->staged != c->message)
      SL_TRY(
          queue->ops->copy(queue, SL_COPY_TO_DEVICE, c->staged, c->message, c->list.count * c->list.bytes));
  }
  sl_process_count((sl_process_comm *)comm, &c->list, exchange->grain);
  return c->list.peer != comm->rank && c->in_place ? SLEY_OK : move(queue, rows);
}

static sley_status end(tcp_exchange *exchange, sl_queue *queue) {
  SL_TRY(sl_direct_end(exchange->direct, exchange->dst, exchange->dst_stride, queue));
  for (int i = 0; i < exchange->recvs; i++) {
    SL_TRY(sl_direct_add(exchange->direct, i, queue));
    SL_TRY(take(exchange, &exchange->recv[i], queue));
  }
  sl_bootstrap *boot = ((sl_process_comm *)exchange->base.comm)->boot;
  for (int i = 0; i < exchange->sends; i++)
    if (exchange->send[i].message) {
      SL_TRY(sl_bootstrap_wait_sent(boot, exchange->send[i].list.peer, &exchange->send[i].send));
      SL_TRY(sl_bootstrap_wait_received(boot, exchange->send[i].list.peer, &exchange->send[i].recv));
    }
  for (int i = 0; i < exchange->recvs; i++)
    if (exchange->recv[i].message)
      SL_TRY(sl_bootstrap_wait_sent(boot, exchange->recv[i].list.peer, &exchange->recv[i].send));
  return SLEY_OK;
}

sley_status sl_tcp_exchange_end(sl_exchange *base, sl_queue *queue) {
  tcp_exchange *exchange = (tcp_exchange *)base;
  if (!exchange->in_flight)
    return failed(exchange, sl_fail(SLEY_ERR_ARG, "exchange %s is ended but was not begun", exchange->name));
  sley_status status = sl_bootstrap_progress(((sl_process_comm *)base->comm)->boot);
  if (status == SLEY_OK)
    status = end(exchange, queue);
  if (status != SLEY_OK)
    return failed(exchange, status);
  exchange->in_flight = false;
  return SLEY_OK;
}

/* Only rows from the workgroup come in stages: end has seen to the others. */
sley_status sl_tcp_exchange_arrive(sl_exchange *base, int stage, sl_queue *queue) {
  tcp_exchange *exchange = (tcp_exchange *)base;
  sley_status status =
      exchange->in_flight
          ? sl_fail(SLEY_ERR_ARG, "exchange %s: stage %d is to arrive before the end", exchange->name, stage)
          : sl_direct_arrive(exchange->direct, stage, queue);
  return status == SLEY_OK ? SLEY_OK : failed(exchange, status);
}

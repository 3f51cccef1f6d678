/* SPDX-License-Identifier: Apache-2.0 */
/* Runs prepared exchanges of ranks that are threads; prepare.c makes them.
 *
 * Every pair of ranks with rows to move has a channel, owned by the sender. Begin raises its `ready` to the
 * round's number, the receiver's end takes the rows and raises `taken`, and the sender's end waits for that.
 * A channel has one of three forms. In place: the receiver moves rows directly from src to dst; used for a
 * rank's own rows, direct links, and messages of consecutive rows, which need no packing. Packed: begin
 * gathers the rows into the channel's buffer, end scatters them; used for message links. Row by row: as
 * packed, but each row is a message with a round number of its own; used for message links with
 * SL_GRAIN_ROW. */
#include <string.h>

#include "transport/threads/device_exchange.h"
#include "transport/threads/peers.h"

static void copy_row(const sl_rows_args *rows) {
  int64_t from = rows->src_rows ? rows->src_rows[0] : rows->src_first;
  int64_t to = rows->dst_rows ? rows->dst_rows[0] : rows->dst_first;
  memcpy((char *)rows->dst + to * rows->dst_stride, (const char *)rows->src + from * rows->src_stride,
         (size_t)rows->bytes);
}

/* Counts rows when they become available to the receiver: rows that a call copies, or that others may read in
   place. */
static void count(sl_threads_exchange *exchange, int peer, int64_t rows, int64_t bytes) {
  sl_threads_comm *comm = (sl_threads_comm *)exchange->base.comm;
  if (rows > 0 && bytes > 0)
    sl_counters_count(&comm->counters, sl_link_to(&comm->base, peer), rows * bytes, 1);
}

/* Moves rows. A single row is copied here, because finding a kernel takes as long as the copy. */
static sley_status move(sl_queue *queue, sl_rows_args rows) {
  if (rows.count == 0 || rows.bytes == 0)
    return SLEY_OK;
  if (rows.count == 1 && !rows.add && queue->device->ops->host_addresses) {
    copy_row(&rows);
    return SLEY_OK;
  }
  return sl_kernel_run(queue, &(sl_kernel_args){.op = SL_OP_ROWS, .rows = rows});
}

static sley_status run_queue(sl_queue *queue) {
  return queue->ops->queue_wait(queue);
}

static char *slot_of(const sl_channel *channel, int64_t i) {
  return channel->buffer + i * channel->slot;
}

static sley_status send_rows_one_by_one(sl_threads_exchange *exchange, sl_channel *channel, sl_queue *queue) {
  sl_world *world = ((sl_threads_comm *)exchange->base.comm)->world;
  const sl_row_list *list = channel->list;
  for (int64_t i = 0; i < list->count; i++) {
    char *slot = slot_of(channel, i);
    SL_TRY(move(queue, (sl_rows_args){.count = 1,
                                      .bytes = list->bytes,
                                      .src = channel->src + list->offset,
                                      .src_stride = channel->src_stride,
                                      .src_first = list->rows ? list->rows[i] : list->first + i,
                                      .dst = slot + SL_SLOT_HEADER,
                                      .dtype = exchange->dtype}));
    SL_TRY(run_queue(queue));
    count(exchange, list->peer, 1, list->bytes);
    atomic_store((_Atomic uint64_t *)(void *)slot, exchange->round);
    sl_world_wake(world, list->peer);
  }
  return SLEY_OK;
}

static sley_status hand_over(sl_threads_exchange *exchange, sl_channel *channel, sl_queue *queue) {
  const sl_row_list *list = channel->list;
  if (channel->way == SL_ROW_BY_ROW)
    return send_rows_one_by_one(exchange, channel, queue);
  if (channel->way == SL_PACKED) {
    SL_TRY(move(queue, (sl_rows_args){.count = list->count,
                                      .bytes = list->bytes,
                                      .src = channel->src + list->offset,
                                      .src_stride = channel->src_stride,
                                      .src_rows = list->rows,
                                      .src_first = list->first,
                                      .dst = channel->buffer,
                                      .dst_stride = list->bytes,
                                      .dtype = exchange->dtype}));
    SL_TRY(run_queue(queue));
    count(exchange, list->peer, list->count, list->bytes);
  }
  atomic_store(&channel->ready, exchange->round);
  sl_world_wake(((sl_threads_comm *)exchange->base.comm)->world, list->peer);
  return SLEY_OK;
}

/* Returns the position, in a list of peers, of the first peer after rank. Ranks that start there distribute
 * their traffic over the links. */
static int first_after(const sl_row_list *list, int count, int rank) {
  int i = 0;
  while (i < count && list[i].peer <= rank)
    i++;
  return i;
}

/* Ends a failed exchange: the other ranks must not wait for this rank, and no rank may stay inside its
   memory. */
static sley_status failed(sl_threads_exchange *exchange, sley_status status) {
  exchange->in_flight = false;
  sl_world_abort((sl_threads_comm *)exchange->base.comm, status);
  return status;
}

sley_status sl_threads_exchange_begin(sl_exchange *base, const void *src, int64_t src_stride, void *dst,
                                      int64_t dst_stride, sl_queue *queue) {
  sl_threads_exchange *exchange = (sl_threads_exchange *)base;
  sl_threads_comm *comm = (sl_threads_comm *)base->comm;
  if (exchange->in_flight)
    return failed(exchange,
                  sl_fail(SLEY_ERR_ARG, "exchange %s is begun again before its end", exchange->name));
  sley_status status = sl_world_check(comm);
  if (status == SLEY_OK && !exchange->device)
    status = run_queue(queue); /* peers read src, so the work that writes it must be done */
  if (status != SLEY_OK)
    return failed(exchange, status);
  if (exchange->ended)
    SL_TRY(sl_threads_exchange_reclaim(base, queue));
  exchange->in_flight = true;
  exchange->round++;
  exchange->received = exchange->mapped = false;
  exchange->dst = dst;
  exchange->dst_stride = dst_stride;
  if (exchange->device) {
    status = sl_device_exchange_begin(exchange, src, src_stride, queue);
    return status == SLEY_OK ? SLEY_OK : failed(exchange, status);
  }
  int start = first_after(exchange->send, exchange->sends, comm->base.rank);
  for (int in_place = 1; in_place >= 0; in_place--) /* rows that need no packing go first */
    for (int i = 0; i < exchange->sends; i++) {
      sl_channel *channel = &exchange->channel[(start + i) % exchange->sends];
      if ((channel->way == SL_IN_PLACE) != in_place)
        continue;
      channel->src = src;
      channel->src_stride = src_stride;
      status = hand_over(exchange, channel, queue);
      if (status != SLEY_OK)
        return failed(exchange, status);
    }
  return SLEY_OK;
}

/* Moves count rows of a list, from its entry first on, from the memory where the sender placed them. */
static sley_status take_from(sl_threads_exchange *exchange, const sl_row_list *list, int64_t first,
                             int64_t count, const char *src, int64_t src_stride, const sl_row_list *sent,
                             sl_queue *queue) {
  return move(queue, (sl_rows_args){.count = count,
                                    .bytes = list->bytes,
                                    .src = src,
                                    .src_stride = src_stride,
                                    .src_rows = sent ? sent->rows : NULL,
                                    .src_first = sent ? sent->first : 0,
                                    .dst = (char *)exchange->dst + list->offset,
                                    .dst_stride = exchange->dst_stride,
                                    .dst_rows = list->rows ? list->rows + first : NULL,
                                    .dst_first = list->first + first,
                                    .add = exchange->add,
                                    .dtype = exchange->dtype});
}

static sley_status take_row_by_row(sl_threads_exchange *exchange, const sl_row_list *list,
                                   sl_channel *channel, sl_queue *queue) {
  sl_threads_comm *comm = (sl_threads_comm *)exchange->base.comm;
  for (int64_t i = 0; i < list->count; i++) {
    char *slot = slot_of(channel, i);
    SL_TRY(sl_world_wait(comm, (_Atomic uint64_t *)(void *)slot, exchange->round, list->peer));
    SL_TRY(take_from(exchange, list, i, 1, slot + SL_SLOT_HEADER, 0, NULL, queue));
  }
  return run_queue(queue);
}

static sley_status take_in_place(sl_threads_exchange *exchange, const sl_row_list *list, sl_channel *channel,
                                 sl_queue *queue) {
  sl_threads_comm *comm = (sl_threads_comm *)exchange->base.comm;
  if (!sl_world_enter(comm, list->peer))
    return sl_world_check(comm);
  if (atomic_load(channel->closed)) { /* the sender has abandoned this round: its error follows */
    sl_world_leave(comm, list->peer);
    return sl_world_wait_end(comm, list->peer);
  }
  sley_status status = take_from(exchange, list, 0, list->count, channel->src + channel->list->offset,
                                 channel->src_stride, channel->list, queue);
  if (status == SLEY_OK)
    status = run_queue(queue);
  if (status == SLEY_OK)
    count(exchange, list->peer, list->count, list->bytes);
  sl_world_leave(comm, list->peer);
  return status;
}

/* Receives one peer's rows, after waiting for them if necessary. */
static sley_status take(sl_threads_exchange *exchange, int i, sl_queue *queue) {
  sl_threads_comm *comm = (sl_threads_comm *)exchange->base.comm;
  const sl_row_list *list = &exchange->recv[i];
  sl_channel *channel = exchange->from[i];
  if (channel->way == SL_ROW_BY_ROW) {
    SL_TRY(take_row_by_row(exchange, list, channel, queue));
  } else {
    SL_TRY(sl_world_wait(comm, &channel->ready, exchange->round, list->peer));
    if (channel->way == SL_PACKED) {
      SL_TRY(take_from(exchange, list, 0, list->count, channel->buffer, list->bytes, NULL, queue));
      SL_TRY(run_queue(queue));
    } else
      SL_TRY(take_in_place(exchange, list, channel, queue));
  }
  sl_threads_acknowledge(exchange, i);
  return SLEY_OK;
}

/* Receives from all peers in the order of the list. */
static sley_status take_in_order(sl_threads_exchange *exchange, sl_queue *queue) {
  for (int i = 0; i < exchange->recvs; i++)
    SL_TRY(take(exchange, i, queue));
  return SLEY_OK;
}

/* Receives first from the peers that are ready, starting after this rank; then from the others, waiting for
 * each. */
static sley_status take_as_they_come(sl_threads_exchange *exchange, sl_queue *queue) {
  int start = first_after(exchange->recv, exchange->recvs, exchange->base.comm->rank);
  for (int waiting = 0; waiting < 2; waiting++)
    for (int i = 0; i < exchange->recvs; i++) {
      int at = (start + i) % exchange->recvs;
      sl_channel *channel = exchange->from[at];
      if (atomic_load(&channel->taken) == exchange->round)
        continue;
      if (waiting || (channel->way != SL_ROW_BY_ROW && atomic_load(&channel->ready) == exchange->round))
        SL_TRY(take(exchange, at, queue));
    }
  return SLEY_OK;
}

/* Waits for all peers before it enters any peer's memory: a rank inside a peer's memory must not wait. */
static sley_status map_rows(sl_threads_exchange *exchange, sl_mapped_rows *mapped, sl_queue *queue) {
  sl_threads_comm *comm = (sl_threads_comm *)exchange->base.comm;
  if (!comm->base.zero_copy)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "exchange %s: the memory of device %s cannot be mapped",
                   exchange->name, comm->base.device->ops->name);
  if (!exchange->in_flight || exchange->received || exchange->mapped || comm->inside_count > 0)
    return sl_fail(SLEY_ERR_ARG,
                   "exchange %s cannot be mapped: it is not begun, or another exchange is mapped",
                   exchange->name);
  for (int i = 0; i < exchange->recvs; i++)
    if (exchange->add || sl_link_to(&comm->base, exchange->recv[i].peer) == SL_LINK_MESSAGE)
      return sl_fail(SLEY_ERR_UNSUPPORTED, "exchange %s adds or crosses a message link: it cannot be mapped",
                     exchange->name);
  for (int i = 0; i < exchange->recvs; i++)
    SL_TRY(sl_world_wait(comm, &exchange->from[i]->ready, exchange->round, exchange->recv[i].peer));
  for (int i = 0; i < exchange->recvs; i++)
    SL_TRY(sl_threads_stay(exchange, exchange->recv[i].peer));
  exchange->mapped = true;
  if (exchange->device)
    SL_TRY(sl_device_exchange_map(exchange, queue));
  for (int i = 0; i < exchange->recvs; i++) {
    const sl_channel *lent = exchange->from[i];
    mapped[i] = (sl_mapped_rows){lent->src, lent->src_stride};
    count(exchange, exchange->recv[i].peer, lent->list->count, lent->list->bytes);
  }
  return SLEY_OK;
}

sley_status sl_threads_exchange_map(sl_exchange *base, sl_mapped_rows *mapped, sl_queue *queue) {
  sl_threads_exchange *exchange = (sl_threads_exchange *)base;
  sley_status status = map_rows(exchange, mapped, queue);
  return status == SLEY_OK ? SLEY_OK : failed(exchange, status);
}

/* Makes the receiving half of a round, unless it was made already: complete on host memory, enqueued on other
   devices. */
static sley_status receive(sl_threads_exchange *exchange, sl_queue *queue) {
  if (exchange->received)
    return SLEY_OK;
  if (exchange->device)
    SL_TRY(sl_device_exchange_receive(exchange, queue));
  else
    SL_TRY(exchange->add ? take_in_order(exchange, queue) : take_as_they_come(exchange, queue));
  exchange->received = true;
  return SLEY_OK;
}

static sley_status give_back(sl_threads_exchange *exchange, sl_queue *queue) {
  if (exchange->device)
    return sl_device_exchange_give_back(exchange, queue);
  sl_world_leave_all((sl_threads_comm *)exchange->base.comm);
  for (int i = 0; i < exchange->recvs; i++)
    sl_threads_acknowledge(exchange, i);
  return SLEY_OK;
}

/* On host memory, all peers have taken their rows when the call returns; on other devices reclaim waits for
   that. */
static sley_status end(sl_threads_exchange *exchange, sl_queue *queue) {
  sl_threads_comm *comm = (sl_threads_comm *)exchange->base.comm;
  SL_TRY(sl_world_check(comm));
  sley_status status = exchange->mapped ? give_back(exchange, queue) : receive(exchange, queue);
  if (status == SLEY_OK && exchange->device && !exchange->mapped)
    status = sl_device_exchange_complete(exchange, queue);
  for (int i = 0; i < exchange->sends && status == SLEY_OK && !exchange->device; i++)
    status = sl_world_wait(comm, &exchange->channel[i].taken, exchange->round, exchange->send[i].peer);
  return status;
}

sley_status sl_threads_exchange_end(sl_exchange *base, sl_queue *queue) {
  sl_threads_exchange *exchange = (sl_threads_exchange *)base;
  if (!exchange->in_flight)
    return failed(exchange, sl_fail(SLEY_ERR_ARG, "exchange %s is ended but was not begun", exchange->name));
  sley_status status = end(exchange, queue);
  if (status != SLEY_OK)
    return failed(exchange, status);
  exchange->in_flight = false;
  exchange->ended = exchange->device;
  return SLEY_OK;
}

sley_status sl_threads_exchange_arrive(sl_exchange *base, sl_queue *queue, const sl_piece_words **words) {
  sl_threads_exchange *exchange = (sl_threads_exchange *)base;
  *words = NULL;
  if (!exchange->in_flight || exchange->mapped)
    return failed(exchange, sl_fail(SLEY_ERR_ARG, "exchange %s: arrive is called outside begin and end",
                                    exchange->name));
  sley_status status = sl_world_check((sl_threads_comm *)base->comm);
  if (status == SLEY_OK)
    status = receive(exchange, queue);
  if (status == SLEY_OK && exchange->device)
    status = sl_device_exchange_arrive(exchange, queue, words);
  return status == SLEY_OK ? SLEY_OK : failed(exchange, status);
}

/* On host memory there is nothing to do, because end has already waited. */
sley_status sl_threads_exchange_reclaim(sl_exchange *base, sl_queue *queue) {
  sl_threads_exchange *exchange = (sl_threads_exchange *)base;
  if (exchange->in_flight)
    return failed(exchange, sl_fail(SLEY_ERR_ARG, "exchange %s is reclaimed before its end", exchange->name));
  if (!exchange->ended)
    return SLEY_OK;
  exchange->ended = false;
  sley_status status = sl_world_check((sl_threads_comm *)base->comm);
  if (status == SLEY_OK)
    status = sl_device_exchange_reclaim(exchange, queue);
  return status == SLEY_OK ? SLEY_OK : failed(exchange, status);
}

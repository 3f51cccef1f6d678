/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of threads whose devices have memory that the host cannot address. The ranks' threads synchronise
 * by the words `ready` and `taken` of each channel (exchange_inside.h); the devices do the work later, in the
 * order of their queues. No thread waits for a device, so the next kernels are enqueued while rows move.
 *
 * - begin: the thread raises `ready` of its channels. In the rank's queue: messages are packed, the event
 *   `begun` is recorded.
 * - receive: the thread waits for `ready` of its senders, then raises `taken`. In an urgent queue: waits for
 *   `begun` of this rank and of the senders; copies packed rows whose memory cannot be loaded; one SL_OP_PULL
 *   for all senders; records the event `done`.
 * - arrive: the caller's queue waits for the first piece.
 * - end: the rank's queue waits for its own `done`.
 * - reclaim: the thread waits for `taken` of its receivers, the rank's queue for their `done`.
 *
 * Receive is the first half of whichever of arrive and end comes first. The urgent queue lets rows move
 * concurrently with the work of the rank's queue. Rows that are added go through the rank's queue, one pull
 * per sender in the order of the list, so that the order of summation is fixed. If rows are mapped, the
 * rank's queue waits for the senders' `begun`, and end records `done` there; nothing is pulled.
 *
 * An event may be recorded again only when all who wait for its last recording have enqueued that wait.
 * `begun` and `done` are each recorded before the word that announces them is raised, and the words alternate
 * from round to round, so this holds.
 *
 * How rows move: over direct links, and with SL_GRAIN_ROW over message links too, the pull loads them in
 * place. Rows listed for a message link are packed first, and the pull loads the packed ones. If a device
 * cannot load another's memory, rows are packed, copied as one block into a landing buffer of the receiver,
 * and pulled from there. */
#include "transport/threads/device_exchange.h"

#include <stdio.h>

#include "base/memory.h"
#include "transport/pull_list.h"
#include "transport/threads/peers.h"
#include "transport/threads/signalled.h"

static sl_threads_comm *comm_of(const sl_threads_exchange *exchange) {
  return (sl_threads_comm *)exchange->base.comm;
}

static bool has_pieces(const sl_comm *receiver, const sl_comm *sender) {
  return !receiver->device->ops->reach(receiver->device, sender->device);
}

/* Returns whether begin packs a channel's rows. The result is the same for sender and receiver. */
static bool is_packed(const sl_channel *channel, const sl_comm *sender, const sl_comm *receiver) {
  return sl_list_moves(channel->list) && (channel->way == SL_PACKED || has_pieces(receiver, sender));
}

/* ----------------------------------------------------------------------------------------------- preparing
 */

static sley_status prepare_send(sl_threads_exchange *exchange, int i) {
  sl_comm *comm = exchange->base.comm;
  sl_channel *channel = &exchange->channel[i];
  const sl_row_list *list = channel->list;
  if (!is_packed(channel, comm, exchange->ranks[list->peer]->base.comm))
    return SLEY_OK;
  SL_TRY(comm->device->ops->alloc(comm->device, list->count * list->bytes, "a message",
                                  (void **)&channel->buffer));
  if (!list->rows)
    return SLEY_OK;
  return sl_device_upload_private(comm->queue, list->rows, list->count * (int64_t)sizeof *list->rows,
                                  "a list of rows", (void **)&exchange->device->packed_rows[i]);
}

/* Sets a note, once, that explains why the exchange is slow. */
static void note_staging(sl_threads_comm *comm) {
  sl_world *world = comm->world;
  pthread_mutex_lock(&world->lock);
  if (!world->note[0])
    snprintf(world->note, sizeof world->note,
             "the GPUs cannot load each other's memory: rows are packed and copied between them");
  pthread_mutex_unlock(&world->lock);
}

static sley_status prepare_source(sl_threads_exchange *exchange, int i, sl_pull_rows *rows) {
  sl_device_exchange *device = exchange->device;
  sl_comm *comm = exchange->base.comm;
  const sl_row_list *list = &exchange->recv[i];
  const sl_comm *sender = exchange->ranks[list->peer]->base.comm;
  const sl_channel *channel = exchange->from[i];
  bool packed = is_packed(channel, sender, comm);
  int at = device->sources++;
  device->origin[at].recv = i;
  rows[at] = (sl_pull_rows){.source = (int32_t)(exchange->add ? 0 : at % SL_PULL_SOURCES),
                            .count = list->count,
                            .src_rows = packed ? NULL : channel->list->rows,
                            .src_first = packed ? 0 : channel->list->first,
                            .dst_rows = list->rows,
                            .dst_first = list->first,
                            .piece_end = list->piece_end};
  if (!has_pieces(comm, sender))
    return SLEY_OK;
  note_staging((sl_threads_comm *)comm);
  return comm->device->ops->alloc(comm->device, list->count * list->bytes, "a message",
                                  (void **)&device->origin[at].landing);
}

/* Returns whether each row of a channel is a message: the pull loads the rows one by one over the link. */
static bool is_row_by_row(const sl_comm *sender, const sl_comm *receiver, sl_grain grain) {
  return grain == SL_GRAIN_ROW && sl_link_to(receiver, sender->rank) == SL_LINK_MESSAGE &&
         !has_pieces(receiver, sender);
}

/* Counts the traffic of a batch, by source. rows: lists of the batch's sources. */
static void count_given(const sl_threads_exchange *exchange, const sl_pull_rows *rows,
                        const sl_pull_entry *entries, sl_pull_batch *batch) {
  const sl_comm *comm = exchange->base.comm;
  int64_t listed[SL_PULL_SOURCES] = {0};
  for (int64_t i = 0; i < batch->count; i++)
    listed[entries[i].source]++;
  for (int s = 0; s < batch->sources; s++) {
    const sl_row_list *list = &exchange->recv[exchange->device->origin[batch->first_source + s].recv];
    const sl_comm *sender = exchange->ranks[list->peer]->base.comm;
    int64_t count = listed[rows[s].source];
    sl_counters_count(&batch->given, sl_link_to(comm, list->peer), count * list->bytes,
                      is_row_by_row(sender, comm, exchange->grain) ? count : count > 0);
  }
}

/* Returns whether this rank can load the peer's rows in place. */
static bool can_load(const sl_comm *base, int peer) {
  sl_threads_comm *comm = (sl_threads_comm *)(uintptr_t)base;
  bool can =
      base->zero_copy || (sl_world_stay(comm, peer) && !has_pieces(base, &comm->world->ranks[peer].base));
  if (!base->zero_copy)
    sl_world_leave_all(comm);
  return can;
}

int64_t sl_threads_list_messages(const sl_comm *comm, const sl_row_list *list, sl_grain grain) {
  bool alone = grain == SL_GRAIN_ROW && sl_link_to(comm, list->peer) == SL_LINK_MESSAGE;
  if (!sl_list_moves(list))
    return 0;
  return alone && can_load(comm, list->peer) ? list->count : 1;
}

/* If the rows cannot be loaded, an exchange brings them, which packs them. */
int64_t sl_threads_row_messages(const sl_comm *comm, int peer, int64_t count, int64_t bytes) {
  if (count == 0 || bytes == 0)
    return 0;
  return can_load(comm, peer) ? count : 1;
}

/* Divides the sources into launches and lists their entries. If rows are added, each source has its own
 * launch; pieces need a single launch. */
static sley_status list_entries(sl_threads_exchange *exchange, const sl_pull_rows *rows,
                                sl_pull_entry *entries) {
  sl_device_exchange *device = exchange->device;
  int most = exchange->add ? 1 : SL_PULL_SOURCES;
  int64_t at = 0;
  device->pieces.count = device->sources > 0 && device->sources <= most ? exchange->pieces : 0;
  device->pieces.unhurried = exchange->unhurried;
  for (int first = 0; first < device->sources; first += most) {
    int count = device->sources - first < most ? device->sources - first : most, start = 0;
    while (start < count - 1 &&
           exchange->recv[device->origin[first + start].recv].peer <= exchange->base.comm->rank)
      start++;
    SL_TRY(sl_arrivals_interleave(&device->pieces, exchange->base.comm->team, rows + first, count, start,
                                  entries + at));
    int64_t listed = sl_pull_count(rows + first, count);
    device->batch[device->batches] =
        (sl_pull_batch){.first = at, .count = listed, .first_source = first, .sources = count};
    count_given(exchange, rows + first, entries + at, &device->batch[device->batches++]);
    at += listed;
  }
  return SLEY_OK;
}

static sley_status prepare_receives(sl_threads_exchange *exchange, sl_pull_rows *rows) {
  sl_device_exchange *device = exchange->device;
  int64_t total = 0;
  for (int i = 0; i < exchange->recvs; i++)
    if (sl_list_moves(&exchange->recv[i])) {
      SL_TRY(prepare_source(exchange, i, rows));
      total += exchange->recv[i].count;
    }
  sl_pull_entry *entries;
  SL_TRY(SL_NEW(entries, total, "a list of rows"));
  sley_status status = list_entries(exchange, rows, entries);
  if (status == SLEY_OK)
    status = sl_device_upload_private(exchange->base.comm->queue, entries, total * (int64_t)sizeof *entries,
                                      "a list of rows", (void **)&device->list);
  sl_free(entries);
  return status == SLEY_OK ? sl_arrivals_create(&device->pieces, exchange->base.comm->queue) : status;
}

/* Called before an abort ends the rank's access to its peers' memory: records `done` after the reads of that
 * memory that its device has not made yet. */
static void retreat(void *owner) {
  sl_threads_exchange *exchange = owner;
  sl_queue *queue = exchange->base.comm->queue;
  if (exchange->device->reads)
    (void)queue->ops->event_record(queue, exchange->device->done);
  exchange->device->reads = false;
}

/* Called after retreat: makes the queue wait until no peer's device reads this rank's rows or writes to its
 * board. */
static void settle(void *owner, sl_queue *queue) {
  const sl_threads_exchange *exchange = owner;
  for (int i = 0; i < exchange->sends; i++)
    sl_threads_wait_read_always(exchange, exchange->send[i].peer, queue);
  for (int i = 0; i < exchange->recvs && exchange->device->board; i++)
    sl_threads_wait_read_always(exchange, exchange->recv[i].peer, queue);
}

/* Prepares sends and receives while this rank has access to all peers' memory, so that their row lists and
 * devices cannot be freed. */
static sley_status prepare_inside(sl_threads_exchange *exchange, sl_pull_rows *rows) {
  sl_threads_comm *comm = comm_of(exchange);
  sley_status status = SLEY_OK;
  for (int p = 0; p < comm->base.size && status == SLEY_OK; p++)
    if (!sl_world_stay(comm, p))
      status = sl_world_check(comm);
  for (int i = 0; i < exchange->sends && status == SLEY_OK; i++)
    status = prepare_send(exchange, i);
  if (status == SLEY_OK)
    status = prepare_receives(exchange, rows);
  sl_world_leave_all(comm);
  return status;
}

sley_status sl_device_exchange_prepare(sl_threads_exchange *exchange) {
  sl_comm *comm = exchange->base.comm;
  sl_device_exchange *device;
  SL_TRY(SL_NEW_ZERO(device, 1, "an exchange"));
  exchange->device = device;
  device->work = (sl_device_work){.owner = exchange, .retreat = retreat, .settle = settle};
  SL_TRY(comm->device->ops->event_create(comm->device, &device->begun));
  SL_TRY(comm->device->ops->event_create(comm->device, &device->done));
  SL_TRY(SL_NEW_ZERO(device->packed_rows, exchange->sends, "an exchange"));
  SL_TRY(SL_NEW_ZERO(device->batch, exchange->recvs, "an exchange"));
  SL_TRY(SL_NEW_ZERO(device->origin, exchange->recvs, "an exchange"));
  SL_TRY(SL_NEW_ZERO(device->source, exchange->recvs, "an exchange"));
  sl_pull_rows *rows;
  SL_TRY(SL_NEW_ZERO(rows, exchange->recvs, "an exchange"));
  sley_status status = prepare_inside(exchange, rows);
  sl_free(rows);
  return status == SLEY_OK ? sl_signalled_prepare(exchange) : status;
}

/* Device memory for the list with a peer: for packing its rows, or for receiving them. */
static int64_t list_memory(sl_threads_comm *comm, const sl_row_list *list, bool sends) {
  sl_comm *peer = &comm->world->ranks[list->peer].base, *self = &comm->base;
  if (!sl_list_moves(list))
    return 0;
  bool staged = sends ? has_pieces(peer, self) : has_pieces(self, peer);
  bool packed = staged || (sends && sl_link_to(self, list->peer) == SL_LINK_MESSAGE);
  int64_t bytes = packed ? sl_device_bytes(list->count * list->bytes) : 0;
  if (packed && sends && list->rows)
    bytes += sl_device_bytes(list->count * (int64_t)sizeof *list->rows);
  return bytes + (sends ? 0 : list->count * (int64_t)sizeof(sl_pull_entry));
}

int64_t sl_device_exchange_memory(sl_comm *base, const sl_exchange_spec *spec) {
  sl_threads_comm *comm = (sl_threads_comm *)base;
  int64_t board = (int64_t)sizeof(sl_board) + base->size * (int64_t)sizeof(sl_board_slot), bytes = 0;
  bool inside = true;
  for (int p = 0; p < base->size && inside; p++)
    inside = sl_world_stay(comm, p);
  for (int i = 0; i < spec->sends && inside; i++)
    bytes += list_memory(comm, &spec->send[i], true);
  for (int i = 0; i < spec->recvs && inside; i++)
    bytes += list_memory(comm, &spec->recv[i], false);
  sl_world_leave_all(comm);
  return sl_device_bytes(bytes) + sl_device_bytes(board) + sl_arrivals_memory(spec->pieces);
}

void sl_device_exchange_free(sl_threads_exchange *exchange) {
  sl_device_exchange *device = exchange->device;
  if (!device)
    return;
  sl_device *owner = exchange->base.comm->device;
  for (int i = 0; i < exchange->sends; i++) {
    owner->ops->free(owner, exchange->channel[i].buffer);
    exchange->channel[i].buffer = NULL;
    if (device->packed_rows)
      owner->ops->free(owner, device->packed_rows[i]);
  }
  for (int i = 0; i < device->sources; i++)
    owner->ops->free(owner, device->origin[i].landing);
  owner->ops->free(owner, device->list);
  sl_arrivals_destroy(&device->pieces, owner);
  owner->ops->free(owner, device->board);
  sl_free(device->lend);
  owner->ops->event_destroy(device->done);
  owner->ops->event_destroy(device->begun);
  sl_free(device->source);
  sl_free(device->origin);
  sl_free(device->batch);
  sl_free(device->packed_rows);
  sl_free(device);
  exchange->device = NULL;
}

/* ------------------------------------------------------------------------------------------------- running
 */

static sley_status pack(sl_threads_exchange *exchange, int i, sl_queue *queue) {
  const sl_channel *channel = &exchange->channel[i];
  const sl_row_list *list = channel->list;
  sl_kernel_args args = {.op = SL_OP_ROWS,
                         .rows = {.count = list->count,
                                  .bytes = list->bytes,
                                  .src = channel->src + list->offset,
                                  .src_stride = channel->src_stride,
                                  .src_rows = exchange->device->packed_rows[i],
                                  .src_first = list->first,
                                  .dst = channel->buffer,
                                  .dst_stride = list->bytes,
                                  .dtype = exchange->dtype}};
  return sl_kernel_run(queue, &args);
}

sley_status sl_device_exchange_begin(sl_threads_exchange *exchange, const void *src, int64_t src_stride,
                                     sl_queue *queue) {
  sl_threads_comm *comm = comm_of(exchange);
  for (int i = 0; i < exchange->sends; i++) {
    exchange->channel[i].src = src;
    exchange->channel[i].src_stride = src_stride;
    if (exchange->channel[i].buffer)
      SL_TRY(pack(exchange, i, queue));
  }
  SL_TRY(queue->ops->event_record(queue, exchange->device->begun));
  sl_world_untrack(comm, &exchange->device->work); /* from the last round, if devices signal each other by
                                                      boards */
  sl_world_track(comm, &exchange->device->work);
  for (int i = 0; i < exchange->sends; i++) { /* devices that signal each other need the lists to map rows */
    atomic_store(&exchange->channel[i].ready, exchange->round);
    sl_world_wake(comm->world, exchange->send[i].peer);
  }
  return SLEY_OK;
}

/* Copies rows that cannot be loaded to this rank's device, and sets the addresses of all rows in this
 * round. */
static sley_status locate(sl_threads_exchange *exchange, sl_queue *queue) {
  sl_device_exchange *device = exchange->device;
  for (int s = 0; s < device->sources; s++) {
    const sl_device_source *origin = &device->origin[s];
    const sl_row_list *list = &exchange->recv[origin->recv];
    const sl_channel *channel = exchange->from[origin->recv];
    if (origin->landing)
      SL_TRY(queue->ops->copy(queue, SL_COPY_WITHIN, origin->landing, channel->buffer,
                              list->count * list->bytes));
    device->source[s] = (sl_pull_source){.src = origin->landing   ? origin->landing
                                                : channel->buffer ? channel->buffer
                                                                  : channel->src + channel->list->offset,
                                         .stride = channel->buffer ? list->bytes : channel->src_stride,
                                         .bytes = list->bytes,
                                         .dst_offset = list->offset};
  }
  return SLEY_OK;
}

static sley_status pull(sl_threads_exchange *exchange, sl_queue *queue) {
  sl_device_exchange *device = exchange->device;
  for (int b = 0; b < device->batches; b++) {
    const sl_pull_batch *batch = &device->batch[b];
    sl_kernel_args args = {.op = SL_OP_PULL,
                           .pull = {.count = batch->count,
                                    .list = device->list + batch->first,
                                    .sources = batch->sources,
                                    .source = device->source + batch->first_source,
                                    .dst = exchange->dst,
                                    .dst_stride = exchange->dst_stride,
                                    .add = exchange->add,
                                    .dtype = exchange->dtype}};
    sl_arrivals_fill(&device->pieces, &args.pull);
    SL_TRY(sl_kernel_run(queue, &args));
    sl_counters_sum(&comm_of(exchange)->counters, &batch->given);
  }
  return SLEY_OK;
}

/* Enqueues the round's receives. The peers cannot free their memory meanwhile. */
static sley_status give_receives(sl_threads_exchange *exchange, sl_queue *queue) {
  sl_device_exchange *device = exchange->device;
  const sl_device_ops *ops = queue->ops;
  sl_queue *beside = exchange->add ? queue : comm_of(exchange)->urgent;
  if (beside != queue)
    SL_TRY(ops->event_wait(beside, device->begun));
  for (int i = 0; i < exchange->recvs; i++)
    SL_TRY(ops->event_wait(beside, exchange->ranks[exchange->recv[i].peer]->device->begun));
  SL_TRY(locate(exchange, beside));
  SL_TRY(pull(exchange, beside));
  return ops->event_record(beside, device->done);
}

static sley_status receive_inside(sl_threads_exchange *exchange, sl_queue *queue) {
  sl_threads_comm *comm = comm_of(exchange);
  for (int i = 0; i < exchange->recvs; i++)
    SL_TRY(sl_world_wait(comm, &exchange->from[i]->ready, exchange->round, exchange->recv[i].peer));
  for (int i = 0; i < exchange->recvs; i++) {
    int peer = exchange->recv[i].peer;
    if (!sl_world_stay(comm, peer)) {
      sl_world_leave_all(comm);
      return sl_world_check(comm);
    }
    if (atomic_load(exchange->from[i]->closed)) { /* the sender has abandoned this round: its error follows */
      sl_world_leave_all(comm);
      return sl_world_wait_end(comm, peer);
    }
  }
  sley_status status = give_receives(exchange, queue);
  sl_world_leave_all(comm);
  return status;
}

sley_status sl_device_exchange_map(sl_threads_exchange *exchange, sl_queue *queue) {
  exchange->device->reads = true;
  if (exchange->device->board)
    return sl_signalled_map(exchange, queue);
  for (int i = 0; i < exchange->recvs; i++)
    SL_TRY(queue->ops->event_wait(queue, exchange->ranks[exchange->recv[i].peer]->device->begun));
  return SLEY_OK;
}

static void acknowledge_all(sl_threads_exchange *exchange) {
  for (int i = 0; i < exchange->recvs; i++)
    sl_threads_acknowledge(exchange, i);
}

sley_status sl_device_exchange_receive(sl_threads_exchange *exchange, sl_queue *queue) {
  sl_device_exchange *device = exchange->device;
  if (device->board)
    SL_TRY(sl_signalled_receive(exchange, queue));
  else if (exchange->recvs > 0)
    SL_TRY(receive_inside(exchange, queue));
  sl_arrivals_begin(&device->pieces);
  acknowledge_all(exchange);
  return SLEY_OK;
}

/* Returns whether receives were enqueued in a queue beside the rank's queue. */
static bool has_receives_beside(const sl_threads_exchange *exchange) {
  return !exchange->add && (exchange->recvs > 0 || exchange->device->board);
}

sley_status sl_device_exchange_arrive(sl_threads_exchange *exchange, sl_queue *queue,
                                      const sl_piece_words **words) {
  sl_device_exchange *device = exchange->device;
  *words = NULL;
  return has_receives_beside(exchange) ? sl_arrivals_arrive(&device->pieces, device->done, queue, words)
                                       : SLEY_OK;
}

sley_status sl_device_exchange_complete(sl_threads_exchange *exchange, sl_queue *queue) {
  sl_device_exchange *device = exchange->device;
  return has_receives_beside(exchange) ? sl_arrivals_complete(&device->pieces, device->done, queue) : SLEY_OK;
}

sley_status sl_device_exchange_give_back(sl_threads_exchange *exchange, sl_queue *queue) {
  sl_device_exchange *device = exchange->device;
  SL_TRY(device->board ? sl_signalled_give_back(exchange, queue)
                       : queue->ops->event_record(queue, device->done));
  device->reads = false;
  sl_world_leave_all(comm_of(exchange));
  acknowledge_all(exchange);
  return SLEY_OK;
}

/* If devices signal each other, hosts wait only for peers that have mapped this rank's rows. An abort ends
 * the wait of this rank's device before its peers have read the rows. So the work stays on the list until the
 * next round or the end of the exchange, and an abort waits for the peers' devices. */
sley_status sl_device_exchange_reclaim(sl_threads_exchange *exchange, sl_queue *queue) {
  sl_threads_comm *comm = comm_of(exchange);
  bool signalled = exchange->device->board;
  for (int i = 0; i < exchange->sends && (!signalled || exchange->mapped); i++) {
    int peer = exchange->send[i].peer;
    SL_TRY(sl_world_wait(comm, &exchange->channel[i].taken, exchange->round, peer));
    if (signalled)
      continue;
    if (!sl_world_enter(comm, peer))
      return sl_world_check(comm);
    sley_status status = sl_threads_wait_read(exchange, peer, queue);
    sl_world_leave(comm, peer);
    SL_TRY(status);
  }
  if (signalled)
    SL_TRY(sl_signalled_reclaim(exchange, queue));
  else
    sl_world_untrack(comm, &exchange->device->work);
  return SLEY_OK;
}

void sl_device_exchange_drain(sl_threads_exchange *exchange) {
  sl_threads_comm *comm = comm_of(exchange);
  sl_world_untrack(comm, &exchange->device->work);
  (void)comm->urgent->ops->queue_wait(comm->urgent);
  (void)comm->base.queue->ops->queue_wait(comm->base.queue);
}

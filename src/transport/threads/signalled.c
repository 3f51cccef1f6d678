/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges whose devices signal each other, so that not even the ranks' threads wait. end enqueues in the
 * urgent queue pulls that offer this rank's rows through its peers' boards, wait at its own board, and signal
 * the peers when their rows have been read (kernel.h); reclaim makes the rank's queue wait for the same
 * signals. A mapped round has two pulls that move nothing, in the rank's queue, around the work that reads
 * the rows; the hosts exchange the addresses, and so wait for each other, but not for a device. The host does
 * the same in every round, so a product can be captured into a graph. Each rank must have a device of its
 * own: a pull that waits may occupy it. */

#include "base/memory.h"
#include "base/overrides.h"
#include "transport/threads/peers.h"
#include "transport/threads/signalled.h"

static sl_threads_comm *comm_of(const sl_threads_exchange *exchange) {
  return (sl_threads_comm *)exchange->base.comm;
}

/* Returns whether boards are requested: by the plan, or by a test. They are not the default, because a GPU
 * that waits for another rank's next call delays everything that waits for that GPU, and cudaFree waits for
 * all GPUs that could load the freed memory. So every rank must make its calls without freeing GPU memory
 * between them. */
static bool is_wanted(const sl_threads_exchange *exchange) {
  return exchange->capture || sl_overrides.signals == SL_SIGNALS_ON;
}

/* Returns whether boards are possible. The result is the same on every rank. */
static bool is_possible(const sl_threads_exchange *exchange) {
  const sl_comm *comm = exchange->base.comm;
  const sl_device_ops *ops = comm->device->ops;
  if (!ops->signals || comm->size > SL_PULL_SOURCES || comm->size > ops->count())
    return false;
  for (int p = 0; p < comm->size; p++)
    for (int q = 0; q < comm->size; q++)
      if (!ops->reach(exchange->ranks[p]->base.comm->device, exchange->ranks[q]->base.comm->device))
        return false;
  return true;
}

sley_status sl_signalled_prepare(sl_threads_exchange *exchange) {
  sl_comm *comm = exchange->base.comm;
  sl_device_exchange *device = exchange->device;
  if (!is_wanted(exchange))
    return SLEY_OK;
  if (!is_possible(exchange))
    return exchange->capture ? sl_fail(SLEY_ERR_UNSUPPORTED,
                                       "products cannot be captured: each rank needs its own GPU, and all "
                                       "must reach each other's memory")
                             : SLEY_OK;
  SL_TRY(SL_NEW_ZERO(device->lend, exchange->sends, "an exchange"));
  int64_t bytes = sl_board_bytes(comm->size);
  sl_board *zeros = sl_alloc_zero(bytes, 1, "a board");
  if (!zeros)
    return SLEY_ERR_MEMORY;
  sley_status status = sl_device_upload(comm->queue, zeros, bytes, "a board", (void **)&device->board);
  if (status == SLEY_OK) /* must be done before any peer writes to the board */
    status = comm->device->ops->queue_wait(comm->queue);
  sl_free(zeros);
  return status;
}

static sl_board *board_of(const sl_threads_exchange *exchange, int rank) {
  return exchange->ranks[rank]->device->board;
}

static sl_pull_source source_of(const sl_threads_exchange *exchange, const sl_row_list *list) {
  return (sl_pull_source){.bytes = list->bytes,
                          .dst_offset = list->offset,
                          .board = board_of(exchange, list->peer),
                          .peer = list->peer};
}

/* Fills in this rank's offers, and its sources: first the sources whose rows move, then sources of which only
 * the signal is needed. Returns the number of sources of which only the signal is needed. */
static int fill_tables(sl_threads_exchange *exchange) {
  sl_device_exchange *device = exchange->device;
  for (int i = 0; i < exchange->sends; i++) {
    const sl_channel *channel = &exchange->channel[i];
    const sl_row_list *list = channel->list;
    device->lend[i] = (sl_offer){.board = board_of(exchange, list->peer),
                                 .peer = list->peer,
                                 .src = channel->buffer ? channel->buffer : channel->src + list->offset,
                                 .stride = channel->buffer ? list->bytes : channel->src_stride};
  }
  int moving = 0, still = 0;
  for (int i = 0; i < exchange->recvs; i++)
    if (sl_list_moves(&exchange->recv[i]))
      device->source[moving++] = source_of(exchange, &exchange->recv[i]);
  for (int i = 0; i < exchange->recvs; i++)
    if (!sl_list_moves(&exchange->recv[i]))
      device->source[moving + still++] = source_of(exchange, &exchange->recv[i]);
  return still;
}

static sl_signals signals_of(const sl_threads_exchange *exchange) {
  return (sl_signals){.own = exchange->device->board,
                      .rank = exchange->base.comm->rank,
                      .lends = exchange->sends,
                      .lend = exchange->device->lend,
                      .stop = comm_of(exchange)->stop};
}

static sl_board_round round_of(sl_threads_exchange *exchange) {
  const sl_device_exchange *device = exchange->device;
  int still = fill_tables(exchange);
  return (sl_board_round){.signals = signals_of(exchange),
                          .list = device->list,
                          .batches = device->batches,
                          .batch = device->batch,
                          .moving = device->sources,
                          .still = still,
                          .source = device->source,
                          .dst = exchange->dst,
                          .dst_stride = exchange->dst_stride,
                          .add = exchange->add,
                          .dtype = exchange->dtype,
                          .pieces = &device->pieces};
}

static sley_status pull(sl_threads_exchange *exchange, sl_queue *queue) {
  sl_board_round round = round_of(exchange);
  return sl_boards_pull(&round, queue, &comm_of(exchange)->counters);
}

/* Enqueues the round's pulls. Rows to add use the rank's own queue, after the rows that it has added so far.
 */
static sley_status give(sl_threads_exchange *exchange, sl_queue *queue) {
  const sl_device_exchange *device = exchange->device;
  sl_queue *beside = exchange->add ? queue : comm_of(exchange)->urgent;
  if (beside != queue)
    SL_TRY(queue->ops->event_wait(beside, device->begun));
  SL_TRY(pull(exchange, beside));
  return queue->ops->event_record(beside, device->done);
}

/* Enqueues one half of a mapped round, in the rank's own queue: the first half offers rows to the peers and
 * waits for theirs; the last half signals that the peers' rows have been read. Nothing moves. */
static sley_status pass_words(sl_threads_exchange *exchange, sl_queue *queue, bool first) {
  sl_board_round round = round_of(exchange);
  sl_pull_batch all = {.sources = round.moving + round.still};
  sl_signals signals = round.signals;
  signals.opens = signals.keeps = first;
  signals.closes = !first;
  return sl_boards_launch(&round, &signals, &all, queue, NULL);
}

static sley_status stay_with_receivers(sl_threads_exchange *exchange) {
  for (int i = 0; i < exchange->sends; i++)
    SL_TRY(sl_threads_stay(exchange, exchange->send[i].peer));
  return SLEY_OK;
}

sley_status sl_signalled_map(sl_threads_exchange *exchange, sl_queue *queue) {
  SL_TRY(stay_with_receivers(exchange));
  return pass_words(exchange, queue, true);
}

/* The rank is already inside its peers' memory. */
sley_status sl_signalled_give_back(sl_threads_exchange *exchange, sl_queue *queue) {
  SL_TRY(pass_words(exchange, queue, false));
  return queue->ops->event_record(queue, exchange->device->done);
}

/* The peers do not free their boards while work that writes to them is enqueued. */
sley_status sl_signalled_receive(sl_threads_exchange *exchange, sl_queue *queue) {
  sley_status status = stay_with_receivers(exchange);
  for (int i = 0; i < exchange->recvs && status == SLEY_OK; i++)
    status = sl_threads_stay(exchange, exchange->recv[i].peer);
  if (status == SLEY_OK)
    status = give(exchange, queue);
  sl_world_leave_all(comm_of(exchange));
  return status;
}

sley_status sl_signalled_reclaim(sl_threads_exchange *exchange, sl_queue *queue) {
  sl_signals signals = signals_of(exchange);
  sl_kernel_args await = {.op = SL_OP_AWAIT, .await = {.signals = &signals}};
  return sl_kernel_run(queue, &await);
}

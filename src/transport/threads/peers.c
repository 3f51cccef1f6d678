/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/threads/peers.h"

void sl_threads_acknowledge(sl_threads_exchange *exchange, int i) {
  sl_threads_comm *comm = (sl_threads_comm *)exchange->base.comm;
  const sl_row_list *list = &exchange->recv[i];
  sl_channel *channel = exchange->from[i];
  atomic_store(&channel->taken, exchange->round);
  sl_world_wake(comm->world, list->peer);
}

sley_status sl_threads_wait_read(const sl_threads_exchange *exchange, int peer, sl_queue *queue) {
  const sl_threads_exchange *receiver = exchange->ranks[peer];
  return atomic_load(&receiver->closed) ? SLEY_OK : queue->ops->event_wait(queue, receiver->device->done);
}

void sl_threads_wait_read_always(const sl_threads_exchange *exchange, int peer, sl_queue *queue) {
  sl_threads_comm *there = &((sl_threads_comm *)exchange->base.comm)->world->ranks[peer];
  atomic_fetch_add(&there->readers, 1);
  (void)sl_threads_wait_read(exchange, peer, queue);
  atomic_fetch_sub(&there->readers, 1);
}

static bool has_board(const sl_threads_exchange *exchange) {
  return exchange->device && exchange->device->board;
}

/* Writes the closing word to the peer's board, unless the peer has closed the exchange too. */
static void leave_word(sl_threads_exchange *exchange, int peer) {
  static const uint64_t closed = SL_BOARD_CLOSED;
  sl_threads_comm *comm = (sl_threads_comm *)exchange->base.comm;
  sl_queue *queue = comm->base.queue;
  const sl_threads_exchange *there = exchange->ranks[peer];
  sl_threads_comm *other = &comm->world->ranks[peer];
  atomic_fetch_add(&other->readers, 1); /* this rank counts as a reader even after an abort */
  if (!atomic_load(&there->closed)) {
    sl_board_slot *slot = &there->device->board->slot[comm->base.rank];
    (void)queue->ops->copy(queue, SL_COPY_TO_DEVICE, &slot->ready, &closed, sizeof closed);
    (void)queue->ops->copy(queue, SL_COPY_TO_DEVICE, &slot->taken, &closed, sizeof closed);
    (void)queue->ops->queue_wait(queue);
  }
  atomic_fetch_sub(&other->readers, 1);
}

/* First waits until the rank's device has read all rows that peers offered, because a peer that finds the
 * word may free them. */
void sl_threads_leave_words(sl_threads_exchange *exchange) {
  if (!has_board(exchange))
    return;
  const sl_threads_comm *comm = (sl_threads_comm *)exchange->base.comm;
  (void)comm->urgent->ops->queue_wait(comm->urgent);
  for (int i = 0; i < exchange->sends; i++)
    leave_word(exchange, exchange->send[i].peer);
  for (int i = 0; i < exchange->recvs; i++)
    leave_word(exchange, exchange->recv[i].peer);
}

void sl_threads_settle_boards(sl_threads_exchange *exchange) {
  if (!has_board(exchange))
    return;
  sl_queue *queue = exchange->base.comm->queue;
  for (int i = 0; i < exchange->sends; i++)
    sl_threads_wait_read_always(exchange, exchange->send[i].peer, queue);
  for (int i = 0; i < exchange->recvs; i++)
    sl_threads_wait_read_always(exchange, exchange->recv[i].peer, queue);
  (void)queue->ops->queue_wait(queue);
}

sley_status sl_threads_stay(sl_threads_exchange *exchange, int peer) {
  sl_threads_comm *comm = (sl_threads_comm *)exchange->base.comm;
  if (!sl_world_stay(comm, peer))
    return sl_world_check(comm);
  if (!atomic_load(&exchange->ranks[peer]->closed))
    return SLEY_OK;
  sl_world_leave_all(comm);         /* the peer has abandoned this round: its error follows */
  sl_threads_leave_words(exchange); /* otherwise a rank that waits for this rank would prevent the peer from
                                       ending */
  return sl_world_wait_end(comm, peer);
}

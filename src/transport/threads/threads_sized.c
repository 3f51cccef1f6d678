/* SPDX-License-Identifier: Apache-2.0 */
/* Sized exchanges of ranks that are threads. Every pair of ranks with a capacity has a channel, owned by the
 * sender. Begin writes the round's address and length there and raises `ready`; the receiver's end copies the
 * bytes directly from the sender's memory and raises `taken`, for which the sender's end waits.
 *
 * On devices whose memory the host cannot address the threads synchronise and the devices do the work later:
 * begin records the event `begun`; end enqueues in an urgent queue, beside the rank's, the waits for `begun`
 * of this rank and of its senders, the copies, and the event `done`. The rank's queue waits for its own
 * `done`, and for the `done` of the receivers of this rank's bytes. Copies work between any two devices,
 * whether or not one can load the other's memory. */
#include "base/memory.h"
#include "transport/sized.h"
#include "transport/threads/threads.h"
#include "transport/threads/world.h"

/* The data from one rank to one peer. Rounds count from 1. */
typedef struct sized_channel {
  _Alignas(64) _Atomic uint64_t ready; /* last round that the sender has started */
  const char *src;                     /* address in the last round */
  int64_t bytes;
  _Alignas(64) _Atomic uint64_t taken; /* last round received */
} sized_channel;

/* A sized exchange. Every rank holds a reference to the exchange of every rank, and the last one frees it. */
typedef struct threads_sized {
  sl_sized base;
  _Atomic int references;
  _Atomic bool closed; /* destroyed by its rank: its memory may be freed */
  char *name;
  int sends, recvs;
  sl_row_list *lists; /* the memory of send and recv */
  const sl_row_list *send, *recv;
  sized_channel *channel; /* one channel per send */
  sized_channel **from;   /* the peers' channels, one per recv */
  struct threads_sized **ranks;
  bool in_flight;
  uint64_t round;
  char *dst;
  int64_t *recv_at;
  sl_event *begun, *done; /* NULL on host memory */
  sl_device_work work;
} threads_sized;

static sl_threads_comm *comm_of(const threads_sized *sized) {
  return (sl_threads_comm *)sized->base.comm;
}

/* ---- making */

/* Frees a sized exchange without references. */
static void free_sized(threads_sized *sized) {
  if (!sized)
    return;
  sl_free(sized->channel);
  sl_free(sized->from);
  sl_free(sized->ranks);
  sl_free(sized->recv_at);
  sl_free(sized->lists);
  sl_free(sized->name);
  sl_free(sized);
}

/* Frees the events; called by the rank itself. */
static void free_events(threads_sized *sized) {
  const sl_device_ops *ops = sized->base.comm->device->ops;
  if (sized->begun)
    ops->event_destroy(sized->begun);
  if (sized->done)
    ops->event_destroy(sized->done);
  sized->begun = sized->done = NULL;
}

static void release_all(threads_sized *sized) {
  int size = sized->base.comm->size, rank = sized->base.comm->rank;
  for (int i = 1; i <= size; i++) { /* this rank's own reference last */
    threads_sized *other = sized->ranks[(rank + i) % size];
    if (atomic_fetch_sub(&other->references, 1) == 1)
      free_sized(other);
  }
}

static void retreat_nowhere(void *owner) {
  (void)owner;
}

/* Makes the queue wait until no device reads the bytes that this rank sends. */
static void settle(void *owner, sl_queue *queue) {
  const threads_sized *sized = owner;
  for (int i = 0; i < sized->sends; i++) {
    const threads_sized *receiver = sized->ranks[sized->send[i].peer];
    sl_threads_comm *there = comm_of(receiver);
    atomic_fetch_add(&there->readers, 1); /* keeps this rank's events valid, although no rank may enter any
                                             more */
    if (!atomic_load(&receiver->closed))
      (void)queue->ops->event_wait(queue, receiver->done);
    atomic_fetch_sub(&there->readers, 1);
  }
}

static sley_status make(sl_comm *comm, const sl_sized_spec *spec, threads_sized **out) {
  threads_sized *sized;
  sl_exchange_spec rows;
  SL_TRY(SL_NEW_ZERO(sized, 1, "a sized exchange"));
  *out = sized;
  sized->base.comm = comm;
  sized->work = (sl_device_work){.owner = sized, .retreat = retreat_nowhere, .settle = settle};
  atomic_init(&sized->references, comm->size);
  SL_TRY(sl_sized_as_rows(spec, comm, &rows, &sized->lists));
  sized->sends = rows.sends;
  sized->recvs = rows.recvs;
  sized->send = rows.send;
  sized->recv = rows.recv;
  if (!(sized->name = sl_strdup(spec->name)))
    return SLEY_ERR_MEMORY;
  SL_TRY(SL_NEW_ZERO(sized->channel, sized->sends, "a sized exchange"));
  SL_TRY(SL_NEW_ZERO(sized->from, sized->recvs, "a sized exchange"));
  SL_TRY(SL_NEW_ZERO(sized->recv_at, sized->recvs, "a sized exchange"));
  SL_TRY(SL_NEW_ZERO(sized->ranks, comm->size, "a sized exchange"));
  if (comm->device->ops->host_addresses)
    return SLEY_OK;
  SL_TRY(comm->device->ops->event_create(comm->device, &sized->begun));
  return comm->device->ops->event_create(comm->device, &sized->done);
}

/* Checks that the capacity of one rank's sends matches the other's receives. */
static sley_status match(const threads_sized *sender, const threads_sized *receiver) {
  const sl_exchange_spec bytes = {.dtype = SLEY_F32};
  int from = sender->base.comm->rank, to = receiver->base.comm->rank;
  sl_list_facts sent = sl_list_facts_of(&bytes, sender->send, sender->sends, to);
  sl_list_facts taken = sl_list_facts_of(&bytes, receiver->recv, receiver->recvs, from);
  return sl_list_facts_match(sender->name, from, to, &sent, &taken);
}

static sley_status connect(threads_sized *sized) {
  int size = sized->base.comm->size, rank = sized->base.comm->rank;
  for (int p = 0; p < size; p++) {
    SL_TRY(match(sized, sized->ranks[p]));
    SL_TRY(match(sized->ranks[p], sized));
  }
  for (int i = 0; i < sized->recvs; i++) {
    const threads_sized *sender = sized->ranks[sized->recv[i].peer];
    int at = 0;
    while (sender->send[at].peer != rank)
      at++;
    sized->from[i] = &sender->channel[at];
  }
  return SLEY_OK;
}

sley_status sl_threads_sized_create(sl_comm *base, const sl_sized_spec *spec, sl_sized **out) {
  sl_threads_comm *comm = (sl_threads_comm *)base;
  threads_sized *sized = NULL;
  *out = NULL;
  sley_status status = make(base, spec, &sized);
  status = sl_world_meet(comm, &(sl_post){.call = "sized_create", .data = {sized}, .status = status});
  if (status != SLEY_OK) { /* the status is the same on every rank, so no rank refers to another's exchange */
    if (sized)
      free_events(sized);
    free_sized(sized);
    return status;
  }
  for (int r = 0; r < base->size; r++)
    sized->ranks[r] = (threads_sized *)sl_world_post(comm, r)->data[0];
  status = connect(sized);
  status = sl_world_meet(comm, &(sl_post){.call = "end of sized_create", .status = status});
  if (status != SLEY_OK) {
    free_events(sized);
    release_all(sized);
    return status;
  }
  *out = &sized->base;
  return SLEY_OK;
}

/* Waits for the receivers of this rank's last bytes, and for its own device. */
void sl_threads_sized_destroy(sl_sized *base) {
  threads_sized *sized = (threads_sized *)base;
  if (!sized)
    return;
  sl_threads_comm *comm = comm_of(sized);
  if (sized->begun) {
    sl_world_untrack(comm, &sized->work);
    (void)comm->urgent->ops->queue_wait(comm->urgent);
    (void)comm->base.queue->ops->queue_wait(comm->base.queue);
  }
  atomic_store(&sized->closed, true);
  sl_world_quiesce(comm);
  free_events(sized);
  release_all(sized);
}

/* ---- running */

/* Ends a failed exchange: the other ranks must not wait for this rank, and no rank may stay inside its
   memory. */
static sley_status failed(threads_sized *sized, sley_status status) {
  sized->in_flight = false;
  sl_world_abort(comm_of(sized), status);
  return status;
}

static sley_status begin(threads_sized *sized, const sl_sized_round *round, sl_queue *queue) {
  sl_threads_comm *comm = comm_of(sized);
  if (sized->in_flight)
    return sl_fail(SLEY_ERR_ARG, "sized exchange %s is begun again before its end", sized->name);
  SL_TRY(sl_world_check(comm));
  SL_TRY(sl_sized_check_lengths(sized->name, sized->send, sized->sends, round->send_bytes));
  if (sized->begun) {
    SL_TRY(queue->ops->event_record(queue, sized->begun));
    sl_world_track(comm, &sized->work);
  } else {
    SL_TRY(queue->ops->queue_wait(queue)); /* peers read src, so the work that writes it must be done */
  }
  sized->in_flight = true;
  sized->round++;
  sized->dst = round->dst;
  for (int i = 0; i < sized->recvs; i++)
    sized->recv_at[i] = round->recv_at[i];
  for (int i = 0; i < sized->sends; i++) {
    sized_channel *channel = &sized->channel[i];
    channel->src = round->src ? (const char *)round->src + round->send_at[i] : NULL;
    channel->bytes = round->send_bytes[i];
    atomic_store(&channel->ready, sized->round);
    sl_world_wake(comm->world, sized->send[i].peer);
  }
  return SLEY_OK;
}

sley_status sl_threads_sized_begin(sl_sized *base, const sl_sized_round *round, sl_queue *queue) {
  threads_sized *sized = (threads_sized *)base;
  sley_status status = begin(sized, round, queue);
  return status == SLEY_OK ? SLEY_OK : failed(sized, status);
}

/* Enters the sender's memory until sl_world_leave_all. */
static sley_status stay(threads_sized *sized, int peer) {
  sl_threads_comm *comm = comm_of(sized);
  if (!sl_world_stay(comm, peer))
    return sl_world_check(comm);
  if (!atomic_load(&sized->ranks[peer]->closed))
    return SLEY_OK;
  sl_world_leave_all(comm); /* the sender has abandoned this round: its error follows */
  return sl_world_wait_end(comm, peer);
}

/* Copies all sent bytes; this rank stays inside its senders' memory. */
static sley_status copy_all(threads_sized *sized, sl_queue *queue) {
  sl_threads_comm *comm = comm_of(sized);
  for (int i = 0; i < sized->recvs; i++) {
    const sized_channel *channel = sized->from[i];
    if (sized->done)
      SL_TRY(queue->ops->event_wait(queue, sized->ranks[sized->recv[i].peer]->begun));
    if (channel->bytes == 0)
      continue;
    SL_TRY(queue->ops->copy(queue, SL_COPY_WITHIN, sized->dst + sized->recv_at[i], channel->src,
                            channel->bytes));
    sl_counters_count(&comm->counters, sl_link_to(&comm->base, sized->recv[i].peer), channel->bytes, 1);
  }
  return SLEY_OK;
}

/* Receives from all senders. On host memory the bytes have arrived when it returns; on other devices the
 * copies are enqueued. */
static sley_status take_all(threads_sized *sized, sl_queue *queue) {
  sl_threads_comm *comm = comm_of(sized);
  sl_queue *beside = sized->done ? comm->urgent : queue;
  for (int i = 0; i < sized->recvs; i++)
    SL_TRY(stay(sized, sized->recv[i].peer));
  sley_status status = sized->done ? queue->ops->event_wait(beside, sized->begun) : SLEY_OK;
  if (status == SLEY_OK)
    status = copy_all(sized, beside);
  if (status == SLEY_OK)
    status = sized->done ? queue->ops->event_record(beside, sized->done) : queue->ops->queue_wait(queue);
  sl_world_leave_all(comm);
  return status == SLEY_OK && sized->done ? queue->ops->event_wait(queue, sized->done) : status;
}

/* Notifies a sender that this rank has taken its bytes. */
static void acknowledge(threads_sized *sized, int i, int64_t *bytes) {
  sl_threads_comm *comm = comm_of(sized);
  int peer = sized->recv[i].peer;
  *bytes = sized->from[i]->bytes;
  atomic_store(&sized->from[i]->taken, sized->round);
  sl_world_wake(comm->world, peer);
}

/* Waits until the receiver has taken this rank's bytes, in the queue's order. */
static sley_status wait_taken(threads_sized *sized, int i, sl_queue *queue) {
  sl_threads_comm *comm = comm_of(sized);
  int peer = sized->send[i].peer;
  SL_TRY(sl_world_wait(comm, &sized->channel[i].taken, sized->round, peer));
  if (!sized->done)
    return SLEY_OK;
  if (!sl_world_enter(comm, peer))
    return sl_world_check(comm);
  const threads_sized *receiver = sized->ranks[peer];
  sley_status status =
      atomic_load(&receiver->closed) ? SLEY_OK : queue->ops->event_wait(queue, receiver->done);
  sl_world_leave(comm, peer);
  return status;
}

static sley_status end(threads_sized *sized, int64_t *recv_bytes, sl_queue *queue) {
  sl_threads_comm *comm = comm_of(sized);
  if (!sized->in_flight)
    return sl_fail(SLEY_ERR_ARG, "sized exchange %s is ended but was not begun", sized->name);
  SL_TRY(sl_world_check(comm));
  for (int i = 0; i < sized->recvs; i++)
    SL_TRY(sl_world_wait(comm, &sized->from[i]->ready, sized->round, sized->recv[i].peer));
  if (sized->recvs > 0)
    SL_TRY(take_all(sized, queue));
  for (int i = 0; i < sized->recvs; i++)
    acknowledge(sized, i, &recv_bytes[i]);
  for (int i = 0; i < sized->sends; i++)
    SL_TRY(wait_taken(sized, i, queue));
  sl_world_untrack(comm, &sized->work);
  return SLEY_OK;
}

sley_status sl_threads_sized_end(sl_sized *base, int64_t *recv_bytes, sl_queue *queue) {
  threads_sized *sized = (threads_sized *)base;
  sley_status status = end(sized, recv_bytes, queue);
  if (status != SLEY_OK)
    return failed(sized, status);
  sized->in_flight = false;
  return SLEY_OK;
}

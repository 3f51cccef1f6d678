/* SPDX-License-Identifier: Apache-2.0 */
/* Messages by MPI, as persistent requests: they are made when a channel first has a message at an address,
 * and made again when the address has changed. Begin starts the receives and, once they are packed, the
 * sends; receive and end poll them. With SL_GRAIN_ROW each row from another workgroup is a message. Otherwise
 * a message longer than 1 GiB travels in pieces, since MPI counts in int. In a sized exchange all pieces that
 * fit the capacity are sent, the last ones empty, and MPI reports their lengths. On a device without host
 * addresses messages pass through host memory. */
#include "base/memory.h"
#include "transport/mpi/mpi_comm.h"

enum { PIECE = 1 << 30, BLOCK = 256 };

/* The MPI part of a channel. */
typedef struct sl_mpi_left {
  char *staged; /* buffer of the message in host memory; NULL if the message itself is in host memory */
  const char *made_for; /* address for which the requests were made; NULL: there are no requests */
  MPI_Request *requests;
  int64_t pieces, piece_bytes; /* number of pieces, and the bytes of each piece but the last */
  int64_t room;                /* capacity of the message, which is its length except in sized exchanges */
  int64_t made_bytes;          /* total bytes for which the requests were made */
  int64_t done;                /* number of completed pieces of this round */
  int64_t received;            /* number of bytes received in them */
  bool started, cancelled;
  const sl_process_channel *channel; /* NULL: the exchange is destroyed */
  bool receives;
  char *packed;             /* packed buffer of the channel, if the message is left behind */
  struct sl_mpi_left *next; /* next message in the comm's list `open` or `left` */
} mpi_message;

static sl_mpi_comm *comm_of(const sl_process_exchange *exchange) {
  return (sl_mpi_comm *)exchange->base.comm;
}

static bool on_host(const sl_process_exchange *exchange) {
  return exchange->base.comm->device->ops->host_addresses;
}

/* Returns the memory from or to which MPI moves the message. */
static char *message_of(const sl_process_channel *c) {
  const mpi_message *message = c->own;
  return message->staged ? message->staged : c->at;
}

/* ---- making */

/* The bytes of a piece; if rows travel alone, a piece is a row. */
static int64_t piece_bytes_of(const sl_comm *comm, const sl_row_list *list, sl_grain grain) {
  bool row_by_row =
      grain == SL_GRAIN_ROW && list->bytes <= PIECE && sl_link_to(comm, list->peer) == SL_LINK_MESSAGE;
  return row_by_row ? list->bytes : PIECE;
}

static int64_t messages(const sl_comm *comm, const sl_row_list *list, sl_grain grain) {
  int64_t piece = piece_bytes_of(comm, list, grain);
  return (list->count * list->bytes + piece - 1) / piece;
}

static sley_status open_channels(const sl_process_exchange *exchange, sl_process_channel *channels, int count,
                                 bool receives) {
  sl_mpi_comm *comm = comm_of(exchange);
  for (int i = 0; i < count; i++) {
    const sl_row_list *list = &channels[i].list;
    mpi_message *message;
    if (!channels[i].travels)
      continue;
    SL_TRY(SL_NEW_ZERO(message, 1, "a message"));
    channels[i].own = message;
    message->channel = &channels[i];
    message->receives = receives;
    message->next = comm->open;
    comm->open = message;
    message->room = list->count * list->bytes;
    message->piece_bytes = piece_bytes_of(&comm->base.base, list, exchange->grain);
    message->pieces = (message->room + message->piece_bytes - 1) / message->piece_bytes;
    SL_TRY(SL_NEW(message->requests, message->pieces, "a message's requests"));
    for (int64_t p = 0; p < message->pieces; p++)
      message->requests[p] = MPI_REQUEST_NULL;
    if (!on_host(exchange) && !(message->staged = sl_alloc(message->room, 1, "a message")))
      return SLEY_ERR_MEMORY;
  }
  return SLEY_OK;
}

static sley_status open_messages(sl_process_exchange *exchange) {
  SL_TRY(open_channels(exchange, exchange->send, exchange->sends, false));
  return open_channels(exchange, exchange->recv, exchange->recvs, true);
}

/* ---- ending */

/* Checks whether any piece of the message is in flight, and records completed pieces. */
static sley_status look(mpi_message *message, bool *over) {
  *over = false;
  while (message->started && message->done < message->pieces) {
    int64_t left = message->pieces - message->done;
    int count = (int)(left < BLOCK ? left : BLOCK), done;
    SL_TRY(sl_mpi_test(message->requests + message->done, count, &done,
                       message->receives ? &message->received : NULL));
    message->done += done;
    if (done < count)
      return SLEY_OK;
  }
  message->started = false;
  *over = true;
  return SLEY_OK;
}

static void drop_requests(mpi_message *message) {
  sl_mpi_enter();
  for (int64_t p = 0; message->requests && p < message->pieces; p++)
    if (message->requests[p] != MPI_REQUEST_NULL)
      MPI_Request_free(&message->requests[p]);
  sl_mpi_leave();
  message->made_for = NULL;
}

static void drop_message(mpi_message *message) {
  drop_requests(message);
  sl_free(message->requests);
  sl_free(message->staged);
  sl_free(message);
}

/* Removes the message of a destroyed exchange from the open list. */
static void unlink_message(sl_mpi_comm *comm, const mpi_message *message) {
  mpi_message **at = &comm->open;
  while (*at != message)
    at = &(*at)->next;
  *at = message->next;
}

/* Cancels the pieces of a message that have not been matched. */
static void cancel(mpi_message *message) {
  bool due = message->started && message->receives && !message->cancelled;
  sl_mpi_enter();
  for (int64_t p = message->done; due && p < message->pieces; p++)
    MPI_Cancel(&message->requests[p]);
  sl_mpi_leave();
  message->cancelled = message->cancelled || due;
}

/* Returns whether MPI works on the caller's own rows. */
static bool in_place(const mpi_message *message) {
  return message->channel->at != message->channel->packed && !message->staged;
}

void sl_mpi_call_off(sl_mpi_comm *comm) {
  for (mpi_message *message = comm->open; message; message = message->next)
    cancel(message);
  for (mpi_message *message = comm->open; message; message = message->next) {
    bool over = !message->started || !in_place(message);
    while (!over && look(message, &over) == SLEY_OK && !over && sl_mpi_linger(comm))
      continue;
  }
}

/* Closes a message that is still in flight after a failure; if it does not complete, the message with its
 * buffer is left to sl_mpi_sweep. */
static void close_started(sl_mpi_comm *comm, sl_process_channel *c) {
  mpi_message *message = c->own;
  bool over = false;
  cancel(message);
  if (look(message, &over) == SLEY_OK && over)
    return;
  unlink_message(comm, message);
  message->packed = c->packed;
  message->channel = NULL;
  c->packed = NULL;
  message->next = comm->left;
  comm->left = message;
}

/* Receives and discards the next unexpected message; returns false if none has come, or it is still
 * arriving. */
static bool discard_one(sl_mpi_comm *comm) {
  int found = 0, bytes = 0, over = 0;
  MPI_Message message;
  MPI_Status status;
  if (comm->waste && (sl_mpi_test(&comm->waste_request, 1, &over, NULL) != SLEY_OK || over == 0))
    return false;
  sl_free(comm->waste);
  comm->waste = NULL;
  sl_mpi_enter();
  int code = MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm->comm, &found, &message, &status);
  if (code == MPI_SUCCESS && found && MPI_Get_count(&status, MPI_BYTE, &bytes) == MPI_SUCCESS) {
    comm->waste = sl_alloc(bytes > 0 ? bytes : 1, 1, "a message that comes too late");
    if (comm->waste)
      (void)MPI_Imrecv(comm->waste, bytes, MPI_BYTE, &message, &comm->waste_request);
  }
  sl_mpi_leave();
  return comm->waste != NULL;
}

void sl_mpi_discard(sl_mpi_comm *comm) {
  while (discard_one(comm))
    continue;
}

bool sl_mpi_sweep(sl_mpi_comm *comm) {
  for (mpi_message **at = &comm->left; *at;) {
    mpi_message *message = *at;
    bool over;
    if (look(message, &over) != SLEY_OK || !over) {
      at = &message->next;
      continue;
    }
    *at = message->next;
    comm->base.base.device->ops->free(comm->base.base.device, message->packed);
    drop_message(message);
  }
  return !comm->left && !comm->waste;
}

static void close_channels(sl_mpi_comm *comm, sl_process_channel *channels, int count) {
  for (int i = 0; i < count; i++) {
    mpi_message *message = channels[i].own;
    if (message && message->started)
      close_started(comm, &channels[i]);
    if (message && !message->started) {
      unlink_message(comm, message);
      drop_message(message);
    }
  }
}

static void close_messages(sl_process_exchange *exchange) {
  close_channels(comm_of(exchange), exchange->recv, exchange->recvs);
  close_channels(comm_of(exchange), exchange->send, exchange->sends);
}

/* ---- running */

/* Makes the requests for the message's address in this round. */
static sley_status prepare(const sl_process_exchange *exchange, sl_process_channel *c, bool receives) {
  const sl_mpi_comm *comm = comm_of(exchange);
  mpi_message *message = c->own;
  char *at = message_of(c);
  int tag = (int)(exchange->id % (uint64_t)comm->tags), code = MPI_SUCCESS;
  int64_t all = receives ? message->room : c->bytes;
  if (message->made_for == at && at && message->made_bytes == all)
    return SLEY_OK;
  drop_requests(message);
  sl_mpi_enter();
  for (int64_t p = 0; p < message->pieces && code == MPI_SUCCESS; p++) {
    int64_t first = p * message->piece_bytes < all ? p * message->piece_bytes : all, left = all - first;
    int bytes = (int)(left < message->piece_bytes ? left : message->piece_bytes);
    code = receives ? MPI_Recv_init(at + first, bytes, MPI_BYTE, c->list.peer, tag, comm->comm,
                                    &message->requests[p])
                    : MPI_Send_init(at + first, bytes, MPI_BYTE, c->list.peer, tag, comm->comm,
                                    &message->requests[p]);
  }
  sl_mpi_leave();
  SL_TRY(sl_mpi_check(code, receives ? "MPI_Recv_init" : "MPI_Send_init"));
  message->made_for = at;
  message->made_bytes = all;
  return SLEY_OK;
}

/* Counts pieces that were given to MPI; empty pieces of sized exchanges are not messages. */
static void count_started(const sl_process_exchange *exchange, const sl_process_channel *c, int64_t first,
                          int count) {
  sl_comm *comm = exchange->base.comm;
  const mpi_message *message = c->own;
  for (int64_t p = first; p < first + count; p++) {
    int64_t left = message->made_bytes - p * message->piece_bytes;
    int64_t bytes = left < message->piece_bytes ? left : message->piece_bytes;
    if (bytes > 0)
      sl_process_counters_add(comm, sl_link_to(comm, c->list.peer), bytes, 1);
  }
}

static sley_status start(const sl_process_exchange *exchange, sl_process_channel *c, bool receives) {
  mpi_message *message = c->own;
  SL_TRY(prepare(exchange, c, receives));
  message->started = true;
  message->cancelled = false;
  message->done = message->received = 0;
  int code = MPI_SUCCESS;
  sl_mpi_enter();
  for (int64_t p = 0; p < message->pieces && code == MPI_SUCCESS; p += BLOCK) {
    int64_t left = message->pieces - p;
    const int count = (int)(left < BLOCK ? left : BLOCK);
    code = MPI_Startall(count, message->requests + p);
    if (code == MPI_SUCCESS && !receives)
      count_started(exchange, c, p, count);
  }
  sl_mpi_leave();
  return sl_mpi_check(code, "MPI_Startall");
}

static sley_status wait_for(const sl_process_exchange *exchange, const sl_process_channel *c, bool receives) {
  mpi_message *message = c->own;
  const sl_process_comm *comm = &comm_of(exchange)->base;
  sl_mpi_wait wait = {.mesh = comm->mesh, .timeout = comm->timeout, .what = "a message"};
  for (;;) {
    int64_t before = message->done;
    bool over;
    SL_TRY(look(message, &over));
    if (over)
      return SLEY_OK;
    if (message->done > before)
      wait.polls = 0;
    sley_status status = sl_mpi_backoff(&wait);
    if (status == SLEY_ERR_PEER && !sl_mesh_broken(comm->mesh))
      return sl_fail(status,
                     "rank %d has not %s its rows of exchange %s within %g s: give a longer timeout if its "
                     "work takes so long",
                     c->list.peer, receives ? "sent" : "taken", exchange->name, comm->timeout);
    SL_TRY(status);
  }
}

static sley_status begin(sl_process_exchange *exchange, sl_queue *queue) {
  sl_mpi_comm *comm = comm_of(exchange);
  for (int i = 0; i < exchange->sends && !on_host(exchange); i++) {
    const sl_process_channel *c = &exchange->send[i];
    if (c->travels && c->bytes > 0)
      SL_TRY(queue->ops->copy(queue, SL_COPY_TO_HOST, message_of(c), c->at, c->bytes));
  }
  /* waits until the messages are packed, and until the messages of the last round have been copied to the
   * device */
  SL_TRY(sl_process_wait_for(&comm->base, queue));
  for (int i = 0; i < exchange->recvs; i++)
    if (exchange->recv[i].travels)
      SL_TRY(start(exchange, &exchange->recv[i], true));
  int first = 0;
  while (first < exchange->sends && exchange->send[first].list.peer <= comm->base.base.rank)
    first++;
  for (int i = 0; i < exchange->sends; i++) {
    sl_process_channel *c = &exchange->send[(first + i) % exchange->sends];
    if (c->travels)
      SL_TRY(start(exchange, c, false));
  }
  sl_mpi_hold(comm);
  return SLEY_OK;
}

static sley_status receive(sl_process_exchange *exchange, sl_process_channel *c, sl_queue *queue) {
  const mpi_message *message = c->own;
  SL_TRY(wait_for(exchange, c, true));
  if (exchange->sized)
    c->bytes = message->received;
  if (!message->staged || c->bytes == 0)
    return SLEY_OK;
  return queue->ops->copy(queue, SL_COPY_TO_DEVICE, c->at, message->staged, c->bytes);
}

/* Does nothing: the sends may still be in flight. */
static sley_status end(sl_process_exchange *exchange, sl_queue *queue) {
  (void)exchange;
  (void)queue;
  return SLEY_OK;
}

static sley_status reclaim(sl_process_exchange *exchange) {
  sl_mpi_release(comm_of(exchange));
  for (int i = 0; i < exchange->sends; i++)
    if (exchange->send[i].travels)
      SL_TRY(wait_for(exchange, &exchange->send[i], false));
  return SLEY_OK;
}

const sl_carrier sl_mpi_messages = {.exchange_bytes = sizeof(sl_process_exchange),
                                    .open = open_messages,
                                    .close = close_messages,
                                    .begin = begin,
                                    .receive = receive,
                                    .end = end,
                                    .reclaim = reclaim,
                                    .messages = messages};

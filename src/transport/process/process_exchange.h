/* SPDX-License-Identifier: Apache-2.0 */
/* An exchange of ranks that are processes: rows within a workgroup of devices go the direct way (direct.h), a
 * rank's own rows are moved, and all others travel as one message a peer and round, which the transport's
 * carrier moves. */
#ifndef SLEY_TRANSPORT_PROCESS_PROCESS_EXCHANGE_H
#define SLEY_TRANSPORT_PROCESS_PROCESS_EXCHANGE_H

#include "transport/process/direct.h"

/* One list of the exchange. */
typedef struct sl_process_channel {
  sl_row_list list; /* its rows lie where the device reads them */
  int64_t
      *rows; /* their copy in the device's memory; NULL: the caller's are good enough, or none are needed */
  bool travels; /* as a message */
  int64_t
      bytes;    /* of the message; where the exchange is sized: of this round, to receive: once it has come */
  char *packed; /* room for the message in the device's memory, if it travels */
  char *at; /* where the message is this round: packed, or the rows themselves, where they lie side by side */
  void *own; /* the carrier's */
} sl_process_channel;

/* A carrier extends it by making it the first member of its own. */
typedef struct sl_process_exchange {
  sl_exchange base;
  char *name;
  uint64_t id, round; /* the same on all ranks */
  int sends, recvs;
  sl_process_channel *send, *recv;
  sl_direct *direct;                /* NULL: no rows go that way */
  const struct sl_carrier *carrier; /* of its messages */
  bool sized;                       /* messages are of at most list.count bytes; receivers learn how many */
  bool add, in_flight;
  bool received;    /* this round: the receiving half is done, or given to the device */
  bool unreclaimed; /* ended, and not reclaimed */
  sley_dtype dtype;
  sl_grain grain;
  const char *src; /* of this round */
  int64_t src_stride;
  char *dst;
  int64_t dst_stride;
} sl_process_exchange;

/* A carrier moves the messages of exchanges: one for each channel that travels (`travels`), every round, at
 * `at` in the memory of the rank's device. process/exchange.c has packed or placed what is sent before begin,
 * and unpacks after receive; the carrier knows no rows. Every rank makes the calls of a round in the same
 * order: begin; receive for each channel of recv that travels, in order; end; reclaim, at the latest before
 * the next begin. Between them the carrier may use any thread or queue of its own, and leaves comm->queue
 * alone but for waits and copies. Of one exchange one round is in flight at a time, of a comm several
 * exchanges. An error of any call ends the comm: the backend's abandon then sees to it that no memory of
 * channels is touched any more. What the carrier keeps of a channel hangs at channel->own.
 *
 * Of a sized exchange each message has channel->bytes bytes, at most channel->list.count, which receive finds
 * out and sets; `at` is always the caller's memory, and reclaim follows end at once. */
typedef struct sl_carrier {
  size_t exchange_bytes; /* of its exchange, zeroed before open */
  /* Takes what the messages of an exchange need, once its channels are made. What it has taken when it fails,
   * close gives back. Local. */
  sley_status (*open)(sl_process_exchange *exchange);
  /* Nothing is in flight any more, or the mesh is broken. Local. */
  void (*close)(sl_process_exchange *exchange);
  /* Starts all messages of the round, sends in the order of queue's work so far. May wait for the device
   * (where messages go through memory of the host), but not for a peer. */
  sley_status (*begin)(sl_process_exchange *exchange, sl_queue *queue);
  /* The channel's message has come, in queue's order. May wait for the peer's begin. */
  sley_status (*receive)(sl_process_exchange *exchange, sl_process_channel *channel, sl_queue *queue);
  /* All of the round has been received. */
  sley_status (*end)(sl_process_exchange *exchange, sl_queue *queue);
  /* After end: on return src is free for reuse, in queue's order, and the round's messages have left their
   * memory. May wait for peers to receive. */
  sley_status (*reclaim)(sl_process_exchange *exchange);
  /* Its model for predictions: messages of a list that travels and moves, one round. What is sent, begin counts
   * where it hands it over, by sl_process_counters_add. */
  int64_t (*messages)(const sl_comm *comm, const sl_row_list *list, sl_grain grain);
} sl_carrier;

/* The slot messages of carriers that send all rows of a list at once. */
int64_t sl_carrier_one_message(const sl_comm *comm, const sl_row_list *list, sl_grain grain);

/* The slot reclaim of carriers whose end sees to it. */
sley_status sl_carrier_reclaim_nothing(sl_process_exchange *exchange);

/* For transports of which all ranks are one workgroup that goes the direct way. */
extern const sl_carrier sl_no_messages;

/* Ops slots. */
sley_status sl_process_exchange_create(sl_comm *comm, const sl_exchange_spec *spec, sl_exchange **out);
sley_status sl_process_exchange_begin(sl_exchange *exchange, const void *src, int64_t src_stride, void *dst,
                                      int64_t dst_stride, sl_queue *queue);
sley_status sl_process_exchange_end(sl_exchange *exchange, sl_queue *queue);
sley_status sl_process_exchange_reclaim(sl_exchange *exchange, sl_queue *queue);
sley_status sl_process_exchange_arrive(sl_exchange *exchange, sl_queue *queue, const sl_piece_words **words);
sley_status sl_process_exchange_map(sl_exchange *exchange, sl_mapped_rows *mapped, sl_queue *queue);
void sl_process_exchange_destroy(sl_exchange *exchange);
sley_status sl_process_sized_create(sl_comm *comm, const sl_sized_spec *spec, sl_sized **out);
sley_status sl_process_sized_begin(sl_sized *sized, const sl_sized_round *round, sl_queue *queue);
sley_status sl_process_sized_end(sl_sized *sized, int64_t *recv_bytes, sl_queue *queue);
void sl_process_sized_destroy(sl_sized *sized);

#endif

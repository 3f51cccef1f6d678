/* SPDX-License-Identifier: Apache-2.0 */
/* An exchange of ranks that are processes: rows within a workgroup of devices are exchanged directly
 * (direct.h), a rank's own rows are moved, and all others travel as one message per peer and round, which the
 * transport's carrier moves. */
#ifndef SLEY_TRANSPORT_PROCESS_PROCESS_EXCHANGE_H
#define SLEY_TRANSPORT_PROCESS_PROCESS_EXCHANGE_H

#include "transport/process/direct.h"

/* One list of the exchange. */
typedef struct sl_process_channel {
  sl_row_list list; /* the list; its rows are in memory that the device reads */
  int64_t
      *rows; /* copy of its rows in device memory; NULL: the caller's array is used, or none is needed */
  bool travels; /* whether its rows travel as a message */
  int64_t
      bytes;    /* bytes of the message; in a sized exchange, bytes of this round, for a receive known once the
                   message has arrived */
  char *packed; /* device memory for the packed message, if it travels */
  char *at; /* address of the message in this round: packed, or the rows themselves, if they are contiguous */
  void *own; /* the carrier's data */
} sl_process_channel;

/* A carrier extends the struct by making it the first member of its own. */
typedef struct sl_process_exchange {
  sl_exchange base;
  char *name;
  uint64_t id, round; /* id of the exchange, and number of the round; the same on all ranks */
  int sends, recvs;
  sl_process_channel *send, *recv;
  sl_direct *direct;                /* NULL: no rows are exchanged directly */
  const struct sl_carrier *carrier; /* carrier of its messages */
  bool sized;                       /* messages have at most list.count bytes; the receiver learns the actual
                                       number */
  bool add, in_flight;
  bool received;    /* the receiving half of this round was made or enqueued */
  bool unreclaimed; /* the round has ended and was not reclaimed */
  sley_dtype dtype;
  sl_grain grain;
  const char *src; /* arguments of begin in this round */
  int64_t src_stride;
  char *dst;
  int64_t dst_stride;
} sl_process_exchange;

/* A carrier moves the messages of exchanges: one for each channel with `travels`, in every round, at `at` in
 * the memory of the rank's device. process_exchange.c has packed or placed the sent data before begin, and
 * unpacks after receive; the carrier does not know rows. Every rank makes the calls of a round in the same
 * order: begin; receive for each channel of recv that travels, in order; end; reclaim, at the latest before
 * the next begin. Meanwhile the carrier may use any thread or queue of its own, and uses comm->queue only for
 * waits and copies. An exchange has one round in flight at a time; a comm may have several exchanges in
 * flight. An error of any call ends the comm: the backend's abandon then ensures that no memory of channels
 * is accessed any more. The carrier stores its data of a channel at channel->own.
 *
 * In a sized exchange each message has channel->bytes bytes, at most channel->list.count, which receive finds
 * out and sets; `at` is always the caller's memory, and reclaim follows end at once. */
typedef struct sl_carrier {
  size_t exchange_bytes; /* bytes of its exchange struct, which is zeroed before open */
  /* Allocates the memory for the messages of an exchange, once its channels are made. If it fails, close
   * frees that memory. Not collective. */
  sley_status (*open)(sl_process_exchange *exchange);
  /* Frees that memory; no message is in flight any more, or the mesh is broken. Not collective. */
  void (*close)(sl_process_exchange *exchange);
  /* Starts all messages of the round; sends follow the work that queue has so far. May wait for the device
   * (if messages go through host memory), but not for a peer. */
  sley_status (*begin)(sl_process_exchange *exchange, sl_queue *queue);
  /* Makes the channel's message available, in the queue's order. May wait for the peer's begin. */
  sley_status (*receive)(sl_process_exchange *exchange, sl_process_channel *channel, sl_queue *queue);
  /* Called when all messages of the round have been received. */
  sley_status (*end)(sl_process_exchange *exchange, sl_queue *queue);
  /* Called after end: on return src may be reused, in the queue's order, and the round's messages have left
   * their memory. May wait for peers to receive. */
  sley_status (*reclaim)(sl_process_exchange *exchange);
  /* The model for predictions: messages for a list that travels and moves, in one round. begin counts the
   * sent traffic when it starts the messages, by sl_process_counters_add. */
  int64_t (*messages)(const sl_comm *comm, const sl_row_list *list, sl_grain grain);
} sl_carrier;

/* The slot `messages` of carriers that send all rows of a list in one message. */
int64_t sl_carrier_one_message(const sl_comm *comm, const sl_row_list *list, sl_grain grain);

/* The slot `reclaim` of carriers whose `end` already does that work. */
sley_status sl_carrier_reclaim_nothing(sl_process_exchange *exchange);

/* The carrier of transports whose ranks are all in one workgroup with direct access. */
extern const sl_carrier sl_no_messages;

/* Slots of sl_process_ops. */
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

/* SPDX-License-Identifier: Apache-2.0 */
/* The internals of an exchange of ranks that are threads: made by prepare.c, run by threads_exchange.c and,
 * on devices whose memory the host cannot address, by device_exchange.c. */
#ifndef SLEY_TRANSPORT_THREADS_EXCHANGE_INSIDE_H
#define SLEY_TRANSPORT_THREADS_EXCHANGE_INSIDE_H

#include "transport/boards.h"
#include "transport/threads/threads.h"
#include "transport/threads/world.h"

enum { SL_SLOT_HEADER = 64 }; /* bytes before a row that is a message; the first 8 bytes hold its round */

typedef enum sl_channel_way { SL_IN_PLACE, SL_PACKED, SL_ROW_BY_ROW } sl_channel_way;

/* The data from one rank to one peer; owned by the sender. Rounds count from 1. */
typedef struct sl_channel {
  _Alignas(64) _Atomic uint64_t ready; /* last round that the sender has started; unused with SL_ROW_BY_ROW */
  const sl_row_list *list;             /* list of the sender */
  sl_channel_way way;
  const char *src; /* address of the sender's rows in the last round */
  int64_t src_stride;
  char *buffer; /* packed rows; NULL if rows are read in place; in the memory of a device that the host cannot
                   address */
  int64_t slot; /* bytes between rows of the buffer if each row is a message */
  _Atomic bool *closed;
  _Alignas(64) _Atomic uint64_t taken; /* last round received */
} sl_channel;

/* The origin of a source's rows. */
typedef struct sl_device_source {
  int recv;      /* position of the source's list in the exchange's recv */
  char *landing; /* buffer to which packed rows are copied if the peer's memory cannot be loaded; else NULL */
} sl_device_source;

/* The part of an exchange on a device whose memory the host cannot address. */
typedef struct sl_device_exchange {
  sl_event *begun;       /* recorded in the rank's queue by begin: src may be read and dst written */
  sl_event *done;        /* recorded by end: the rank has read its peers' rows */
  bool reads;            /* rows are mapped in this round, and done is not recorded yet */
  int64_t **packed_rows; /* row numbers of each send, on the device; NULL if nothing is packed or the rows are
                            consecutive */
  sl_pull_entry *list;   /* entries of the lists, in device memory */
  int batches, sources;
  sl_arrivals pieces; /* pieces of the batch, if there is only one */
  sl_pull_batch *batch;
  sl_device_source *origin;
  sl_pull_source *source; /* sources; filled in each round */
  sl_board *board;        /* board on the device, if the ranks' devices signal each other; NULL: the hosts
                             signal */
  sl_offer *lend;         /* with a board: one offer per send, filled in each round */
  sl_device_work work;    /* enqueued work of the exchange; in the comm's list from begin to reclaim */
} sl_device_exchange;

/* An exchange. Every rank holds a reference to every rank's exchange, and the last one frees it. */
typedef struct sl_threads_exchange {
  sl_exchange base;
  _Atomic int references;
  _Atomic bool closed; /* destroyed by its rank: src and the row lists may be freed */
  char *name;
  int sends, recvs;
  sl_row_list *send, *recv; /* copies of the spec's lists; the row numbers are the caller's */
  sl_channel *channel;      /* one channel per send */
  sl_channel **from;        /* the peers' channels, one per recv */
  struct sl_threads_exchange **ranks;
  sl_device_exchange *device; /* NULL if the host can address the devices' memory */
  bool add;
  sley_dtype dtype;
  sl_grain grain;
  int pieces;
  bool unhurried;
  bool capture;

  bool in_flight;
  bool received; /* the receiving half of this round is done, or was enqueued */
  bool mapped;   /* rows are mapped in this round, and end moves nothing */
  bool ended;    /* the round has ended on a device and was not reclaimed */
  uint64_t round;
  void *dst;
  int64_t dst_stride;
} sl_threads_exchange;

#endif

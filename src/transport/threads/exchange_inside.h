/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an exchange of ranks that are threads: made by prepare.c, run by exchange.c and, on devices
 * whose memory the host cannot address, by device_exchange.c. */
#ifndef SLEY_TRANSPORT_THREADS_EXCHANGE_INSIDE_H
#define SLEY_TRANSPORT_THREADS_EXCHANGE_INSIDE_H

#include "transport/boards.h"
#include "transport/threads/threads.h"
#include "transport/threads/world.h"

enum { SL_SLOT_HEADER = 64 }; /* bytes before a row that travels alone; the first 8 are its round */

typedef enum sl_channel_way { SL_IN_PLACE, SL_PACKED, SL_ROW_BY_ROW } sl_channel_way;

/* From one rank to one peer; owned by the sender. Rounds count from 1. */
typedef struct sl_channel {
  _Alignas(64) _Atomic uint64_t ready; /* last round handed over; not used row by row */
  const sl_row_list *list;             /* the sender's */
  sl_channel_way way;
  const char *src; /* of the last round */
  int64_t src_stride;
  char *buffer; /* NULL in place; on a device without host addresses in its memory */
  int64_t slot; /* bytes between rows of the buffer, row by row */
  _Atomic bool *closed;
  _Alignas(64) _Atomic uint64_t taken; /* last round received */
} sl_channel;

/* Where a source's rows come from. */
typedef struct sl_device_source {
  int recv;      /* its place among the exchange's */
  char *landing; /* where packed rows are copied to if the peer's memory is out of reach; else NULL */
} sl_device_source;

/* The part of an exchange that lives on a device whose memory the host cannot address. */
typedef struct sl_device_exchange {
  sl_event *begun;       /* src may be read and dst written: recorded in the rank's queue by begin */
  sl_event *done;        /* the rank has read its peers' rows: recorded by end */
  bool reads;            /* rows mapped this round: done is yet to be recorded */
  int64_t **packed_rows; /* of each send, on the device; NULL where nothing is packed or the rows follow each
                            other */
  sl_pull_entry *list;   /* on the device */
  int batches, sources;
  sl_arrivals pieces; /* of the only batch */
  sl_pull_batch *batch;
  sl_device_source *origin;
  sl_pull_source *source; /* filled anew each round */
  sl_board *board;        /* on the device: the ranks' devices signal each other; NULL: hosts do */
  sl_offer *lend;         /* with a board: one a send, filled anew each round */
  sl_device_work work;    /* in the comm's list from begin to reclaim */
} sl_device_exchange;

/* Every rank holds a reference to every rank's exchange, and the last one frees it. */
typedef struct sl_threads_exchange {
  sl_exchange base;
  _Atomic int references;
  _Atomic bool closed; /* destroyed by its rank: src and the row lists may be gone */
  char *name;
  int sends, recvs;
  sl_row_list *send, *recv; /* own copies; the rows are the caller's */
  sl_channel *channel;      /* one a send */
  sl_channel **from;        /* one a recv, the peers' */
  struct sl_threads_exchange **ranks;
  sl_device_exchange *device; /* NULL where the host can address the devices' memory */
  bool add;
  sley_dtype dtype;
  sl_grain grain;
  int pieces;
  bool unhurried;
  bool capture;

  bool in_flight;
  bool received; /* this round: the receiving half is done, or given to the device */
  bool mapped;   /* this round: end moves nothing */
  bool ended;    /* this round, on a device, and not reclaimed */
  uint64_t round;
  void *dst;
  int64_t dst_stride;
} sl_threads_exchange;

#endif

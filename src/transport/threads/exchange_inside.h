/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an exchange of ranks that are threads: made by prepare.c, run by exchange.c. */
#ifndef SLEY_TRANSPORT_THREADS_EXCHANGE_H
#define SLEY_TRANSPORT_THREADS_EXCHANGE_H

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

typedef struct sl_device_exchange sl_device_exchange;

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
  int stages;
  bool unhurried;
  bool capture;

  bool in_flight;
  bool borrowed; /* this round: end moves nothing */
  bool ended;    /* this round, on a device, and not reclaimed */
  uint64_t round;
  void *dst;
  int64_t dst_stride;
} sl_threads_exchange;

/* Enters the peer's memory to stay there, until sl_world_leave_all. Errors: SLEY_ERR_PEER, where it has
 * closed the exchange, or a rank has failed; then this rank is inside nobody's memory. */
sley_status sl_threads_stay(sl_threads_exchange *exchange, int peer);

#endif

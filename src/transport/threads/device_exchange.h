/* SPDX-License-Identifier: Apache-2.0 */
/* The part of an exchange that lives on devices whose memory the host cannot address. */
#ifndef SLEY_TRANSPORT_THREADS_DEVICE_EXCHANGE_H
#define SLEY_TRANSPORT_THREADS_DEVICE_EXCHANGE_H

#include "transport/boards.h"
#include "transport/threads/exchange.h"

/* Where a source's rows come from. */
typedef struct sl_device_source {
  int recv;      /* its place among the exchange's */
  char *landing; /* where packed rows are copied to if the peer's memory is out of reach; else NULL */
} sl_device_source;

struct sl_device_exchange {
  sl_event *begun;       /* src may be read and dst written: recorded in the rank's queue by begin */
  sl_event *done;        /* the rank has read its peers' rows: recorded by end */
  bool reads;            /* rows borrowed this round: done is yet to be recorded */
  int64_t **packed_rows; /* of each send, on the device; NULL where nothing is packed or the rows follow each
                            other */
  sl_pull_entry *list;   /* on the device */
  int batches, sources;
  sl_stages stages; /* of the only batch */
  sl_pull_batch *batch;
  sl_device_source *origin;
  sl_pull_source *source;           /* filled anew each round */
  sl_board *board;                  /* on the device: the ranks' devices signal each other; NULL: hosts do */
  sl_lend *lend;                    /* with a board: one a send, filled anew each round */
  struct sl_threads_exchange *next; /* begun and not reclaimed, of this rank */
};

/* Between the two meetings of exchange_create, when the peers' exchanges are known: buffers, lists and
 * events. Local.
 */
sley_status sl_device_exchange_prepare(sl_threads_exchange *exchange);

/* At most what that takes of the device's memory. */
int64_t sl_device_exchange_memory(sl_comm *comm, const sl_exchange_spec *spec);

/* By the rank itself; accepts an exchange that has none. */
void sl_device_exchange_free(sl_threads_exchange *exchange);

/* As the exchange's, round and dst being set. No call waits for a device. */
sley_status sl_device_exchange_begin(sl_threads_exchange *exchange, const void *src, int64_t src_stride,
                                     sl_queue *queue);
sley_status sl_device_exchange_end(sl_threads_exchange *exchange, sl_queue *queue);
sley_status sl_device_exchange_arrive(sl_threads_exchange *exchange, sl_queue *queue,
                                      const sl_stage_words **words);
sley_status sl_device_exchange_reclaim(sl_threads_exchange *exchange, sl_queue *queue);
/* The rank stays inside the memory of those it receives from; end takes it out. */
sley_status sl_device_exchange_borrow(sl_threads_exchange *exchange, sl_queue *queue);

/* signalled.c: exchanges whose devices signal each other. Whether this one can, and its board; then, as
 * above, its rounds. */
sley_status sl_signalled_prepare(sl_threads_exchange *exchange);
sley_status sl_signalled_end(sl_threads_exchange *exchange, sl_queue *queue);
sley_status sl_signalled_reclaim(sl_threads_exchange *exchange, sl_queue *queue);
sley_status sl_signalled_borrow(sl_threads_exchange *exchange, sl_queue *queue);

/* When it is destroyed: tells the peers' devices that this rank is gone, should they still wait for it; then,
 * once no peer is inside this rank's memory, waits for what they have been given that writes to its board. */
void sl_signalled_close(sl_threads_exchange *exchange);
void sl_signalled_settle(sl_threads_exchange *exchange);

/* The pull of a round and the event `done` are given to beside: has queue wait for it, unless its stages are
 * to arrive. */
sley_status sl_device_exchange_given(sl_threads_exchange *exchange, const sl_queue *beside, sl_queue *queue);

/* Waits until the device has done what this rank has given it. */
void sl_device_exchange_drain(sl_threads_exchange *exchange);

/* Before an abort takes the rank out of its peers' memory: `done` stands for what its device still reads
 * there.
 */
void sl_device_exchange_retreat(sl_threads_comm *comm);

/* After an abort: waits until no peer's device reads this rank's memory any more. */
void sl_device_exchange_settle(sl_threads_comm *comm);

/* The receiver's round from recv[i] is under way (on the host's own memory: over): tells the sender, counts.
 */
void sl_threads_acknowledge(sl_threads_exchange *exchange, int i);

#endif

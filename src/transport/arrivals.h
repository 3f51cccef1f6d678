/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces in which the rows of an exchange arrive (transport.h): the words that its pull tells of them by, and
 * the waits of the rank's queue. What exchanges between devices have in common. */
#ifndef SLEY_TRANSPORT_ARRIVALS_H
#define SLEY_TRANSPORT_ARRIVALS_H

#include "device/device.h"
#include "transport/pull_list.h"

typedef struct sl_arrivals {
  int count;                   /* 0: none, or one pull does not bring all rows: end waits for them */
  bool unhurried;              /* as sl_exchange_spec says */
  bool first_arrived;          /* in this round a queue waits for the first piece */
  int64_t end[SL_PIECES_MOST]; /* entries of the pull's list, by piece */
  sl_piece_words *arrived;     /* the device's memory */
} sl_arrivals;

/* As sl_pull_interleave, piece after piece; fills pieces->end for pieces->count, which may be 0. */
sley_status sl_arrivals_interleave(sl_arrivals *pieces, sl_team *team, const sl_pull_rows *lists, int count,
                                   int start, sl_pull_entry *out);

/* The words, in the memory of the queue's device, zeroed in the queue's order. After an error destroy is
 * allowed too. */
sley_status sl_arrivals_create(sl_arrivals *pieces, sl_queue *queue);
void sl_arrivals_destroy(sl_arrivals *pieces, sl_device *device);

/* At most what that takes of the device's memory. */
int64_t sl_arrivals_memory(int count);

/* What a pull needs to know. */
void sl_arrivals_fill(const sl_arrivals *pieces, sl_pull_args *args);

/* The pull of a round is given to a queue. */
void sl_arrivals_begin(sl_arrivals *pieces);

/* The queue waits until the first piece has arrived, and kernels in it can wait for the others by *words.
 * Where there are no pieces *words is NULL, and it waits for all. `done` follows the pull. May be called
 * again in the round, in the same queue. */
sley_status sl_arrivals_arrive(sl_arrivals *pieces, sl_event *done, sl_queue *queue,
                               const sl_piece_words **words);

/* The queue waits for all pieces; each round ends so, so that queues that were captured together are joined.
 */
sley_status sl_arrivals_complete(sl_arrivals *pieces, sl_event *done, sl_queue *queue);

#endif

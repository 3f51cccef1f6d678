/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces in which the rows of an exchange arrive (transport.h): the words in which its pull reports them,
 * and the waits of the rank's queue. Shared by exchanges between devices. */
#ifndef SLEY_TRANSPORT_ARRIVALS_H
#define SLEY_TRANSPORT_ARRIVALS_H

#include "device/device.h"
#include "transport/pull_list.h"

typedef struct sl_arrivals {
  int count;          /* number of pieces; 0: rows do not come in pieces, or several pulls bring them, and the
                         exchange's end waits for the pulls */
  bool unhurried;     /* as in sl_exchange_spec */
  bool first_arrived; /* a queue has waited for the first piece in this round */
  int64_t end[SL_PIECES_MOST]; /* ends of the pieces in the pull's list, in entries */
  sl_piece_words *arrived;     /* words in which the pull reports pieces, in device memory */
} sl_arrivals;

/* Orders the list as sl_pull_interleave does, by pieces. Fills pieces->end for pieces->count pieces, which
   may be 0. */
sley_status sl_arrivals_interleave(sl_arrivals *pieces, sl_team *team, const sl_pull_rows *lists, int count,
                                   int start, sl_pull_entry *out);

/* Allocates the words in the memory of the queue's device, zeroed in the queue's order. After an error
 * sl_arrivals_destroy is allowed too. */
sley_status sl_arrivals_create(sl_arrivals *pieces, sl_queue *queue);
void sl_arrivals_destroy(sl_arrivals *pieces, sl_device *device);

/* Upper bound of the device memory of the words. */
int64_t sl_arrivals_memory(int count);

/* Fills in the arguments of a pull. */
void sl_arrivals_fill(const sl_arrivals *pieces, sl_pull_args *args);

/* Starts a round: its pull was enqueued. */
void sl_arrivals_begin(sl_arrivals *pieces);

/* Makes the queue wait until the first piece has arrived; kernels in the queue can wait for the other pieces
 * through *words. Without pieces *words is NULL, and the queue waits for all rows. `done` follows the pull.
 * May be called again in the round, in the same queue. */
sley_status sl_arrivals_arrive(sl_arrivals *pieces, sl_event *done, sl_queue *queue,
                               const sl_piece_words **words);

/* Makes the queue wait for all pieces. Every round must end with this call, which joins queues that were
   captured together. */
sley_status sl_arrivals_complete(sl_arrivals *pieces, sl_event *done, sl_queue *queue);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of an exchange whose devices signal each other through boards (kernel.h): what ranks that are
 * threads and ranks that are processes have in common. */
#ifndef SLEY_TRANSPORT_BOARDS_H
#define SLEY_TRANSPORT_BOARDS_H

#include "transport/arrivals.h"
#include "transport/transport.h"

/* A launch: entries of the list, and which sources they name. */
typedef struct sl_pull_batch {
  int64_t first, count;
  int first_source, sources;
  sl_counters given; /* what the entries bring, of the list that the kernel is given */
} sl_pull_batch;

typedef struct sl_board_round {
  sl_signals signals; /* opens and closes are set by the calls below */
  const sl_pull_entry *list;
  int batches;
  const sl_pull_batch *batch;
  /* First those whose rows move, in the order of the batches, then those of whom only the signal is wanted.
   */
  int moving, still;
  const sl_pull_source *source;
  void *dst;
  int64_t dst_stride;
  bool add;
  sley_dtype dtype;
  const sl_arrivals *pieces; /* of sl_boards_pull, where rows are not added */
} sl_board_round;

/* Bytes of a board with a slot for each of so many ranks. */
static inline int64_t sl_board_bytes(int ranks) {
  return (int64_t)sizeof(sl_board) + ranks * (int64_t)sizeof(sl_board_slot);
}

/* The whole round: one launch takes from all peers, rows or not; where rows are added, one a peer with rows,
 * in order. Each launch adds what it is given to counters. */
sley_status sl_boards_pull(const sl_board_round *round, sl_queue *queue, sl_counters *counters);

/* The same launch by launch, where other work comes between: first lends rows, and takes the signals of those
 * whose rows do not move; then each batch, of which the last closes the round. */
sley_status sl_boards_open(const sl_board_round *round, sl_queue *queue);
sley_status sl_boards_add(const sl_board_round *round, int batch, sl_queue *queue, sl_counters *counters);

/* A single launch with signals of the caller's. counters NULL: nothing is counted. */
sley_status sl_boards_launch(const sl_board_round *round, const sl_signals *signals,
                             const sl_pull_batch *batch, sl_queue *queue, sl_counters *counters);

/* The queue waits until all have taken what they were lent in the rounds so far. */
sley_status sl_boards_await(const sl_signals *signals, sl_queue *queue);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of an exchange whose devices signal each other through boards (kernel.h). Shared by ranks that are
 * threads and ranks that are processes. */
#ifndef SLEY_TRANSPORT_BOARDS_H
#define SLEY_TRANSPORT_BOARDS_H

#include "transport/arrivals.h"
#include "transport/transport.h"

/* One launch: a range of entries of the list, and of the sources that they use. */
typedef struct sl_pull_batch {
  int64_t first, count;
  int first_source, sources;
  sl_counters given; /* traffic of these entries, which is counted when the kernel is launched */
} sl_pull_batch;

typedef struct sl_board_round {
  sl_signals signals; /* opens and closes are set by the functions below */
  const sl_pull_entry *list;
  int batches;
  const sl_pull_batch *batch;
  /* Numbers of sources. The sources whose rows move come first, in the order of the batches; then come
   * sources of which only the signal is needed. */
  int moving, still;
  const sl_pull_source *source;
  void *dst;
  int64_t dst_stride;
  bool add;
  sley_dtype dtype;
  const sl_arrivals *pieces; /* for sl_boards_pull if rows are not added; else NULL */
} sl_board_round;

/* Bytes of a board with a slot for each of `ranks` ranks. */
static inline int64_t sl_board_bytes(int ranks) {
  return (int64_t)sizeof(sl_board) + ranks * (int64_t)sizeof(sl_board_slot);
}

/* Makes a whole round: one launch pulls from all peers and takes their signals; if rows are added, one launch
 * per peer with rows, in order. Each launch adds its traffic to counters. */
sley_status sl_boards_pull(const sl_board_round *round, sl_queue *queue, sl_counters *counters);

/* Make a round launch by launch, so that other work can come between: sl_boards_open offers this rank's rows,
 * and takes the signals of the sources whose rows do not move; then sl_boards_add makes each batch. The last
 * batch closes the round. */
sley_status sl_boards_open(const sl_board_round *round, sl_queue *queue);
sley_status sl_boards_add(const sl_board_round *round, int batch, sl_queue *queue, sl_counters *counters);

/* Makes a single launch with the caller's signals. counters NULL: nothing is counted. */
sley_status sl_boards_launch(const sl_board_round *round, const sl_signals *signals,
                             const sl_pull_batch *batch, sl_queue *queue, sl_counters *counters);

/* Makes the queue wait until all peers have taken the rows offered in the rounds so far. */
sley_status sl_boards_await(const sl_signals *signals, sl_queue *queue);

#endif

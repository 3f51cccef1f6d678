/* SPDX-License-Identifier: Apache-2.0 */
/* The internals of the direct part of an exchange: made by direct_make.c, run by direct.c. */
#ifndef SLEY_TRANSPORT_PROCESS_DIRECT_INSIDE_H
#define SLEY_TRANSPORT_PROCESS_DIRECT_INSIDE_H

#include "transport/boards.h"
#include "transport/process/direct.h"

/* Rows in the block that have the same offset and length. */
typedef struct sl_region {
  int64_t offset, bytes; /* offset of the sent bytes in a row, and number of these bytes */
  int64_t count, at;     /* number of rows, and their position in the block */
  int64_t *rows;         /* row numbers: in host memory while the exchange is made, then on the device */
  bool on_device;
} sl_region;

/* A list of the spec with a peer of the workgroup. */
typedef struct sl_direct_list {
  sl_row_list list;
  int region;         /* for a send whose rows move: its region */
  int batch;          /* for a receive whose rows are added: its batch; else -1 */
  int64_t *positions; /* position of each entry in the sender's region; NULL once the exchange is made */
} sl_direct_list;

struct sl_direct {
  sl_process_comm *comm;
  sl_peer_block block;
  int regions, sends, recvs, recvs_of_spec;
  sl_region *region;
  sl_direct_list *send, *recv;
  int *direct_of; /* number of the direct list for each list of the spec's recv, or -1 */
  sl_offer *lend;
  sl_pull_source *source;
  sl_pull_batch *batch;
  sl_pull_entry *list; /* entries of the lists, in device memory */
  sl_board_round round;
  sl_arrivals pieces;
  char *name; /* name of the exchange */
  sl_event *begun, *done;
  uint64_t word; /* buffer for a word copied to or from a board */
  sl_direct *next;
};

/* Frees the exchange. keep: does not free the block, because a peer may still access it. NULL: does nothing.
 */
void sl_direct_free(sl_direct *direct, bool keep);

#endif

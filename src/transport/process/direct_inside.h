/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the direct part of an exchange: made by direct_make.c, run by direct.c. */
#ifndef SLEY_TRANSPORT_PROCESS_DIRECT_INSIDE_H
#define SLEY_TRANSPORT_PROCESS_DIRECT_INSIDE_H

#include "transport/boards.h"
#include "transport/process/direct.h"

/* Rows of one kind in the block. */
typedef struct sl_region {
  int64_t offset, bytes; /* of a row: where what is sent begins, and how long it is */
  int64_t count, at;     /* rows, and where they lie in the block */
  int64_t *rows;         /* on the host while it is made, then on the device */
  bool on_device;
} sl_region;

/* A list of the spec with a peer of the workgroup. */
typedef struct sl_direct_list {
  sl_row_list list;
  int region;         /* sends that move */
  int batch;          /* receives that are added, else -1 */
  int64_t *positions; /* rows of the sender's region, entry by entry; while it is made */
} sl_direct_list;

struct sl_direct {
  sl_process_comm *comm;
  sl_peer_block block;
  int regions, sends, recvs, recvs_of_spec;
  sl_region *region;
  sl_direct_list *send, *recv;
  int *direct_of; /* place in recv of each list of the spec's recv, or -1 */
  sl_offer *lend;
  sl_pull_source *source;
  sl_pull_batch *batch;
  sl_pull_entry *list; /* on the device */
  sl_board_round round;
  sl_arrivals pieces;
  char *name; /* the exchange's */
  sl_event *begun, *done;
  uint64_t word; /* on its way to a board, or from one */
  sl_direct *next;
};

/* keep: a peer may still touch the block. NULL: nothing. */
void sl_direct_free(sl_direct *direct, bool keep);

#endif

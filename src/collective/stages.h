/* SPDX-License-Identifier: Apache-2.0 */
/* Recursive doubling over any number of ranks. Before a stage each rank has the values of a block of
 * consecutive ranks, and in the stage it exchanges them with one partner, which has a neighbouring block:
 *
 *   join    if the size is not a power of two but 2^k + rest: each rank 2 i + 1 < 2 rest sends its values to
 *           rank 2 i, and waits; 2^k ranks are left
 *   swap    k stages: the ranks that are left, numbered anew, exchange with the rank at the distance 1, 2, 4,
 *           and so on
 *   leave   the ranks that have joined receive the values of all ranks from rank 2 i */
#ifndef SLEY_COLLECTIVE_STAGES_H
#define SLEY_COLLECTIVE_STAGES_H

#include "collective/route.h"

/* Consecutive ranks: first to end - 1. */
typedef struct sl_rank_block {
  int first, end;
} sl_rank_block;

typedef struct sl_stage {
  sl_transfer transfer; /* at most one array to the partner, and at most one from it */
  int partner;          /* -1: this rank has no part in the stage */
  bool sends, receives;
  bool leaves;             /* the stage is the last one, whose arrays are results */
  sl_rank_block own, peer; /* the blocks of this rank and of its partner before the stage */
  int64_t sent_nonzeros;   /* nonzeros of the array that was sent last */
} sl_stage;

typedef struct sl_stages {
  int count;
  sl_stage *stage;
} sl_stages;

/* Sets the blocks and partners, and allocates memory of the host. Ended by sl_stages_close, also on an error.
 * Not collective. */
sley_status sl_stages_begin(sl_stages *stages, sl_sparse_base *base, const char *name);

/* Makes the transfers; the values of a block are its parts if ranges is set, else whole arrays. Collective,
 * agreed. */
sley_status sl_stages_make(sl_stages *stages, const sl_sparse_base *base, bool ranges);
void sl_stages_close(sl_stages *stages); /* collective */

/* Compresses the values of this rank's block at src, of that density, and exchanges them. area: device memory
 * of two slots of the longest array; the received array is in the second. what: flags of sl_route_arrays. All
 * ranks call it for each stage. Collective. */
sley_status sl_stage_run(sl_sparse_base *base, sl_stage *stage, const void *src, double density,
                         unsigned what, char *area, sl_queue *queue);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Work stealing: a rank that has finished its own tasks takes tasks of others.
 *
 * For each stationary tile its owner has words with a bit for each task of the tile. A rank, the owner or a
 * thief, claims a task by setting its bit with a compare-and-swap. It then computes the task's product and
 * passes it to the owner of its tile of Y. Bits are never cleared during a run. So a rank that has found none
 * of the tasks that it may take need not look at the tile again.
 *
 * Source: Brock and others, section 3.4. There random stealing has a counter for each tile, and
 * locality-aware stealing a word for each task. Here one word serves 64 tasks, for both kinds: a single
 * access shows which of them are left. */
#ifndef SLEY_TILE_PRODUCTS_CLAIMS_H
#define SLEY_TILE_PRODUCTS_CLAIMS_H

#include "tile/products/walk.h"

typedef struct sl_claims {
  const sl_tile_operands *o;
  sl_symm *symm;   /* words of each stationary tile, twice: for this run, and for the next run, whose words
                      are all 0 */
  int64_t words;   /* words per tile */
  uint64_t run;    /* number of runs so far */
  sl_own_tile own; /* this rank's tile whose tasks it is claiming now */
  int64_t passed;  /* number of stationary tiles that have been searched for tasks to steal */
  int64_t word;    /* current word of the tile that is being searched */
  uint64_t seen;   /* bits known to be set in the current word */
  int64_t stolen;  /* tasks stolen in this run */
} sl_claims;

/* Creates the words. Errors: SLEY_ERR_MEMORY. Collective, agreed. */
sley_status sl_claims_create(const sl_tile_operands *o, sl_claims **out);
void sl_claims_destroy(sl_claims *claims); /* Accepts NULL. Collective. */

/* Starts a run. All ranks must have ended the previous one. Errors: SLEY_ERR_PEER. */
sley_status sl_claims_begin(sl_claims *claims);

/* Claims a task: first of this rank's tiles, in order, then of other ranks' tiles. *any: whether a task was
 * claimed. Errors: SLEY_ERR_PEER. */
sley_status sl_claims_next(sl_claims *claims, sl_tile_task *task, bool *any);

#endif

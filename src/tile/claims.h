/* SPDX-License-Identifier: Apache-2.0 */
/* Work stealing with stationary Y: a rank whose tiles are done takes tasks of others.
 *
 * For each tile of Y its owner has a word, which counts the tasks that have been claimed, in the order of
 * sl_task_place. Whoever raises it, the owner or a thief, has claimed the next task of the tile, makes its
 * product, and pushes it to the owner.
 *
 * A rank claims only what it has a free buffer for. So each claimed task is made without waiting for anybody;
 * and as those of a tile are claimed in the order in which they are added, the owner can always add the first
 * that is missing.
 *
 * Source: Brock and others, section 3.4. There locality-aware stealing has a word for each task; here a thief
 * looks at the word of the tile first, and claims the next task only if it has one of its tiles, so that the
 * order stays. */
#ifndef SLEY_TILE_CLAIMS_H
#define SLEY_TILE_CLAIMS_H

#include "tile/sums.h"

typedef struct sl_claims {
  const sl_tile_operands *o;
  sl_tile_sums *sums;
  sl_symm *symm;   /* two words for each tile: of this run, and of the next one, which are 0 */
  int64_t *tasks;  /* of each tile of Y */
  uint64_t run;    /* runs so far */
  sl_own_tile own; /* this rank's tile whose tasks it claims now, then */
  int64_t passed;  /* so many tiles of Y have been looked at for tasks to steal */
  int64_t stolen;  /* in this run */
} sl_claims;

/* Errors: SLEY_ERR_MEMORY. Collective, agreed. */
sley_status sl_claims_create(const sl_tile_operands *o, sl_tile_sums *sums, sl_claims **out);
void sl_claims_destroy(sl_claims *claims); /* Accepts NULL. Collective. */

/* A run begins. All ranks have ended the one before. Errors: SLEY_ERR_PEER. */
sley_status sl_claims_begin(sl_claims *claims);

/* Claims a task, and a buffer for it: of this rank's tiles first, then of others'. *any: whether there was
 * one. waits: for a free buffer, else *any is false where there is none. Errors: SLEY_ERR_PEER. */
sley_status sl_claims_next(void *claims, bool waits, sl_tile_task *task, bool *any);

#endif

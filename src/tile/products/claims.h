/* SPDX-License-Identifier: Apache-2.0 */
/* Work stealing: a rank whose tiles are done takes tasks of others.
 *
 * For each stationary tile its owner has words with a bit for each task of the tile. Whoever sets a bit, the
 * owner or a thief, by a compare-and-swap, has claimed that task, makes its product, and gives it to the
 * owner of its tile of Y. Bits are never cleared during a run. So a rank that has found none of the tasks
 * that it may take need not look at the tile again.
 *
 * Source: Brock and others, section 3.4. There random stealing has a counter for each tile, and
 * locality-aware stealing a word for each task. Here a word serves 64 tasks, for both: one access tells which
 * of them are left. */
#ifndef SLEY_TILE_PRODUCTS_CLAIMS_H
#define SLEY_TILE_PRODUCTS_CLAIMS_H

#include "tile/products/walk.h"

typedef struct sl_claims {
  const sl_tile_operands *o;
  sl_symm *symm;   /* for each stationary tile its words, twice: of this run, and of the next one, all 0 */
  int64_t words;   /* of a tile */
  uint64_t run;    /* runs so far */
  sl_own_tile own; /* this rank's tile whose tasks it claims now, then */
  int64_t passed;  /* so many stationary tiles have been looked at for tasks to steal */
  int64_t word;    /* of the tile that is looked at, the word, and */
  uint64_t seen;   /* bits that are known to be set there */
  int64_t stolen;  /* in this run */
} sl_claims;

/* Errors: SLEY_ERR_MEMORY. Collective, agreed. */
sley_status sl_claims_create(const sl_tile_operands *o, sl_claims **out);
void sl_claims_destroy(sl_claims *claims); /* Accepts NULL. Collective. */

/* A run begins. All ranks have ended the one before. Errors: SLEY_ERR_PEER. */
sley_status sl_claims_begin(sl_claims *claims);

/* Claims a task: of this rank's tiles first, in order, then of others'. *any: whether there was one. Errors:
 * SLEY_ERR_PEER. */
sley_status sl_claims_next(sl_claims *claims, sl_tile_task *task, bool *any);

#endif

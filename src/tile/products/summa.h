/* SPDX-License-Identifier: Apache-2.0 */
/* SUMMA: the tiles of A and X are broadcast to the owners of Y, in as many stages as A has columns of tiles.
 *
 * In stage s each rank that owns tiles of column s of A sends them along its row of the grid, and each rank
 * that owns tiles of row s of X sends them along its column. All tiles of a rank for one stage are a panel,
 * which travels as one message. Then each rank adds the products of both panels to its tiles of Y. Tiles that
 * no task needs (walk.h) are left out.
 *
 * A broadcast is a binomial tree. Each level of the tree is a step, and the steps of successive stages
 * overlap: while stage s is multiplied, the last level of stage s + 1 is in flight, the last but one of stage
 * s + 2, and so on. So a rank sends about one panel per stage, however many ranks a row of the grid has. If
 * all ranks can read each other's memory, the tree has one level: every rank reads the owner's panel.
 *
 * Sources: R. A. van de Geijn and J. Watts, SUMMA: Scalable Universal Matrix Multiplication Algorithm,
 * Concurrency: Practice and Experience 9 (1997); compared with one-sided algorithms by Brock and others. */
#ifndef SLEY_TILE_PRODUCTS_SUMMA_H
#define SLEY_TILE_PRODUCTS_SUMMA_H

#include "tile/products/task_loop.h"

typedef struct sl_summa sl_summa;

/* Creates the broadcasts for the operands of an open loop, with all memory that they need, and adds the
 * panels that this rank will send or receive, whichever it counts, to the loop's prediction. The loop must
 * outlive it. Errors: SLEY_ERR_MEMORY. Collective, agreed. */
sley_status sl_summa_create(sl_task_loop *loop, sl_summa **out);
void sl_summa_destroy(sl_summa *summa); /* Accepts NULL. Collective. */

/* Runs all tasks of this rank, stage by stage. Errors: SLEY_ERR_PEER (also: an invalid tile),
 * SLEY_ERR_INTERRUPTED, and the body's. Collective. */
sley_status sl_summa_run(sl_summa *summa, sl_task_body body, void *context);

#endif

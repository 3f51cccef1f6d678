/* SPDX-License-Identifier: Apache-2.0 */
/* The loop that products of matrices in tiles have in common: a rank's tasks in order, each with its tiles of
 * A, X and the mask, while those of the next task are on their way; where the time goes; and what moves. */
#ifndef SLEY_TILE_PRODUCTS_TASK_LOOP_H
#define SLEY_TILE_PRODUCTS_TASK_LOOP_H

#include "tile/fetch.h"
#include "tile/products/walk.h"

/* A task on its way: its tiles of A and X, and of the mask if there is one. */
typedef struct sl_tile_pair {
  sl_tile_task task;
  sl_tile_fetch a, x, mask;
} sl_tile_pair;

typedef struct sl_task_loop {
  const sl_tile_operands *o;
  sl_comm *comm;
  sley_tile_report *report;
  sl_tile_pair pair[2];
  sl_tile mask;          /* of the task whose body runs, if there is a mask */
  double started, since; /* seconds of sl_now(): the run, and what has not been spent on a part of it */
  sl_counters before;    /* of the comm, at the start of the run */
} sl_task_loop;

/* Takes room for tiles, and notes in the report the tasks, and the tiles that will be fetched. o, with its
 * three matrices, and report outlive the loop. Errors: SLEY_ERR_MEMORY. Not collective. */
sley_status sl_task_loop_open(sl_task_loop *loop, const sl_tile_operands *o, sley_tile_report *report);
void sl_task_loop_close(sl_task_loop *loop); /* Of a loop of zeros: nothing. */

/* A run begins and ends; its times and what was counted go to the report. */
void sl_task_loop_start(sl_task_loop *loop);
void sl_task_loop_stop(sl_task_loop *loop);

/* The time since the last such call, or the start, goes to one part of the report. */
void sl_task_spend(sl_task_loop *loop, double *part);

/* One task, with its tiles, which are valid until it returns. */
typedef sley_status (*sl_task_body)(void *context, sl_task_loop *loop, const sl_tile_task *task,
                                    const sl_tile *a, const sl_tile *x);

/* Where tasks come from: the next one; *any: whether there is one. waits: the task before is done, else none
 * may be given, and it is asked again. */
typedef sley_status (*sl_task_source)(void *context, bool waits, sl_tile_task *task, bool *any);

/* All tasks of the source; NULL: those of this rank, in order. Errors: SLEY_ERR_PEER, SLEY_ERR_INTERRUPTED,
 * those of source and body. Not collective. */
sley_status sl_task_loop_run(sl_task_loop *loop, sl_task_source source, void *source_context,
                             sl_task_body body, void *context);

/* Adds bytes from or to a rank, and a message if there are any, to what is predicted. */
void sl_task_predict(sl_task_loop *loop, int rank, int64_t bytes);

#endif

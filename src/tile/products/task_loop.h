/* SPDX-License-Identifier: Apache-2.0 */
/* The loop shared by products of matrices in tiles: a rank's tasks in order, each with its tiles of A, X and
 * the mask, while the tiles of the next task are fetched; and its accounting of time and traffic. */
#ifndef SLEY_TILE_PRODUCTS_TASK_LOOP_H
#define SLEY_TILE_PRODUCTS_TASK_LOOP_H

#include "tile/fetch.h"
#include "tile/products/walk.h"

/* A task whose tiles of A and X, and of the mask if there is one, are being fetched. */
typedef struct sl_tile_pair {
  sl_tile_task task;
  sl_tile_fetch a, x, mask;
} sl_tile_pair;

typedef struct sl_task_loop {
  const sl_tile_operands *o;
  sl_comm *comm;
  sley_tile_report *report;
  sl_tile_pair pair[2];
  void *state;           /* state of o's schedule; NULL: there is none */
  int64_t reserved;      /* bytes of o->limit that the schedule takes for itself */
  sl_tile mask;          /* tile for the task whose body runs, if there is a mask */
  double started, since; /* sl_now() in seconds: start of the run, and end of the last part that was accounted
                          * for */
  sl_counters before;    /* the comm's counters at the start of the run */
} sl_task_loop;

/* Allocates memory for tiles, and writes to the report the number of tasks and the tiles that will be
 * fetched. o, with its three matrices, and report must outlive the loop. Errors: SLEY_ERR_MEMORY. Not
 * collective. */
sley_status sl_task_loop_open(sl_task_loop *loop, const sl_tile_operands *o, sley_tile_report *report);
/* Frees the memory of the loop. Does nothing if all bytes are zero. Collective if o has a schedule. */
void sl_task_loop_close(sl_task_loop *loop);

/* Creates the state of o's schedule, if it has one, in an open loop. Errors: the schedule's. Collective,
 * agreed. */
sley_status sl_task_loop_schedule(sl_task_loop *loop);

/* Start and stop a run. The times and counters of the run are added to the report. */
void sl_task_loop_start(sl_task_loop *loop);
void sl_task_loop_stop(sl_task_loop *loop);

/* Counts the flops of a task in its stage, if stages are counted. */
void sl_task_count_stage(sl_task_loop *loop, const sl_tile_task *task, int64_t flops);

/* Adds the time since the previous call, or the start, to one part of the report. */
void sl_task_spend(sl_task_loop *loop, double *part);

/* Runs one task; its tiles are valid until it returns. */
typedef sley_status (*sl_task_body)(void *context, sl_task_loop *loop, const sl_tile_task *task,
                                    const sl_tile *a, const sl_tile *x);

/* A source of tasks: sets *task to the next task, and *any to whether there is one. waits: the previous task
 * is complete. If it is false, the source may report no task although it has more, and is asked again later.
 */
typedef sley_status (*sl_task_source)(void *context, bool waits, sl_tile_task *task, bool *any);

/* Runs all tasks of the source; if source is NULL, this rank's tasks, in order or by o's schedule. Errors:
 * SLEY_ERR_PEER, SLEY_ERR_INTERRUPTED, and the errors of source and body. Collective if o has a schedule. */
sley_status sl_task_loop_run(sl_task_loop *loop, sl_task_source source, void *source_context,
                             sl_task_body body, void *context);

/* Add bytes from or to a rank to the prediction: one message if bytes > 0, or as many messages as an exchange
 * takes. */
void sl_task_predict(sl_task_loop *loop, int rank, int64_t bytes);
void sl_task_predict_exchange(sl_task_loop *loop, int rank, int64_t bytes);

/* A way to bring tiles to the tasks of their owners of Y, other than to fetch them task by task. */
typedef struct sl_tile_schedule {
  /* Creates the state, with all memory that runs need, and adds the traffic of a run to the loop's
   * prediction. The loop outlives it. *out: not NULL. Collective, agreed. */
  sley_status (*create)(sl_task_loop *loop, void **out);
  /* Runs each of this rank's tasks once (sl_walk), after it has set loop->mask if there is a mask, and
   * accounts for the time that the body does not. Errors: SLEY_ERR_PEER, SLEY_ERR_INTERRUPTED, the body's.
   * Collective. */
  sley_status (*run)(void *state, sl_task_body body, void *context);
  void (*destroy)(void *state); /* Collective. */
} sl_tile_schedule;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a rank's time. While a stopwatch runs on a comm, every change from one kind of work to another
 * waits for the work that the rank has enqueued so far, and adds the time since the last change to the kind
 * that ends. So the times of all kinds add up to the whole, and work of different kinds does not overlap.
 *
 * Code marks its work by sl_work_begin and sl_work_end around it. Marks may nest: an exchange is counted as
 * exchange everywhere; other work inside marked work is counted with the outer mark. Without a stopwatch the
 * marks do nothing. */
#ifndef SLEY_TRANSPORT_STOPWATCH_H
#define SLEY_TRANSPORT_STOPWATCH_H

#include "transport/transport.h"

typedef enum sl_work {
  SL_WORK_OTHER, /* work that is not marked */
  SL_WORK_EXCHANGE,
  SL_WORK_SPMM, /* sums and maxima over entries */
  SL_WORK_ATTENTION,
  SL_WORK_GEMM,
  SL_WORK_LOSS,
  SL_WORK_OPTIMIZER,
  SL_WORKS
} sl_work;

typedef enum sl_direction { SL_FORWARD, SL_BACKWARD, SL_DIRECTIONS } sl_direction;

typedef struct sl_stopwatch {
  sley_status failed; /* first error of a wait; after an error there are no more waits */
  sl_work work;       /* kind of work that is being timed */
  sl_direction direction;
  double since;                            /* start of that work: seconds of sl_now() */
  double seconds[SL_DIRECTIONS][SL_WORKS]; /* times so far */
} sl_stopwatch;

/* Waits, and starts the watch at 0, in direction forward, with other work. It belongs to the caller, and runs
 * until it is stopped. Errors: errors of the comm's wait. Not collective. */
sley_status sl_stopwatch_start(sl_comm *comm, sl_stopwatch *watch);

/* Stops the watch that runs on the comm, if any, after a wait if status is SLEY_OK. Returns status, or an
 * error of the wait. */
sley_status sl_stopwatch_stop(sl_comm *comm, sley_status status);

/* Counts time in that direction from now on. */
void sl_stopwatch_turn(sl_comm *comm, sl_direction direction);

/* Counts time from now on as work. Returns a value for sl_work_end, which also reports an error of the comm's
 * wait. */
sl_work sl_work_begin(sl_comm *comm, sl_work work);

/* Counts time again as the kind `before`, which sl_work_begin returned. Returns status, the result of the
 * work, or the error of a wait. */
sley_status sl_work_end(sl_comm *comm, sl_work before, sley_status status);

#endif

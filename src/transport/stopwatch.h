/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank's time goes to. While a stopwatch runs on a comm, every change from one kind of work to another
 * waits for what the rank has enqueued so far, and adds the time since the last change to the kind that ends.
 * So the kinds' times add up to the whole, and what would have overlapped does not.
 *
 * Work is marked where it is done: sl_work_begin and sl_work_end around it. Marks may nest: an exchange
 * counts to itself wherever it is, other work within marked work counts to that. Without a stopwatch they do
 * nothing. */
#ifndef SLEY_TRANSPORT_STOPWATCH_H
#define SLEY_TRANSPORT_STOPWATCH_H

#include "transport/transport.h"

typedef enum sl_work {
  SL_WORK_OTHER, /* what is not marked */
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
  sley_status failed; /* of a wait, the first: from then on there is none */
  sl_work work;       /* that time goes to now, */
  sl_direction direction;
  double since;                            /* so long: seconds of sl_now() */
  double seconds[SL_DIRECTIONS][SL_WORKS]; /* so far */
} sl_stopwatch;

/* Waits, and starts it at 0, forward, with other work. It belongs to the caller, and runs until it is
 * stopped. Errors: those of the comm's wait. Not collective. */
sley_status sl_stopwatch_start(sl_comm *comm, sl_stopwatch *watch);

/* Stops what runs on the comm, if anything does, after a wait if status is SLEY_OK. Returns status, or an
 * error of the wait. */
sley_status sl_stopwatch_stop(sl_comm *comm, sley_status status);

/* From now on time is of that direction. */
void sl_stopwatch_turn(sl_comm *comm, sl_direction direction);

/* From now on time goes to work. Returns what to give to the end; an error of the comm's wait comes there. */
sl_work sl_work_begin(sl_comm *comm, sl_work work);

/* Time goes to what it went to before. Returns status, how the work has ended, or the error of a wait. */
sley_status sl_work_end(sl_comm *comm, sl_work before, sley_status status);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's times by kinds of work. */
#include "transport/stopwatch.h"

#include "base/clock.h"

/* Waits for the rank's queue, and adds the time since the last change of work to the kind of work that was
   timed. */
static void lap(sl_comm *comm) {
  sl_stopwatch *watch = comm->watch;
  if (watch->failed == SLEY_OK)
    watch->failed = comm->ops->wait(comm);
  const double now = sl_now();
  watch->seconds[watch->direction][watch->work] += now - watch->since;
  watch->since = now;
}

sley_status sl_stopwatch_start(sl_comm *comm, sl_stopwatch *watch) {
  SL_TRY(comm->ops->wait(comm));
  *watch = (sl_stopwatch){.since = sl_now()};
  comm->watch = watch;
  return SLEY_OK;
}

sley_status sl_stopwatch_stop(sl_comm *comm, sley_status status) {
  sl_stopwatch *watch = comm->watch;
  if (!watch)
    return status;
  if (status == SLEY_OK) {
    lap(comm);
    status = watch->failed;
  }
  comm->watch = NULL;
  return status;
}

void sl_stopwatch_turn(sl_comm *comm, sl_direction direction) {
  if (!comm->watch)
    return;
  lap(comm);
  comm->watch->direction = direction;
}

sl_work sl_work_begin(sl_comm *comm, sl_work work) {
  sl_stopwatch *watch = comm->watch;
  if (!watch)
    return work;
  const sl_work before = watch->work;
  if (before != work && (before == SL_WORK_OTHER || work == SL_WORK_EXCHANGE)) {
    lap(comm);
    watch->work = work;
  }
  return before;
}

sley_status sl_work_end(sl_comm *comm, sl_work before, sley_status status) {
  sl_stopwatch *watch = comm->watch;
  if (!watch || watch->work == before)
    return status;
  if (status == SLEY_OK) {
    lap(comm);
    status = watch->failed;
  }
  watch->work = before;
  return status;
}

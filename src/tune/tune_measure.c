/* SPDX-License-Identifier: Apache-2.0 */
/* Timing of repeated runs for tune. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "tune/tune_inside.h"

/* LEAST_RUNS, MOST_RUNS: runs of one figure. MOST_TOGETHER: runs enqueued together. OTHER_BYTES: other data
 * that a core reads between two runs: about as much as its own cache holds, and little compared with shared
 * caches. */
enum { LEAST_RUNS = 5, MOST_RUNS = 401, MOST_TOGETHER = 100, OTHER_BYTES = 1 << 20 };

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Keeps the best time. Rounds measure the same figures in the same order. */
static void keep_best(sl_tuning *tune, double *seconds) {
  if (tune->figures == SL_TUNE_FIGURES)
    return;
  double *best = &tune->best[tune->figures++];
  if (*best == 0 || *seconds < *best)
    *best = *seconds;
  *seconds = *best;
}

/* The slowest rank's nanoseconds for `together` runs. */
static sley_status time_together(sl_comm *comm, const sl_timed *what, int together, int64_t *nanoseconds) {
  SL_TRY(comm->ops->barrier(comm));
  double start = sl_now();
  for (int i = 0; i < together; i++)
    SL_TRY(what->run(what->context));
  SL_TRY(comm->ops->wait(comm));
  *nanoseconds = (int64_t)((sl_now() - start) * 1e9) + 1; /* at least 1, however coarse the clock */
  return comm->ops->allreduce(comm, SL_MAX, nanoseconds, 1);
}

/* Finds how many runs to enqueue at once, so that all runs of a figure take about its slot: the same on all
 * ranks. */
static sley_status find_together(sl_comm *comm, const sl_tuning *tune, const sl_timed *what, int *together) {
  int64_t one;
  *together = 1;
  if (!sl_tune_enqueues(comm) || what->alone)
    return SLEY_OK;
  SL_TRY(time_together(comm, what, 1, &one));
  double fit = tune->slot * 1e9 / LEAST_RUNS / (double)one;
  *together = fit < 1 ? 1 : fit > MOST_TOGETHER ? MOST_TOGETHER : (int)fit;
  return SLEY_OK;
}

sley_status sl_tune_is_late(sl_comm *comm, const sl_tuning *tune, bool *late) {
  int64_t over = sl_now() - tune->begin > tune->seconds;
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, &over, 1));
  *late = over != 0;
  return SLEY_OK;
}

/* other: OTHER_BYTES bytes. */
static sley_status measure(sl_comm *comm, sl_tuning *tune, const sl_timed *what, char *other,
                           double *seconds) {
  int64_t times[MOST_RUNS], spent = 0, budget = (int64_t)(tune->slot * 1e9);
  int runs = 0, together = 1;
  bool late;
  SL_TRY(what->run(what->context));
  SL_TRY(sl_tune_is_late(comm, tune, &late));
  if (!late)
    SL_TRY(find_together(comm, tune, what, &together));
  while (runs == 0 || (!late && runs < MOST_RUNS && (runs < LEAST_RUNS || spent < budget))) {
    if (!sl_tune_enqueues(comm))
      memset(other, runs, OTHER_BYTES);
    SL_TRY(time_together(comm, what, together, &times[runs]));
    spent += times[runs++];
  }
  qsort(times, (size_t)runs, sizeof *times, by_value);
  *seconds = (double)times[runs / 10] * 1e-9 / together;
  if (comm->rank == 0)
    keep_best(tune, seconds);
  return SLEY_OK;
}

sley_status sl_tune_measure(sl_comm *comm, sl_tuning *tune, const sl_timed *what, double *seconds) {
  char *other = NULL;
  sley_status status = sl_agree(comm, SL_NEW(other, OTHER_BYTES, "other things"));
  if (status == SLEY_OK)
    status = sl_abort_on_error(comm, measure(comm, tune, what, other, seconds));
  sl_free(other);
  return status;
}

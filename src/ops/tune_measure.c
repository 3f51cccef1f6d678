/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "ops/tune_inside.h"

/* Runs of one figure; what a core sees between two of them: about as much as its own cache holds, and little
 * beside what cores share. */
enum { LEAST_RUNS = 5, MOST_RUNS = 401, OTHER_BYTES = 1 << 20 };

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Rounds measure the same figures in the same order. */
static void keep_best(sl_tuning *tune, double *seconds) {
  if (tune->figures == SL_TUNE_FIGURES)
    return;
  double *best = &tune->best[tune->figures++];
  if (*best == 0 || *seconds < *best)
    *best = *seconds;
  *seconds = *best;
}

sley_status sl_tune_measure(sl_comm *comm, sl_tuning *tune, const sl_timed *what, double *seconds) {
  int64_t times[MOST_RUNS], spent = 0, budget = (int64_t)(tune->slot * 1e9);
  int runs = 0;
  char *other = NULL;
  sley_status status;
  SL_TRY(sl_agree(comm, SL_NEW(other, OTHER_BYTES, "other things")));
  SL_TRY_GOTO(status, what->run(what->context), done);
  while (runs < MOST_RUNS && (runs < LEAST_RUNS || spent < budget)) {
    memset(other, runs, OTHER_BYTES);
    SL_TRY_GOTO(status, comm->ops->barrier(comm), done);
    double start = sl_now();
    SL_TRY_GOTO(status, what->run(what->context), done);
    times[runs] = (int64_t)((sl_now() - start) * 1e9);
    SL_TRY_GOTO(status, comm->ops->allreduce(comm, SL_MAX, &times[runs], 1), done);
    spent += times[runs++];
  }
  qsort(times, (size_t)runs, sizeof *times, by_value);
  *seconds = (double)times[runs / 10] * 1e-9;
  if (comm->rank == 0)
    keep_best(tune, seconds);
done:
  sl_free(other);
  return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "ops/tune_inside.h"

/* Runs of one figure; what a rank's core sees between two of them: more than its own cache holds, less than
 * its share of a larger one. */
enum { LEAST_RUNS = 5, MOST_RUNS = 401, OTHER_BYTES = 4 << 20 };

sley_status sl_tune_measure(sl_comm *comm, double slot, const sl_timed *what, double *seconds) {
  int64_t least = INT64_MAX, spent = 0, budget = (int64_t)(slot * 1e9);
  char *other = NULL;
  sley_status status;
  SL_TRY(sl_agree(comm, SL_NEW(other, OTHER_BYTES, "other things")));
  SL_TRY_GOTO(status, what->run(what->context), done);
  for (int runs = 0; runs < MOST_RUNS && (runs < LEAST_RUNS || spent < budget); runs++) {
    memset(other, runs, OTHER_BYTES);
    SL_TRY_GOTO(status, comm->ops->barrier(comm), done);
    double start = sl_now();
    SL_TRY_GOTO(status, what->run(what->context), done);
    int64_t slowest = (int64_t)((sl_now() - start) * 1e9);
    SL_TRY_GOTO(status, comm->ops->allreduce(comm, SL_MAX, &slowest, 1), done);
    least = slowest < least ? slowest : least;
    spent += slowest;
  }
  *seconds = (double)least * 1e-9;
done:
  sl_free(other);
  return status;
}

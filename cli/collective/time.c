/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/time.h"

#include "matrix/job.h"

enum { NS_PER_MS = 1000000 };

sley_status cli_collective_time(sley_comm *comm, const cli_timed *work, double *ms) {
  sley_status status = sley_comm_wait(comm);
  if (status == SLEY_OK)
    status = sley_comm_barrier(comm);
  const double begin = cli_now_ms();
  if (status == SLEY_OK)
    status = work->run(comm, work->arg);
  if (status == SLEY_OK)
    status = sley_comm_wait(comm);
  int64_t ns = (int64_t)((cli_now_ms() - begin) * NS_PER_MS);
  if (status == SLEY_OK)
    status = sley_comm_allreduce(comm, SLEY_MAX, &ns, 1);
  *ms = (double)ns / NS_PER_MS;
  return status;
}

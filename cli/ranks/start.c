/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks/start.h"

#include "command.h"
#include "matrix/job.h"
#include "ranks/processes.h"

int cli_start(int64_t ranks, int64_t fallback, int64_t threads, const char *device, const char *transport,
              sley_rank_options *out) {
  const char *found;
  *out = (sley_rank_options)SLEY_RANK_OPTIONS_INIT;
  sley_status status = cli_transport(transport, device, &found);
  if (status != SLEY_OK)
    return cli_finish(status);
  if (cli_wants_mpirun(found))
    return cli_run_mpirun(ranks > 0 ? ranks : fallback);
  status = cli_check_device(device, found);
  if (status != SLEY_OK)
    return cli_finish(status);
  out->ranks = (int)(ranks > 0 ? ranks : cli_launched() ? cli_ranks(0, found) : fallback);
  out->threads = (int)threads;
  out->device = device;
  out->transport = found;
  return CLI_DONE;
}

bool cli_start_reports(const sley_rank_options *ranks) {
  const cli_job job = {.ranks = *ranks};
  return cli_reports(&job);
}

int cli_start_failed(const sley_rank_options *ranks, sley_status status, const char *message) {
  const cli_job job = {.ranks = *ranks};
  if (*message)
    return cli_refuse(status, "%s", message);
  return cli_tells(&job, status) ? cli_finish(status) : cli_quiet_code(status);
}

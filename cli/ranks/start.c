/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks/start.h"

#include "command.h"
#include "matrix/job.h"
#include "ranks/mpirun.h"
#include "ranks/processes.h"

int cli_start(const cli_common *common, sley_rank_options *out) {
  const char *found;
  *out = (sley_rank_options)SLEY_RANK_OPTIONS_INIT;
  sley_status status = cli_transport(common->transport, common->device, &found);
  if (status != SLEY_OK)
    return cli_finish(status);
  if (cli_wants_mpirun(found))
    return cli_run_mpirun(common->ranks);
  status = cli_check_device(common->device, found);
  if (status != SLEY_OK)
    return cli_finish(status);
  out->ranks = (int)cli_ranks(common->ranks, found);
  out->workgroup = (int)common->workgroup;
  out->threads = (int)common->threads;
  out->timeout = common->timeout;
  out->device = common->device;
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

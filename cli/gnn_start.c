/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of a run of `sley gnn`. */
#include "gnn_start.h"

#include "command.h"
#include "input.h"
#include "processes.h"
#include "terminal.h"

int cli_gnn_ranks(int64_t ranks, int64_t threads, const char *device, const char *transport,
                  sley_rank_options *out) {
  const char *found;
  *out = (sley_rank_options)SLEY_RANK_OPTIONS_INIT;
  sley_status status = cli_transport(transport, device, &found);
  if (status != SLEY_OK)
    return cli_finish(status);
  if (cli_wants_mpirun(found))
    return cli_run_mpirun(ranks > 0 ? ranks : 1);
  status = cli_check_device(device, found);
  if (status != SLEY_OK)
    return cli_finish(status);
  out->ranks = (int)(ranks > 0 ? ranks : cli_launched() ? cli_ranks(0, found) : 1);
  out->threads = (int)threads;
  out->device = device;
  out->transport = found;
  return CLI_DONE;
}

int cli_gnn_read(const cli_gnn_source *source, cli_gnn_data *out) {
  char message[512];
  const sley_status status = cli_gnn_data_read(source, out, message, sizeof message);
  cli_progress_clear();
  if (status == SLEY_OK)
    return CLI_DONE;
  return *message ? cli_refuse(status, "%s", message) : cli_finish(cli_input_status(status, source->graph));
}

bool cli_gnn_reports(const sley_rank_options *ranks) {
  const cli_job job = {.ranks = *ranks};
  return cli_reports(&job);
}

int cli_gnn_failed(const sley_rank_options *ranks, sley_status status, const char *message) {
  const cli_job job = {.ranks = *ranks};
  if (*message)
    return cli_refuse(status, "%s", message);
  return cli_tells(&job, status) ? cli_finish(status) : cli_quiet_code(status);
}

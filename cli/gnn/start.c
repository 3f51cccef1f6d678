/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the data of a run of `sley gnn`. */
#include "gnn/start.h"

#include "command.h"
#include "matrix/job.h"
#include "output/terminal.h"

int cli_gnn_read(const cli_gnn_source *source, cli_gnn_data *out) {
  char message[512];
  const char *path = source->graph;
  const sley_status status = cli_gnn_data_read(source, out, message, sizeof message, &path);
  cli_progress_clear();
  if (status == SLEY_OK)
    return CLI_DONE;
  return *message ? cli_refuse(status, "%s", message) : cli_finish(cli_input_status(status, path));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the modes of `sley gnn` begin with: ranks, and what they read. */
#ifndef SLEY_CLI_GNN_START_H
#define SLEY_CLI_GNN_START_H

#include "gnn_data.h"

/* Ranks on a device and a transport: asked for, a launcher's, or one. Becomes mpirun where that starts them.
 * An exit code, after one line on stderr where it is not CLI_DONE. */
int cli_gnn_ranks(int64_t ranks, int64_t threads, const char *device, const char *transport,
                  sley_rank_options *out);

/* Reads graph, features, labels and sets, with progress; *out is to be freed in any case. An exit code, as
 * above. */
int cli_gnn_read(const cli_gnn_source *source, cli_gnn_data *out);

/* Whether this process reports: rank 0 of those of a launcher, else the one that the ranks are of. */
bool cli_gnn_reports(const sley_rank_options *ranks);

/* The exit code of what ranks have returned. message: the command's own, or empty for the library's. */
int cli_gnn_failed(const sley_rank_options *ranks, sley_status status, const char *message);

#endif

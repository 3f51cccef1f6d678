/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of commands that have no job of one matrix (job.h): how they start, who reports, how they end. */
#ifndef SLEY_CLI_RANKS_START_H
#define SLEY_CLI_RANKS_START_H

#include <stdbool.h>
#include <stdint.h>

#include "common.h"
#include "sley.h"

/* Ranks as the common options say. Becomes mpirun where that starts them. An exit code, after one line on
 * stderr where it is not CLI_DONE. */
int cli_start(const cli_common *common, sley_rank_options *out);

/* Whether this process reports: rank 0 of those of a launcher, else the one that the ranks are of. */
bool cli_start_reports(const sley_rank_options *ranks);

/* The exit code of what ranks have returned. message: the command's own, or empty for the library's. */
int cli_start_failed(const sley_rank_options *ranks, sley_status status, const char *message);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of commands that do not use cli_job (job.h): how they start, which process reports, and how they end.
 */
#ifndef SLEY_CLI_RANKS_START_H
#define SLEY_CLI_RANKS_START_H

#include <stdbool.h>
#include <stdint.h>

#include "common.h"
#include "sley.h"

/* Sets the options of ranks from the common options. Replaces this process by mpirun if that starts the ranks.
 * Returns an exit code; if it is not CLI_DONE, one line has been printed on stderr. */
int cli_start(const cli_common *common, sley_rank_options *out);

/* Returns true if this process prints the report: under a launcher rank 0, else the process that starts the
 * ranks. */
bool cli_start_reports(const sley_rank_options *ranks);

/* Prints the error with which the ranks ended, and returns its exit code. message: the command's own message;
 * "": the library has the message. */
int cli_start_failed(const sley_rank_options *ranks, sley_status status, const char *message);

#endif

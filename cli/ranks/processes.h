/* SPDX-License-Identifier: Apache-2.0 */
/* Runs whose ranks are processes: forked from this process, or started by a launcher together with it. */
#ifndef SLEY_CLI_RANKS_PROCESSES_H
#define SLEY_CLI_RANKS_PROCESSES_H

#include "matrix/job.h"

/* Returns true if a launcher (torchrun, mpirun, srun) started this process as one rank of several. */
bool cli_launched(void);

/* Returns true if this process is the launcher's rank 0, or was not started by a launcher. */
bool cli_is_first(void);

/* Sets *out to the requested transport. If none was requested, *out is NULL, which means ranks as threads,
 * or, under a launcher, the transport that suits the launcher and the device. Errors: as sley_launcher. */
sley_status cli_transport(const char *asked, const char *device, const char **out);

/* Returns the number of ranks to run on a transport: the value of --ranks, or without that option under a
 * launcher the number that the launcher has started. */
int64_t cli_ranks(int64_t ranks, const char *transport);

/* Returns true if this process prints the report: without a launcher always, under a launcher only rank 0. */
bool cli_reports(const cli_job *job);

/* Returns true if this process should print the error of its run. A rank that can report its error does so
 * itself, once; if a rank cannot, for example because it ended, all others do. */
bool cli_tells(const cli_job *job, sley_status status);

/* Allocates zeroed memory that forked ranks share with this process; freed with cli_unshare. NULL: out of
 * memory. */
void *cli_share(size_t bytes);
void cli_unshare(void *block, size_t bytes);

#endif

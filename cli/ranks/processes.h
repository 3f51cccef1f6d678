/* SPDX-License-Identifier: Apache-2.0 */
/* Runs whose ranks are processes: forked from this one, or started by a launcher, of which this is one. */
#ifndef SLEY_CLI_RANKS_PROCESSES_H
#define SLEY_CLI_RANKS_PROCESSES_H

#include "matrix/job.h"

/* The words of the command line, kept for cli_run_mpirun. */
void cli_keep_words(int count, char **all);

/* Whether a launcher (torchrun, mpirun, srun) has started this process as one rank of several. */
bool cli_launched(void);

/* Whether this process is the launcher's rank 0, or nobody's rank. */
bool cli_is_first(void);

/* The transport that was asked for; NULL: ranks as threads, but under a launcher the one that suits it and
 * the device. Errors: those of sley_launcher. */
sley_status cli_transport(const char *asked, const char *device, const char **out);

/* Whether the ranks of the transport are started by mpirun, and have not been yet. */
bool cli_wants_mpirun(const char *transport);

/* Becomes mpirun, which runs this command line as `ranks` ranks. Returns an exit code if it cannot. */
int cli_run_mpirun(int64_t ranks);

/* Ranks to run on a transport: the value of --ranks, but without that option under a launcher the number that
 * it has started. */
int64_t cli_ranks(int64_t ranks, const char *transport);

/* Whether this process reports: not under a launcher, and there rank 0 only. */
bool cli_reports(const cli_job *job);

/* Whether this process's failure should be told here, which is once for what a rank can say of itself, and by
 * all for a rank that cannot. */
bool cli_tells(const cli_job *job, sley_status status);

/* Zeroed memory that forked ranks share with this process. NULL: out of memory. */
void *cli_share(size_t bytes);
void cli_unshare(void *block, size_t bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the ranks of transport mpi by mpirun, if no launcher has started them. */
#ifndef SLEY_CLI_RANKS_MPIRUN_H
#define SLEY_CLI_RANKS_MPIRUN_H

#include <stdbool.h>
#include <stdint.h>

/* Stores the command line for cli_run_mpirun. */
void cli_keep_words(int count, char **all);

/* Returns the stored command line. */
char **cli_kept_words(int *count);

/* Returns the path of this program, or, if the system does not tell it, the first word of the command line.
 */
const char *cli_this_program(void);

/* Returns true if mpirun must start the ranks of the transport and has not done so yet. */
bool cli_wants_mpirun(const char *transport);

/* Replaces this process by mpirun, which runs this command line on `ranks` ranks. Returns an exit code only
 * on failure. */
int cli_run_mpirun(int64_t ranks);

#endif

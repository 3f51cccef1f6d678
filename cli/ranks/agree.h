/* SPDX-License-Identifier: Apache-2.0 */
/* Agreement of ranks: on a status, and, under a launcher, on the job that their processes were started with.
 */
#ifndef SLEY_CLI_RANKS_AGREE_H
#define SLEY_CLI_RANKS_AGREE_H

#include "product/measure.h"

/* Compares the options, and samples of the matrix and of X, over all ranks. operands NULL: the ranks of a
 * spread job compare samples of the files before they read them. Errors: SLEY_ERR_ARG on all ranks, if an
 * option or an input differs; each rank has printed which one, and *told is set; errors of collective calls.
 * Collective. */
sley_status cli_agree(sley_comm *comm, const cli_job *job, const cli_operands *operands,
                      const cli_measure *measure, bool *told);

enum { CLI_AGREE_WORDS = 32 };

/* Compares count values, at most CLI_AGREE_WORDS, over all ranks. names: the option of each value, for the
 * message. Errors as in cli_agree. Collective. */
sley_status cli_agree_words(sley_comm *comm, const char *const *names, const int64_t *values, int count,
                            bool *told);

/* Converts a real number to such a value. */
int64_t cli_agree_real(double value);

/* Agrees on a status: returns this rank's own error if it has one, else an error if another rank has one,
 * else SLEY_OK. Collective. */
sley_status cli_agree_status(sley_comm *comm, sley_status mine);

/* Replaces rank 0's finding by the worst one of all ranks, whose rows are numbered over the whole matrix.
 * Collective. */
sley_status cli_agree_check(sley_comm *comm, sley_check *check);

#endif

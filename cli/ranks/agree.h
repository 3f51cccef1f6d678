/* SPDX-License-Identifier: Apache-2.0 */
/* What all ranks have in common: a status, and, of a launcher's processes, the job. */
#ifndef SLEY_CLI_RANKS_AGREE_H
#define SLEY_CLI_RANKS_AGREE_H

#include "product/measure.h"

/* Compares what was asked for, and samples of the matrix and of X, over all ranks; with operands NULL, before
 * the ranks of a spread job read, samples of the files. Errors: SLEY_ERR_ARG on all ranks, each of which has
 * then told the setting that differs on stderr (*told set); those of the ranks' collectives. Collective. */
sley_status cli_agree(sley_comm *comm, const cli_job *job, const cli_operands *operands,
                      const cli_measure *measure, bool *told);

enum { CLI_AGREE_WORDS = 32 };

/* Compares at most so many values over all ranks; names: what was given, for the message. Errors as of
 * cli_agree. Collective. */
sley_status cli_agree_words(sley_comm *comm, const char *const *names, const int64_t *values, int count,
                            bool *told);

/* A number as such a value. */
int64_t cli_agree_real(double value);

/* A status that all ranks have where one has failed: the rank's own, if it has. Collective. */
sley_status cli_agree_status(sley_comm *comm, sley_status mine);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What all ranks have in common: a status, and, of a launcher's processes, the job. */
#ifndef SLEY_CLI_AGREE_H
#define SLEY_CLI_AGREE_H

#include "measure.h"

/* Compares what was asked for, and samples of the matrix and of X, over all ranks; with operands NULL, before
 * the ranks of a spread job read, samples of the files. Errors: SLEY_ERR_ARG on all ranks, each of which has
 * then told the setting that differs on stderr (*told set); those of the ranks' collectives. Collective. */
sley_status cli_agree(sley_comm *comm, const cli_job *job, const cli_operands *operands,
                      const cli_measure *measure, bool *told);

/* A status that all ranks have where one has failed: the rank's own, if it has. Collective. */
sley_status cli_agree_status(sley_comm *comm, sley_status mine);

#endif

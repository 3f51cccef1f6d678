/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a run that differ if each rank reads, holds, checks and writes only its own rows. */
#ifndef SLEY_CLI_PRODUCT_SPREAD_H
#define SLEY_CLI_PRODUCT_SPREAD_H

#include "product/measure.h"

/* Creates this rank's rows of X, read or random, of Y, and of Y's initial values. Errors: the library's
 * errors; SLEY_ERR_ARG for X's file, with its message in `message` (CLI_REASON bytes), else message is "". */
sley_status cli_spread_operands(const sley_comm *comm, const cli_job *job, const cli_measure *measure,
                                cli_operands *out, char *message);

/* Checks this rank's rows of Y. For that, the rank creates the rows of X whose columns its rows of A contain.
 * The worst finding of all ranks goes to rank 0's result. Collective. */
sley_status cli_spread_verify(sley_comm *comm, const cli_job *job, const cli_operands *operands,
                              const cli_measure *measure, cli_result *result);

/* Computes the size of the least covers with a dry plan. Collective. */
sley_status cli_spread_cover_rows(sley_comm *comm, const cli_job *job, int64_t k, int64_t *out);

/* All ranks write their rows of Y into one file, if `wanted` is true on rank 0. Collective. */
sley_status cli_spread_write(sley_comm *comm, const cli_job *job, const cli_operands *operands,
                             const char *path, bool wanted);

#endif

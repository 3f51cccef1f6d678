/* SPDX-License-Identifier: Apache-2.0 */
/* A run of which each rank reads, holds, checks and writes its own rows alone: what is not as where one
 * process holds all. */
#ifndef SLEY_CLI_PRODUCT_SPREAD_H
#define SLEY_CLI_PRODUCT_SPREAD_H

#include "product/measure.h"

/* This rank's rows of X, read or random, of Y, and of what Y starts from. Errors: those of the library; of
 * X's file also SLEY_ERR_ARG, with the message in `message` (CLI_REASON bytes), "" otherwise. */
sley_status cli_spread_operands(const sley_comm *comm, const cli_job *job, const cli_measure *measure,
                                cli_operands *out, char *message);

/* Every rank checks its rows of Y, for which it makes the rows of X that its own rows of A name; the worst
 * finding goes to rank 0's result. Collective. */
sley_status cli_spread_verify(sley_comm *comm, const cli_job *job, const cli_operands *operands,
                              const cli_measure *measure, cli_result *result);

/* The size of the least covers, by a dry plan. Collective. */
sley_status cli_spread_cover_rows(sley_comm *comm, const cli_job *job, int64_t k, int64_t *out);

/* Writes Y by rows into one file, if rank 0 wants it and says where. Collective. */
sley_status cli_spread_write(sley_comm *comm, const cli_job *job, const cli_operands *operands,
                             const char *path, bool wanted);

#endif

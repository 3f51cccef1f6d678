/* SPDX-License-Identifier: Apache-2.0 */
/* The lists that options of `sley bench` and `sley bench ops` take: matrices, and whole numbers. */
#ifndef SLEY_CLI_BENCH_LISTS_H
#define SLEY_CLI_BENCH_LISTS_H

#include <stdbool.h>

#include "common.h"
#include "sley.h"

/* The matrices that are measured by default. */
#define CLI_BENCH_MATRICES                                                                                   \
  "twin:cyt:scale=0.1 twin:red:scale=0.01 rmat:scale=14,edgefactor=8 er:n=20000,nnz=200000"

enum { CLI_NUMBERS = 32 };

typedef struct cli_numbers {
  int count;
  int64_t at[CLI_NUMBERS];
} cli_numbers;

/* Reads a list of whole numbers from 1 on, such as "32,64". On failure prints one line on stderr and returns
 * false. */
bool cli_numbers_read(const char *command, const char *option, const char *text, cli_numbers *out);

typedef sley_status cli_take_matrix(void *context, const char *name, const sley_matrix *matrix);

/* Loads each matrix of a list, whose names are separated by blanks, and calls take with it. A matrix that
 * cannot be read is reported on stderr and sets *failed, and the others follow. Errors: the errors of take;
 * SLEY_ERR_INTERRUPTED. */
sley_status cli_matrices_each(const char *list, const cli_common *common, cli_take_matrix *take,
                              void *context, bool *failed);

#endif

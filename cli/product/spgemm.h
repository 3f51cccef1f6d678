/* SPDX-License-Identifier: Apache-2.0 */
/* C = A B in one process, on its cores or its GPUs: `sley spgemm --algo rows`. */
#ifndef SLEY_CLI_PRODUCT_SPGEMM_H
#define SLEY_CLI_PRODUCT_SPGEMM_H

#include <stdbool.h>

#include "common.h"
#include "sley.h"

typedef struct cli_spgemm_settings {
  cli_common common;
  const char *mask, *semiring, *out, *local, *algo;
  bool transpose_b;
} cli_spgemm_settings;

/* The loaded matrices. b equals a if B was not named or has the same name; mask NULL: none. */
typedef struct cli_spgemm_factors {
  const char *name_a, *name_b;
  sley_matrix *a, *b, *mask;
} cli_spgemm_factors;

/* Multiplies, checks, reports and writes C. ranks: number of GPUs, which share the rows of C. Returns the
 * exit code. */
int cli_spgemm_rows(const cli_spgemm_settings *settings, const cli_spgemm_factors *factors, int ranks);

#endif

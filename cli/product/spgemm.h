/* SPDX-License-Identifier: Apache-2.0 */
/* `sley spgemm` in one process: by sley_spgemm, on its cores or its GPUs. */
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

/* A, B and the mask, as loaded. */
typedef struct cli_spgemm_factors {
  const char *name_a, *name_b;
  sley_matrix *a, *b, *mask; /* b: a, where it has no name of its own; mask NULL: none */
} cli_spgemm_factors;

/* Multiplies, checks, prints and writes. ranks: GPUs that share the rows of C. Returns the exit code. */
int cli_spgemm_rows(const cli_spgemm_settings *settings, const cli_spgemm_factors *factors, int ranks);

#endif

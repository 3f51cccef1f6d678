/* SPDX-License-Identifier: Apache-2.0 */
/* `sley spgemm` in one process: by sley_spgemm, on its cores or its GPUs. */
#ifndef SLEY_CLI_PRODUCT_SPGEMM_H
#define SLEY_CLI_PRODUCT_SPGEMM_H

#include "matrix/source.h"
#include "sley.h"
#include "tile/tile.h"

enum { CLI_SPGEMM_REPEATS = 10000 };

typedef struct cli_spgemm_settings {
  const char *mask, *semiring, *out, *dtype, *device, *local, *json, *algo, *transport;
  int64_t mem_limit, ranks, workgroup, threads, seed, repeat, warmup;
  double timeout;
  bool transpose_b, verify;
  cli_tile_settings tile;
  cli_reading reading;
} cli_spgemm_settings;

/* A, B and the mask, as loaded. */
typedef struct cli_spgemm_factors {
  const char *name_a, *name_b;
  sley_matrix *a, *b, *mask; /* b: a, where it has no name of its own; mask NULL: none */
} cli_spgemm_factors;

/* Multiplies, checks, prints and writes. ranks: GPUs that share the rows of C. Returns the exit code. */
int cli_spgemm_rows(const cli_spgemm_settings *settings, const cli_spgemm_factors *factors, int ranks);

#endif

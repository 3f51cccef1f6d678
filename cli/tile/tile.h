/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of `sley tile`: products of matrices in tiles by one or more algorithms, timed by what a rank
 * does. */
#ifndef SLEY_CLI_TILE_TILE_H
#define SLEY_CLI_TILE_TILE_H

#include <stdbool.h>
#include <stdio.h>

#include "output/times.h"
#include "sley.h"
#include "sley_tile.h"

enum { CLI_TILE_ALGORITHMS = 9, CLI_TILE_RANKS = 4096 };

/* What a rank's time went to, ms of a run on average, and what its tiles took. */
typedef struct cli_tile_rank {
  double compute, communicate, accumulate, imbalance;
  int64_t tasks, flops, stolen;
} cli_tile_rank;

typedef struct cli_tile_result {
  const char *algo;
  cli_times time;                  /* ms of a run, of the slowest rank */
  cli_tile_rank *rank;             /* of each */
  sley_traffic predicted, counted; /* of a run, over all ranks */
  bool checked, right;
  int64_t wrong_row; /* the first row of Y that is wrong */
  double relative_error;
  int64_t c_entries; /* of C = A B */
} cli_tile_result;

typedef struct cli_tile_bench {
  sley_rank_options ranks;
  const char *name;
  const sley_matrix *matrix;
  sley_matrix_info size;
  const void *x; /* whole, n x k; or, where A is multiplied by a sparse matrix: */
  const char *name_b;
  const sley_matrix *b; /* NULL: by X */
  sley_matrix_info size_b;
  const char *name_mask;
  const sley_matrix *mask; /* of C; NULL: none */
  sley_matrix_info size_mask;
  sley_semiring semiring;
  int64_t mem_limit; /* of a product of two sparse tiles; 0: none */
  int64_t k, seed, repeat, warmup, buffers;
  sley_tiling a, of_x, y; /* of_x: of X or B */
  bool verify, tells;     /* tells: progress and the report */
  int algos;
  cli_tile_result *result; /* from cli_share, as what rank points to */
  sley_tiled_info *info;   /* of A; likewise */
  char *found;             /* the device; likewise, SLEY_ERROR_BYTES */
  char *note;              /* what is not as asked for, as sley_comm_device_note; likewise */
  bool *told;              /* why the run failed is told already; likewise */
} cli_tile_bench;

/* Fills the results. Errors: the library's; SLEY_ERR_ARG where the ranks of a launcher were given different
 * words (told). */
sley_status cli_tile_run(cli_tile_bench *bench);

/* tile_report.c */
void cli_tile_print(const cli_tile_bench *bench, FILE *stream);
bool cli_tile_json(const cli_tile_bench *bench, const char *path);

/* Whether what moved is what was predicted, or some of it cannot be: stolen work, and products of two sparse
 * tiles that go to other ranks. */
bool cli_tile_as_predicted(const cli_tile_bench *bench, const cli_tile_result *result);

#endif

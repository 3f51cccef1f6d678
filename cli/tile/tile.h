/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices in tiles, of `sley spmm` and `sley spgemm`: one or more algorithms on ranks that are
 * started once, timed by what each rank does, and checked. */
#ifndef SLEY_CLI_TILE_TILE_H
#define SLEY_CLI_TILE_TILE_H

#include <stdbool.h>
#include <stdio.h>

#include "common.h"
#include "output/times.h"
#include "product/measure.h"
#include "sley.h"
#include "sley_tile.h"

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
  int64_t wrong_row; /* the first row of the product that is wrong */
  double relative_error;
  int64_t c_entries; /* of C = A B */
} cli_tile_result;

typedef struct cli_tile_bench {
  const char *command; /* for messages */
  sley_rank_options ranks;
  const cli_algos *algos;
  const char *name;
  const sley_matrix *matrix;
  sley_matrix_info size;
  /* Y = alpha A X + beta Y; all NULL: C = A B */
  const cli_job *job;
  const cli_operands *operands; /* Y receives the last algorithm's product, on rank 0 */
  const cli_measure *measure;
  const char *plot; /* NULL, or where times and bytes are drawn */
  /* C = A B */
  const char *name_b;
  const sley_matrix *b; /* transposed already */
  sley_matrix_info size_b;
  bool transpose_b;
  const char *name_mask;
  const sley_matrix *mask; /* of C; NULL: none */
  sley_matrix_info size_mask;
  sley_semiring semiring;
  int64_t mem_limit; /* of a product of two sparse tiles; 0: none */
  const char *out;   /* NULL, or where rank 0 writes the last algorithm's C, unless it is wrong */
  /* both */
  int64_t k, seed, repeat, warmup, buffers;
  sley_tiling a, of_x, y;  /* of_x: of X or B */
  bool verify, tells;      /* tells: progress and the report */
  cli_tile_result *result; /* from cli_share, as what rank points to */
  sley_tiled_info *info;   /* of A; likewise */
  char *found;             /* the device; likewise, SLEY_ERROR_BYTES */
  char *note;              /* what is not as asked for, as sley_comm_device_note; likewise */
  bool *told;              /* why the run failed is told already; likewise */
} cli_tile_bench;

/* Divides the matrices, multiplies, reports and judges, as the common options say. Returns the exit code. */
int cli_tile_measure(cli_tile_bench *bench, const cli_common *common);

/* Says which of these options a run without tiles has no use for. */
void cli_tile_idle(const char *command);

/* Fills the results. Errors: the library's; SLEY_ERR_ARG where the ranks of a launcher were given different
 * words (told). */
sley_status cli_tile_run(cli_tile_bench *bench);

/* report.c */
void cli_tile_print(const cli_tile_bench *bench, FILE *stream);
bool cli_tile_json(const cli_tile_bench *bench, const char *path);
bool cli_tile_plot(const cli_tile_bench *bench); /* to its plot; of a job */

/* Whether what moved is what was predicted, or some of it cannot be: stolen work, and products of two sparse
 * tiles that go to other ranks. */
bool cli_tile_as_predicted(const cli_tile_bench *bench, const cli_tile_result *result);

#endif

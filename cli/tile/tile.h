/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices in tiles, of `sley spmm` and `sley spgemm`: types, and the functions that run one or
 * more algorithms on ranks, check the products and report. */
#ifndef SLEY_CLI_TILE_TILE_H
#define SLEY_CLI_TILE_TILE_H

#include <stdbool.h>
#include <stdio.h>

#include "common.h"
#include "output/times.h"
#include "product/measure.h"
#include "sley.h"
#include "sley_tile.h"

/* A rank's times, in ms per run on average, and its work in the last run: products of tiles, their flops, and
 * stolen products. */
typedef struct cli_tile_rank {
  double compute, communicate, accumulate, imbalance;
  int64_t tasks, flops, stolen;
} cli_tile_rank;

typedef struct cli_tile_result {
  const char *algo;
  cli_times time;                  /* ms per run, of the slowest rank */
  cli_tile_rank *rank;             /* one element per rank */
  sley_traffic predicted, counted; /* traffic per run, over all ranks */
  /* of tile-two-level: message bytes of its preparation, and those of tile-summa on the same tiles */
  int64_t prepare_bytes, summa_bytes;
  int64_t staged_flops; /* sum over the stages of the most flops of a rank, in the last run */
  bool checked;
  sley_check check;  /* the worst finding of all ranks */
  int64_t c_entries; /* nonzeros of C = A B */
} cli_tile_result;

typedef struct cli_tile_bench {
  const char *command; /* for messages */
  sley_rank_options ranks;
  const cli_algos *algos;
  const char *name;
  const sley_matrix *matrix;
  sley_matrix_info size;
  /* job with Y = alpha A X + beta Y; NULL, like operands, for C = A B */
  const cli_job *job;
  const cli_operands *operands; /* on rank 0 Y receives the product of the last algorithm */
  const cli_measure *measure;
  const char *plot; /* file of the picture; NULL: none */
  /* C = A B */
  const char *name_b;
  const sley_matrix *b; /* already transposed if --transpose-b was given */
  sley_matrix_info size_b;
  bool transpose_b;
  const char *name_mask;
  const sley_matrix *mask; /* mask of C; NULL: none */
  sley_matrix_info size_mask;
  sley_semiring semiring;
  int64_t mem_limit; /* most bytes of a product of two sparse tiles; 0: no limit */
  const char *out;   /* file to which rank 0 writes C of the last algorithm, unless it is wrong; NULL: none */
  /* both products */
  int64_t k, seed, repeat, warmup, buffers;
  sley_tiling a, of_x, y;    /* tilings of A, of X or B, and of Y or C */
  bool verify, brief, tells; /* brief: without legends; tells: this process reports progress and results */
  cli_tile_result *result;   /* from cli_share, like the following pointers and each result's rank */
  sley_tiled_info *info;     /* information about A */
  char *device;              /* name of the device in use, SLEY_ERROR_BYTES */
  char *transport;           /* name of the transport in use, SLEY_ERROR_BYTES */
  char *note;                /* how the device differs from the requested one, as sley_comm_device_note */
  bool *told;                /* true: the error has already been printed */
} cli_tile_bench;

/* Divides the matrices, multiplies, checks and reports, as the common options say. Returns the exit code. */
int cli_tile_measure(cli_tile_bench *bench, const cli_common *common);

/* Reports options of products in tiles that were given to a run without tiles. */
void cli_tile_idle(const char *command);

/* Runs the ranks and fills the results. Errors: the library's errors; SLEY_ERR_ARG, already printed, if ranks
 * under a launcher were started with different options. */
sley_status cli_tile_run(cli_tile_bench *bench);

/* Defined in report.c. */
void cli_tile_print(const cli_tile_bench *bench, FILE *stream);
bool cli_tile_json(const cli_tile_bench *bench, const char *path);
/* Draws Y = A X to bench->plot: times and bytes of several algorithms, or the time of each rank in one. */
bool cli_tile_plot(const cli_tile_bench *bench);

/* Returns true if the counted traffic equals the predicted traffic, or if some traffic cannot be predicted:
 * stolen work, and products of two sparse tiles that are sent to other ranks. */
bool cli_tile_as_predicted(const cli_tile_bench *bench, const cli_tile_result *result);

#endif

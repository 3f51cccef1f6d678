/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of `sley gnn bench`: steps of training of several models, timed whole and by what they do. */
#ifndef SLEY_CLI_GNN_BENCH_H
#define SLEY_CLI_GNN_BENCH_H

#include "gnn/data.h"
#include "output/times.h"

/* Kinds of work, in the order of sley_gnn_times. */
typedef enum cli_gnn_work {
  CLI_GNN_EXCHANGE,
  CLI_GNN_SPMM,
  CLI_GNN_ATTENTION,
  CLI_GNN_GEMM,
  CLI_GNN_LOSS,
  CLI_GNN_OPTIMIZER,
  CLI_GNN_OTHER,
  CLI_GNN_WORKS
} cli_gnn_work;

/* Over the steps; of each step the mean of the ranks, but for `slowest`. */
typedef struct cli_gnn_work_times {
  cli_times forward, backward, both;
  double slowest; /* median of both halves together, of the rank that spent most in each step */
} cli_gnn_work_times;

typedef struct cli_gnn_case {
  sley_gnn_model model;
  cli_times step;  /* not split: from the ranks' start together to the end of the slowest */
  cli_times split; /* of other steps, which were split */
  cli_gnn_work_times work[CLI_GNN_WORKS];
} cli_gnn_case;

/* What rank 0 tells, from a process of its own where ranks are processes. */
typedef struct cli_gnn_bench_result {
  char found[256]; /* the device */
  char transport[32];
  int cases;
  cli_gnn_case at[]; /* one for each model */
} cli_gnn_bench_result;

typedef struct cli_gnn_bench {
  const cli_gnn_data *data;
  sley_rank_options ranks;
  sley_gnn_options *model; /* so many of them: */
  int models;
  double rate, decay;
  sley_gnn_optimizer optimizer;
  int64_t repeat, warmup; /* steps of each model: timed, of which there are as many split ones; and before */
  bool tells;             /* progress */
  cli_gnn_bench_result *result; /* from cli_share, as: */
  sley_gnn_bytes *bytes;        /* of each model in turn, and each rank */
} cli_gnn_bench;

/* Fills the result. Errors: the library's. */
sley_status cli_gnn_bench_run(cli_gnn_bench *bench);

#endif

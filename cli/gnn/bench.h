/* SPDX-License-Identifier: Apache-2.0 */
/* Types of `sley gnn bench`, which times steps of training of several models, as a whole and by kind of work,
 * and the function that runs its ranks. */
#ifndef SLEY_CLI_GNN_BENCH_H
#define SLEY_CLI_GNN_BENCH_H

#include "gnn/order.h"
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

/* Times of one kind of work over the steps. Each step counts the mean of the ranks, except in `slowest`. */
typedef struct cli_gnn_work_times {
  cli_times forward, backward, both;
  double slowest; /* median over the steps of the time of forward plus backward on the rank that needed most
                     time */
} cli_gnn_work_times;

typedef struct cli_gnn_case {
  sley_gnn_model model;
  cli_times step;  /* steps timed as a whole: from the common start to the end of the slowest rank */
  cli_times split; /* sums over the kinds of work of other steps, which were timed by kind */
  cli_gnn_work_times work[CLI_GNN_WORKS];
} cli_gnn_case;

/* The results that rank 0 reports. They are in shared memory, because rank 0 may be another process. */
typedef struct cli_gnn_bench_result {
  char found[256]; /* name of the device in use */
  char transport[32];
  cli_gnn_chosen order;
  int cases;
  cli_gnn_case at[]; /* one element per model */
} cli_gnn_bench_result;

typedef struct cli_gnn_bench {
  cli_gnn_data *data; /* its graph is moved to the layouts */
  const char *order;  /* one of sley_orders(), or CLI_GNN_AUTO */
  int64_t seed;       /* seed of orders */
  cli_gnn_layouts layouts;
  sley_rank_options ranks;
  sley_gnn_options *model; /* `models` elements */
  int models;
  double rate, decay;
  sley_gnn_optimizer optimizer;
  int64_t repeat, warmup; /* per model: repeat steps timed as a whole and as many timed by kind, after warmup
                             untimed steps */
  bool tells;             /* true: this process reports progress */
  cli_gnn_bench_result *result; /* from cli_share, as is bytes */
  sley_gnn_bytes *bytes;        /* memory of each model on each rank, ranks.ranks elements per model */
} cli_gnn_bench;

/* Runs the ranks and fills the result and the layouts, which the caller frees. Errors: the library's errors.
 */
sley_status cli_gnn_bench_run(cli_gnn_bench *bench);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Types and functions shared by the files of `sley bench ops`: an operation, the arrays that it reads and
 * writes, a case of it on one rank, and its result. */
#ifndef SLEY_CLI_BENCH_OPS_H
#define SLEY_CLI_BENCH_OPS_H

#include "output/times.h"
#include "sley.h"

enum { CLI_OPS_NAME = 256, CLI_OPS_PASSES = 2 };

/* The arrays of an operation. */
typedef enum cli_op_array {
  CLI_OP_SOURCE, /* rows divided like the columns of A: X, V, sources of attention */
  CLI_OP_QUERY,  /* rows divided like the rows of A: U, queries */
  CLI_OP_VAL,    /* heads values per entry: values, or scores of the softmax */
  CLI_OP_A,      /* heads x width values: the vector a of GATv2 */
  CLI_OP_OUT,    /* the result: rows, or heads values per entry */
  CLI_OP_ARG,    /* int32: the chosen entries of min and max */
  CLI_OP_SAVED,  /* bytes that attention saves for its backward pass */
  CLI_OP_D_OUT,  /* gradients, in the shapes of the arrays above */
  CLI_OP_D_SOURCE,
  CLI_OP_D_QUERY,
  CLI_OP_D_VAL,
  CLI_OP_D_A, /* in the data type of sums */
  CLI_OP_ARRAYS
} cli_op_array;

typedef enum cli_pass { CLI_FORWARD = 0, CLI_BACKWARD = 1 } cli_pass;

/* A rank's part of an array, rows [first, first + count) of the whole. Rows are contiguous, except in SOURCE
 * and D_SOURCE (cli_op_case.source_ld). */
typedef struct cli_op_data {
  int64_t first, count, cols, total; /* cols: values per row; total: rows of the whole array */
  int64_t bytes;                     /* bytes of this rank's rows */
  size_t value;                      /* bytes per value */
  void *host, *here; /* in host memory and in device memory; on the CPU the same pointer; NULL: the operation
                        has no such array */
} cli_op_data;

/* The form of an operation's result, by which the check computes its float64 sums. */
typedef enum cli_op_form {
  CLI_OP_SUMS,     /* each row is a sum over the row's entries: aggregation, the product */
  CLI_OP_PRODUCTS, /* one value per entry and head: SDDMM */
  CLI_OP_SOFTMAX,  /* one value per entry and head, from other such values; no width */
  CLI_OP_ATTENTION
} cli_op_form;

struct cli_op_case;

/* An operation. reads and writes: the sets of arrays (bits 1 << cli_op_array) of a forward and a backward
 * call. */
typedef struct cli_op {
  const char *name;
  cli_op_form form;
  int kind; /* the library's constant for the operation, such as SLEY_AGGREGATE_SUM or SLEY_ATTENTION_GAT */
  bool by_heads; /* true: measured with each number of heads; false: with one head */
  unsigned reads[CLI_OPS_PASSES], writes[CLI_OPS_PASSES];
  sley_status (*create)(struct cli_op_case *c);               /* sets the widths of SOURCE, QUERY and SAVED */
  sley_status (*call[CLI_OPS_PASSES])(struct cli_op_case *c); /* NULL: no such pass */
  void (*destroy)(struct cli_op_case *c);                     /* accepts a case whose create has failed */
} cli_op;

/* The sparse product, and the table of the other operations with its length. */
extern const cli_op cli_op_product;
extern const cli_op cli_ops[];
int cli_ops_count(void);

/* Returns true if the array has heads values per entry of A, false if it has dense rows. */
bool cli_op_of_entries(const cli_op *op, cli_op_array array);

/* An operation on one rank. */
typedef struct cli_op_case {
  const cli_op *op;
  sley_comm *comm;
  sley_graph *graph;
  const sley_matrix *matrix; /* the whole matrix */
  sley_csr csr;              /* arrays of the whole matrix */
  const int64_t *row_begin, *col_begin;
  int64_t heads, width;
  sley_dtype dtype;
  uint64_t seed;
  sley_fetched fetched;  /* halo rows that the operation keeps from forward to backward */
  int64_t fetched_width; /* values per kept row; 0: the operation keeps none */
  int64_t source_width, query_width, saved_bytes;
  int64_t source_ld; /* leading dimension of SOURCE, in values */
  sley_plan *plan;   /* set for the product; other operations set one of the next three */
  sley_aggregation *aggregation;
  sley_sddmm *sddmm;
  sley_attention *attention;
  cli_op_data data[CLI_OP_ARRAYS];
} cli_op_case;

/* The factor of scores: for DOT 1 / sqrt(width), else the slope of the leaky ReLU below 0. */
double cli_op_slope(const cli_op *op, int64_t width);

/* The result of one operation on one matrix. */
typedef struct cli_op_result {
  char matrix[CLI_OPS_NAME];
  int64_t rows, cols, nnz, k, heads; /* k: heads x width; 0 for the softmax */
  const cli_op *op;
  sley_status status; /* the library's error; if not SLEY_OK, reason has its message and there are no times */
  bool wrong;         /* a result was wrong; reason names the value, and there are no times */
  char reason[SLEY_ERROR_BYTES];
  cli_times time[CLI_OPS_PASSES], spmm; /* ms of a call on the slowest rank */
  int64_t bytes[CLI_OPS_PASSES];        /* least bytes that a pass reads and writes, over all ranks */
  int64_t checked[CLI_OPS_PASSES];      /* values compared with float64 sums, over all ranks */
} cli_op_result;

/* Settings shared by all cases. */
typedef struct cli_ops_bench {
  const char *device; /* the requested device */
  char found[32];     /* the device in use */
  int threads, ranks;
  sley_dtype dtype;
  uint64_t seed;
  int64_t repeat;
  bool alone; /* do not measure the product too */
} cli_ops_bench;

/* Finds the device in use, for reports. Errors: see sley_run_ranks. */
sley_status cli_ops_find_device(cli_ops_bench *bench);

/* Measures one operation on newly started ranks, so that a failure does not affect other operations. Fills in
 * *out, also if the library refuses the operation. Returns SLEY_OK or SLEY_ERR_INTERRUPTED. */
sley_status cli_op_run(cli_ops_bench *bench, const cli_op *op, const sley_matrix *matrix, const char *name,
                       int64_t k, int64_t heads, cli_op_result *out);

#endif

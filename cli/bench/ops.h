/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `sley bench ops` share: an operation, the arrays that it reads and writes, a case of it
 * on one rank, and what was found. */
#ifndef SLEY_CLI_BENCH_OPS_H
#define SLEY_CLI_BENCH_OPS_H

#include "bench/mkl.h"
#include "sley.h"

enum { CLI_OPS_NAME = 256, CLI_OPS_PASSES = 2 };

/* Arrays of an operation. */
typedef enum cli_op_array {
  CLI_OP_SOURCE,   /* rows as the columns are divided: X, V, sources of attention */
  CLI_OP_QUERY,    /* rows as the rows are: U, queries */
  CLI_OP_VAL,      /* heads values for each entry: values, or scores of the softmax */
  CLI_OP_A,        /* heads x width values, of GATv2 */
  CLI_OP_OUT,      /* the result: rows, or heads values for each entry */
  CLI_OP_ARG,      /* int32, of min and max */
  CLI_OP_SAVED,    /* bytes, of attention */
  CLI_OP_D_OUT,    /* gradients, of the same shapes */
  CLI_OP_D_SOURCE, /* */
  CLI_OP_D_QUERY,
  CLI_OP_D_VAL,
  CLI_OP_D_A, /* in the type of sums */
  CLI_OP_ARRAYS
} cli_op_array;

typedef enum cli_pass { CLI_FORWARD = 0, CLI_BACKWARD = 1 } cli_pass;

/* A rank's part of an array, without gaps but in
 * SOURCE: rows [first, first + count) of the whole. */
typedef struct cli_op_data {
  int64_t first, count, cols, total; /* total: rows of the whole array */
  int64_t bytes;                     /* of this rank's rows */
  size_t value;                      /* bytes of a value */
  void *host, *here; /* in the device's memory, on the CPU the same; NULL: the operation has none */
} cli_op_data;

/* What an operation computes, by which its float64 sums are made. */
typedef enum cli_op_form {
  CLI_OP_SUMS,     /* rows of the terms of a row's entries: aggregation, the product */
  CLI_OP_PRODUCTS, /* SDDMM: values of entries */
  CLI_OP_SOFTMAX,  /* values of entries, of others; it has no width */
  CLI_OP_ATTENTION
} cli_op_form;

struct cli_op_case;

/* An operation. reads, writes: sets of arrays, 1 << cli_op_array, of a forward and a backward call. */
typedef struct cli_op {
  const char *name;
  cli_op_form form;
  int kind;      /* of the library's operation: the sum's, mean's ..., GAT's ... */
  bool by_heads; /* measured with each number of heads, else with one */
  unsigned reads[CLI_OPS_PASSES], writes[CLI_OPS_PASSES];
  sley_status (*create)(struct cli_op_case *c); /* fills in the widths of SOURCE and QUERY, and SAVED's */
  sley_status (*call[CLI_OPS_PASSES])(struct cli_op_case *c); /* NULL: there is no such pass */
  void (*destroy)(struct cli_op_case *c);                     /* accepts a case whose create has failed */
} cli_op;

/* The product, and all operations, and how many there are. */
extern const cli_op cli_op_product;
extern const cli_op cli_ops[];
int cli_ops_count(void);

/* Whether an array has values of entries, else rows. */
bool cli_op_of_entries(const cli_op *op, cli_op_array array);

/* An operation on one rank. */
typedef struct cli_op_case {
  const cli_op *op;
  sley_comm *comm;
  sley_graph *graph;
  const sley_matrix *matrix; /* whole */
  sley_csr csr;              /* of it */
  const int64_t *row_begin, *col_begin;
  int64_t heads, width;
  sley_dtype dtype;
  uint64_t seed;
  sley_fetched fetched;  /* rows of other ranks */
  int64_t fetched_width; /* values of such a row; 0: the operation does not keep them */
  int64_t source_width, query_width, saved_bytes;
  int64_t source_ld; /* values from one row of SOURCE to the next */
  sley_plan *plan;   /* of the product; else one of these */
  sley_aggregation *aggregation;
  sley_sddmm *sddmm;
  sley_attention *attention;
  cli_op_data data[CLI_OP_ARRAYS];
} cli_op_case;

/* The factor of scores: of DOT 1 / sqrt(width), else how steep a leaky ReLU is below 0. */
double cli_op_slope(const cli_op *op, int64_t width);

/* Times of one pass of an operation on a matrix, of the slowest rank each. */
typedef struct cli_op_time {
  int64_t turns;
  double median_ms, p10_ms, p90_ms;
} cli_op_time;

/* What was found of an operation. */
typedef struct cli_op_result {
  char matrix[CLI_OPS_NAME];
  int64_t rows, cols, nnz, k, heads; /* k: heads x width; 0: of the softmax */
  const cli_op *op;
  sley_status status; /* that the library refuses it with: reason says why, and there are no times */
  bool wrong;         /* a result was: reason says which, and there are no times */
  char reason[SLEY_ERROR_BYTES];
  cli_op_time time[CLI_OPS_PASSES], spmm, mkl; /* no turns: there is none. mkl: beside the product */
  int64_t bytes[CLI_OPS_PASSES];               /* that a pass must move at least, over all ranks */
  int64_t checked[CLI_OPS_PASSES]; /* values that were compared with float64 sums, over all ranks */
} cli_op_result;

/* What all cases share. */
typedef struct cli_ops_bench {
  const char *device; /* as asked for */
  char found[32];     /* that runs */
  int threads, ranks;
  sley_dtype dtype;
  uint64_t seed;
  int64_t repeat;
  bool alone;         /* no product beside the operations */
  const cli_mkl *mkl; /* NULL: no_mkl says why */
  const char *no_mkl;
} cli_ops_bench;

/* Finds the device that runs, for reports. Errors: as sley_run_ranks. */
sley_status cli_ops_find_device(cli_ops_bench *bench);

/* Runs one operation on ranks of its own, so that one that fails ends no other, and fills in *out, also where
 * the library refuses it. SLEY_OK, or SLEY_ERR_INTERRUPTED. */
sley_status cli_op_run(cli_ops_bench *bench, const cli_op *op, const sley_matrix *matrix, const char *name,
                       int64_t k, int64_t heads, cli_op_result *out);

#endif

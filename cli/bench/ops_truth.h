/* SPDX-License-Identifier: Apache-2.0 */
/* Single rows of the results of `sley bench ops`, in float64 sums of their definitions in sley_graph.h.
 * Operands are random numbers that depend on their place alone, so each rank makes those of any row anew. */
#ifndef SLEY_CLI_BENCH_OPS_TRUTH_H
#define SLEY_CLI_BENCH_OPS_TRUTH_H

#include "bench/ops.h"

/* Values of a row of a result, or of its entries. */
typedef struct cli_op_sums {
  double *value;
  double *size;         /* beside each: the same sum of absolute values, by which errors are judged */
  int64_t count, terms; /* values; roundings that a value has gone through, about */
} cli_op_sums;

/* An entry of the matrix. */
typedef struct cli_op_entry {
  int64_t row, place; /* place: in its row, from 0 */
} cli_op_entry;

/* The operands of a row, and what its entries' scores make of them. */
typedef struct cli_op_row {
  int64_t row, begin, length; /* row -1: none is loaded. begin: its first entry */
  double *source;             /* length x source_width */
  double *val;                /* length x heads */
  double *query, *d_out;      /* query_width; a row of D_OUT, or length x heads of it */
  double *weight;             /* length x heads: of the softmax */
  double *d_score, *d_size;   /* the gradients of scores, and their magnitudes */
  double *score_size;         /* heads: the greatest magnitude of a score */
  int32_t *arg;               /* of min and max, for each feature */
} cli_op_row;

typedef struct cli_op_truth {
  const cli_op_case *c;
  cli_op_row at;
  double *a;
  void *raw; /* values as the library has them */
  cli_op_sums out;
} cli_op_truth;

/* Ended by cli_op_truth_free, also after an error. Errors: SLEY_ERR_MEMORY. */
sley_status cli_op_truth_make(const cli_op_case *c, cli_op_truth *out);
void cli_op_truth_free(cli_op_truth *t);

/* Whether a row with so many entries is short enough to be looked at. */
bool cli_op_truth_takes(const cli_op_truth *t, int64_t length);

/* The array's values of row i: a row of OUT or D_QUERY, or, in the order of the entries, values of OUT or
 * D_VAL. Valid until the next call. The softmax' gradient is that of the weights which the rank has in OUT,
 * so i is one of its rows. */
sley_status cli_op_truth_row(cli_op_truth *t, cli_op_array array, int64_t i, const cli_op_sums **out);

/* The row of D_SOURCE whose column has these entries. */
sley_status cli_op_truth_column(cli_op_truth *t, const cli_op_entry *entry, int64_t count,
                                const cli_op_sums **out);

/* The gradient of GATv2's vector by the rank's rows [begin, end), all of which are looked at. */
sley_status cli_op_truth_vector(cli_op_truth *t, int64_t begin, int64_t end, const cli_op_sums **out);

/* ---- between bench_ops_truth.c and bench_ops_scores.c */

/* Weights of a row's entries by attention, and, if gradient, the gradients of their scores. */
void cli_op_scores(cli_op_truth *t, bool gradient);

/* Adds what entry e of the loaded row gives to the row of D_QUERY, to the row of D_SOURCE, and to the
 * gradient of GATv2's vector. */
void cli_op_scores_query(cli_op_truth *t, int64_t e);
void cli_op_scores_vector(cli_op_truth *t, int64_t e);
void cli_op_scores_source(cli_op_truth *t, int64_t e);

/* Adds a term to value i. */
static inline void cli_op_add(cli_op_sums *sums, int64_t i, double term, double size) {
  sums->value[i] += term;
  sums->size[i] += size;
}

#endif

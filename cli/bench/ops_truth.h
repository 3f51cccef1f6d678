/* SPDX-License-Identifier: Apache-2.0 */
/* Single rows of the results of `sley bench ops`, as float64 sums of the definitions in sley_graph.h.
 * Operands are random numbers that depend only on their position, so each rank can compute any row of them.
 */
#ifndef SLEY_CLI_BENCH_OPS_TRUTH_H
#define SLEY_CLI_BENCH_OPS_TRUTH_H

#include "bench/ops.h"

/* The values of a row of a result, or of the entries of a row. */
typedef struct cli_op_sums {
  double *value;
  double *size; /* for each value the sum of the absolute values of its terms, which bounds the error */
  int64_t count, terms; /* count: number of values; terms: approximate number of roundings per value */
} cli_op_sums;

/* An entry of the matrix. */
typedef struct cli_op_entry {
  int64_t row, place; /* place: position in its row, from 0 */
} cli_op_entry;

/* The operands of a loaded row, and the weights and gradients computed from the scores of its entries. */
typedef struct cli_op_row {
  int64_t row, begin, length; /* row: number of the row, -1 if none is loaded; begin: index of its first entry
                                 in A */
  double *source;             /* length x source_width */
  double *val;                /* length x heads */
  double *query, *d_out;      /* query: query_width values; d_out: a row of D_OUT, or length x heads values */
  double *weight;             /* weights of the softmax, length x heads */
  double *d_score, *d_size;   /* length x heads: gradients of scores, and bounds of their magnitudes */
  double *score_size;         /* the largest magnitude of a score, for each head */
  int32_t *arg;               /* chosen entry of each feature, for min and max */
} cli_op_row;

typedef struct cli_op_truth {
  const cli_op_case *c;
  cli_op_row at;
  double *a;
  void *raw; /* buffer for values in the library's data type */
  cli_op_sums out;
} cli_op_truth;

/* Allocates the buffers. The caller calls cli_op_truth_free, also after an error. Errors: SLEY_ERR_MEMORY. */
sley_status cli_op_truth_make(const cli_op_case *c, cli_op_truth *out);
void cli_op_truth_free(cli_op_truth *t);

/* Returns true if a row with this many entries is short enough to be checked. */
bool cli_op_truth_takes(const cli_op_truth *t, int64_t length);

/* Computes the array's values of row i: a row of OUT or D_QUERY, or the values of OUT or D_VAL at its
 * entries, in their order. *out is valid until the next call. The gradient of the softmax uses the weights in
 * this rank's OUT, so i must be one of its rows. */
sley_status cli_op_truth_row(cli_op_truth *t, cli_op_array array, int64_t i, const cli_op_sums **out);

/* Computes the row of D_SOURCE of the column with these entries. */
sley_status cli_op_truth_column(cli_op_truth *t, const cli_op_entry *entry, int64_t count,
                                const cli_op_sums **out);

/* Computes the gradient of GATv2's vector from rows [begin, end) of the rank. All these rows must be short
 * enough to be checked. */
sley_status cli_op_truth_vector(cli_op_truth *t, int64_t begin, int64_t end, const cli_op_sums **out);

/* ---- called by ops_truth.c, defined in ops_scores.c */

/* Computes the attention weights of the loaded row's entries and, if gradient, the gradients of their scores.
 */
void cli_op_scores(cli_op_truth *t, bool gradient);

/* Add the terms of entry e of the loaded row to the row of D_QUERY, to the gradient of GATv2's vector, and to
 * the row of D_SOURCE. */
void cli_op_scores_query(cli_op_truth *t, int64_t e);
void cli_op_scores_vector(cli_op_truth *t, int64_t e);
void cli_op_scores_source(cli_op_truth *t, int64_t e);

/* Adds a term, and the bound of its magnitude, to value i. */
static inline void cli_op_add(cli_op_sums *sums, int64_t i, double term, double size) {
  sums->value[i] += term;
  sums->size[i] += size;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Random cases of attention, and what the definition makes of them in float64, written apart from the
 * library's kernels. */
#ifndef SLEY_TESTS_ATTENTION_CASE_H
#define SLEY_TESTS_ATTENTION_CASE_H

#include "kernels.h"

/* A pattern by rows, and the one by columns made from it. */
typedef struct drawn_pattern {
  int64_t rows, cols, entries;
  int64_t mean_entries; /* that patterns say, by which kernels cut rows; any number is right */
  int64_t *rowptr, *rowptr_t;
  int32_t *col, *col_t, *place_t;
  int32_t *long_row, *long_row_t; /* of both; NULL: patterns do not list them */
  int64_t long_rows, long_rows_t;
} drawn_pattern;

/* Of drawn sizes: at times no rows or columns; some rows are empty, one may have over a thousand entries, and
 * entries may repeat. Freed by pattern_free. */
drawn_pattern pattern_draw(void);
void pattern_free(drawn_pattern *p);

typedef struct attention_case {
  drawn_pattern pattern;
  sl_attention kind;
  sley_dtype dtype;
  sl_heads shape;
  int64_t features, q_width, k_width; /* values of a row of q and of k; k_width 0: there is no k */
  double slope;
  double *q, *k, *v, *a, *dy; /* dense, as rounded to dtype */
} attention_case;

/* Values of q and k are up to `size`; special: some are infinite or NaN. Freed by attention_free. */
attention_case attention_draw(sl_attention kind, sley_dtype dtype, sl_heads shape, double size, bool special);
void attention_free(attention_case *c);

/* Arrays of results; each value with the most by which a kernel's may differ from it. */
typedef struct bounded {
  double *value, *bound;
} bounded;

typedef struct attention_results {
  bounded y, side, greatest, total; /* side: rows of features + heads values */
  bounded delta, dq, da, dk, dv;    /* da: of features values */
} attention_results;

/* The definition of op_attention.h. y: what the gradients' D is made of; NULL: the result itself. Freed by
 * results_free. */
attention_results attention_oracle(const attention_case *c, const double *y);
void results_free(attention_results *r);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Random cases of attention, and an oracle that follows the definition in float64 and shares no code with the
 * library's kernels. */
#ifndef SLEY_TESTS_ATTENTION_CASE_H
#define SLEY_TESTS_ATTENTION_CASE_H

#include "kernels.h"

/* A pattern by rows, and the one by columns made from it. */
typedef struct drawn_pattern {
  int64_t rows, cols, entries;
  int64_t mean_entries; /* mean of sl_pattern, by which kernels divide rows; any value is valid */
  int64_t *rowptr, *rowptr_t;
  int32_t *col, *col_t, *place_t;
  int32_t *long_row, *long_row_t; /* long rows of both patterns; NULL: the patterns do not list them */
  int64_t long_rows, long_rows_t;
} drawn_pattern;

/* A pattern of random size, sometimes without rows or columns. Some rows are empty, one may have more than a
 * thousand entries, and entries may repeat. Freed by pattern_free. */
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

/* A random case. Values of q and k have magnitudes up to `size`; special: some are infinite or NaN. Freed by
 * attention_free. */
attention_case attention_draw(sl_attention kind, sley_dtype dtype, sl_heads shape, double size, bool special);
void attention_free(attention_case *c);

/* Arrays of expected values, and of the greatest error that a kernel may have for each value. */
typedef struct bounded {
  double *value, *bound;
} bounded;

typedef struct attention_results {
  bounded y, side, greatest, total; /* side has rows of features + heads values */
  bounded delta, dq, da, dk, dv;    /* da has `features` values */
} attention_results;

/* Results by the definition in op_attention.h. y: the forward result from which the gradients are computed;
 * NULL: the oracle's own. Freed by results_free. */
attention_results attention_oracle(const attention_case *c, const double *y);
void results_free(attention_results *r);

#endif

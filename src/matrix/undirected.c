/* SPDX-License-Identifier: Apache-2.0 */
/* The undirected graph of a square matrix: the rows of A and of A^T are merged, all rows in parallel. */
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"
#include "matrix/matrix.h"

enum { ROWS_AT_ONCE = 512 };

/* A merge of the rows of A and of its transpose. */
typedef struct merging {
  const sley_matrix *a, *transposed;
  sley_index index; /* type of the result's columns */
  sl_csr_arrays arrays;
} merging;

/* Entries of row i of a matrix from entry `at` on. */
typedef struct rest {
  const sley_matrix *of;
  int64_t at, end;
} rest;

static rest row_of(const sley_matrix *matrix, int64_t i) {
  return (rest){matrix, matrix->rowptr[i], matrix->rowptr[i + 1]};
}

static inline int64_t next_column(const rest *r) {
  return r->at < r->end ? sl_index_at(r->of->col, r->of->index, r->at) : INT64_MAX;
}

/* Moves beyond the entries in `column`. If sum is not NULL, adds the sum of their values to *sum and 1 to
 * *rows if there are any. */
static inline void take_column(rest *r, int64_t column, double *sum, int *rows) {
  double own = 0;
  if (next_column(r) != column)
    return;
  for (; next_column(r) == column; r->at++)
    if (sum)
      own += sl_value_at(r->of->val, r->of->dtype, r->at);
  if (sum)
    *sum += own;
  ++*rows;
}

static int64_t count_row(const merging *m, int64_t i) {
  rest own = row_of(m->a, i), other = row_of(m->transposed, i);
  int64_t count = 0;
  int rows = 0;
  while (own.at < own.end || other.at < other.end) {
    const int64_t c = next_column(&own), d = next_column(&other), column = c < d ? c : d;
    take_column(&own, column, NULL, &rows);
    take_column(&other, column, NULL, &rows);
    count++;
  }
  return count;
}

static void fill_row(const merging *m, int64_t i) {
  rest own = row_of(m->a, i), other = row_of(m->transposed, i);
  for (int64_t at = m->arrays.rowptr[i]; own.at < own.end || other.at < other.end; at++) {
    const int64_t c = next_column(&own), d = next_column(&other), column = c < d ? c : d;
    double sum = 0;
    int rows = 0;
    take_column(&own, column, m->arrays.val ? &sum : NULL, &rows);
    take_column(&other, column, m->arrays.val ? &sum : NULL, &rows);
    sl_index_set(m->arrays.col, m->index, at, column);
    if (m->arrays.val)
      sl_value_set(m->arrays.val, m->a->dtype, at, sum / rows);
  }
}

static sley_status count_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const merging *m = context;
  for (int64_t i = begin; i < end; i++)
    m->arrays.rowptr[i + 1] = count_row(m, i);
  return sl_interrupted();
}

static sley_status fill_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const merging *m = context;
  for (int64_t i = begin; i < end; i++)
    fill_row(m, i);
  return sl_interrupted();
}

static sley_status merge(merging *m, bool values, sl_team *team) {
  const int64_t rows = m->a->rows;
  sl_csr_arrays *to = &m->arrays;
  sl_team_begin_work(team, "merging rows", 2);
  SL_TRY(SL_NEW(to->rowptr, rows + 1, "row pointers"));
  to->rowptr[0] = 0;
  SL_TRY(sl_team_for(team, rows, ROWS_AT_ONCE, count_rows, m));
  sl_team_sum_up(team, to->rowptr + 1, rows);
  if (!(to->col = sl_alloc(to->rowptr[rows], sl_index_bytes(m->index), "columns")))
    return SLEY_ERR_MEMORY;
  if (values && !(to->val = sl_alloc(to->rowptr[rows], sley_dtype_bytes(m->a->dtype), "values")))
    return SLEY_ERR_MEMORY;
  return sl_team_for(team, rows, ROWS_AT_ONCE, fill_rows, m);
}

sley_status sl_csr_undirected(const sley_matrix *matrix, bool values, sl_team *team, sl_csr_arrays *out) {
  sley_matrix *transposed;
  *out = (sl_csr_arrays){0};
  SL_TRY(sl_matrix_transpose(matrix, team, &transposed));
  merging m = {.a = matrix, .transposed = transposed, .index = sl_index_for(matrix->cols)};
  const sley_status status = merge(&m, values, team);
  sl_matrix_destroy(transposed);
  if (status == SLEY_OK)
    *out = m.arrays;
  else
    sl_csr_arrays_free(&m.arrays);
  return status;
}

/* Copies the arrays of a matrix whose columns have the type of the result. */
static sley_status copy(const sley_matrix *a, sl_team *team, sl_csr_arrays *out) {
  const int64_t first = a->rowptr[0], col_bytes = (int64_t)sl_index_bytes(a->index),
                val_bytes = (int64_t)sley_dtype_bytes(a->dtype);
  SL_TRY(sl_csr_arrays_alloc(a->rows, a->nnz, a->index, a->dtype, out));
  for (int64_t i = 0; i <= a->rows; i++)
    out->rowptr[i] = a->rowptr[i] - first;
  if (a->nnz == 0)
    return SLEY_OK;
  sl_team_copy(team, out->col, (const char *)a->col + first * col_bytes, a->nnz * col_bytes);
  sl_team_copy(team, out->val, (const char *)a->val + first * val_bytes, a->nnz * val_bytes);
  return SLEY_OK;
}

/* Returns whether the matrix is its own undirected graph. */
static sley_status is_undirected(const sley_matrix *matrix, sl_team *team, bool *out) {
  sl_asymmetry a;
  sl_team_begin_work(team, "comparing with the transpose", 1);
  SL_TRY(sl_matrix_asymmetry(matrix, 0, true, team, &a));
  *out = !a.repeats && a.sum[0] == 0 && a.sum[1] == 0 && matrix->index == sl_index_for(matrix->cols);
  return SLEY_OK;
}

sley_status sl_matrix_undirected(const sley_matrix *matrix, sl_team *team, sley_matrix **out) {
  sl_csr_arrays arrays;
  *out = NULL;
  if (matrix->rows != matrix->cols)
    return sl_fail(SLEY_ERR_ARG, "the matrix of an undirected graph is square, not %lld x %lld",
                   (long long)matrix->rows, (long long)matrix->cols);
  bool already;
  SL_TRY(is_undirected(matrix, team, &already));
  SL_TRY(already ? copy(matrix, team, &arrays) : sl_csr_undirected(matrix, true, team, &arrays));
  return sl_matrix_adopt(matrix->rows, matrix->cols, sl_index_for(matrix->cols), matrix->dtype, arrays, -1,
                         out);
}

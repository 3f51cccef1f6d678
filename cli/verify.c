/* SPDX-License-Identifier: Apache-2.0 */
/* The check of a run. alpha A X + beta Y0 is the plain product [alpha A | beta I] [X; Y0], so the library's
 * check of plain products serves for all (for A^T X: the transpose of [alpha A; beta I]). */
#include <string.h>

#include "measure.h"
#include "terminal.h"

static sley_status check(const cli_operands *operands, const sley_matrix *matrix, bool transpose,
                         const void *x, cli_result *result) {
  cli_progress("verifying", 0, 0);
  sley_status status = sley_check_spmm(matrix, transpose, operands->k, x, operands->k, operands->y,
                                       operands->k, 0, &result->check);
  cli_progress_clear();
  result->verified = status == SLEY_OK;
  return status;
}

/* X above Y0. */
static sley_status stack(const cli_operands *operands, void **out) {
  size_t row = (size_t)operands->k * sley_dtype_bytes(operands->dtype);
  size_t x_bytes = (size_t)operands->x_rows * row, y_bytes = (size_t)operands->y_rows * row;
  sley_status status = sley_buffer_alloc((int64_t)(x_bytes + y_bytes), out);
  if (status != SLEY_OK)
    return status;
  memcpy(*out, operands->x, x_bytes);
  if (operands->y_start)
    memcpy((char *)*out + x_bytes, operands->y_start, y_bytes);
  else
    memset((char *)*out + x_bytes, 0, y_bytes);
  return SLEY_OK;
}

static void set_value(void *values, sley_dtype dtype, int64_t at, double value) {
  if (dtype == SLEY_F32)
    ((float *)values)[at] = (float)value;
  else
    ((double *)values)[at] = value;
}

static double get_value(const void *values, sley_dtype dtype, int64_t at) {
  return dtype == SLEY_F32 ? (double)((const float *)values)[at] : ((const double *)values)[at];
}

/* The check allows one rounding for every stored term. Three more happen here: of alpha, of beta, and of each
 * value of alpha A. Stored zeros make room for them. */
enum { ROUNDINGS = 3 };

/* Stores beta and the zeros at column col from at on; returns the next place. */
static int64_t put_beta(const sley_csr *a, double beta, int64_t at, int64_t *cols, void *val, int64_t col) {
  for (int i = 0; i <= ROUNDINGS; i++, at++) {
    cols[at] = col;
    set_value(val, a->dtype, at, i == 0 ? beta : 0);
  }
  return at;
}

/* Fills CSR arrays with alpha A and, beside it (or below it if transpose), beta I. */
static void fill(const sley_csr *a, const cli_measure *measure, int64_t *rowptr, int64_t *col, void *val) {
  int64_t at = 0;
  for (int64_t i = 0; i < a->rows; i++) {
    rowptr[i] = at;
    for (int64_t p = a->rowptr[i]; p < a->rowptr[i + 1]; p++, at++) {
      col[at] = a->index == SLEY_I32 ? ((const int32_t *)a->col)[p] : ((const int64_t *)a->col)[p];
      set_value(val, a->dtype, at, measure->alpha * get_value(a->val, a->dtype, p));
    }
    if (!measure->transpose)
      at = put_beta(a, measure->beta, at, col, val, a->cols + i);
  }
  int64_t below = measure->transpose ? a->cols : 0;
  for (int64_t j = 0; j < below; j++) {
    rowptr[a->rows + j] = at;
    at = put_beta(a, measure->beta, at, col, val, j);
  }
  rowptr[a->rows + below] = at;
}

static sley_status joined(const cli_job *job, const cli_operands *operands, const cli_measure *measure,
                          sley_matrix **out) {
  sley_csr a;
  sley_status status = sley_matrix_csr(job->matrix, &a);
  if (status != SLEY_OK)
    return status;
  int64_t entries = job->info.nnz + operands->y_rows * (1 + ROUNDINGS);
  int64_t rows = a.rows + (measure->transpose ? a.cols : 0);
  void *rowptr = NULL, *col = NULL, *val = NULL;
  status = sley_buffer_alloc((rows + 1) * (int64_t)sizeof(int64_t), &rowptr);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(entries * (int64_t)sizeof(int64_t), &col);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(entries * (int64_t)sley_dtype_bytes(a.dtype), &val);
  if (status == SLEY_OK) {
    fill(&a, measure, rowptr, col, val);
    sley_csr csr = {.rows = rows,
                    .cols = a.cols + (measure->transpose ? 0 : a.rows),
                    .rowptr = rowptr,
                    .col = col,
                    .val = val,
                    .index = SLEY_I64,
                    .dtype = a.dtype};
    status = sley_matrix_from_csr(&csr, SLEY_COPY, out);
  }
  sley_buffer_free(rowptr);
  sley_buffer_free(col);
  sley_buffer_free(val);
  return status;
}

sley_status cli_measure_verify(const cli_job *job, const cli_operands *operands, const cli_measure *measure,
                               cli_result *result) {
  if (measure->alpha == 1 && measure->beta == 0)
    return check(operands, job->matrix, measure->transpose, operands->x, result);
  sley_matrix *matrix = NULL;
  void *x = NULL;
  sley_status status = joined(job, operands, measure, &matrix);
  if (status == SLEY_OK)
    status = stack(operands, &x);
  if (status == SLEY_OK)
    status = check(operands, matrix, measure->transpose, x, result);
  sley_buffer_free(x);
  sley_matrix_destroy(matrix);
  return status;
}

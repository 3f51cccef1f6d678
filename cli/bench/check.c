/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/check.h"

#include <string.h>

enum {
  TERMS = 200000000
}; /* most products of entries and columns that are compared, without the longest row */

/* Arrays of the sampled rows. */
typedef struct arrays {
  void *rowptr, *col, *val, *row;
} arrays;

static void free_arrays(arrays *a) {
  sley_buffer_free(a->rowptr);
  sley_buffer_free(a->col);
  sley_buffer_free(a->val);
  sley_buffer_free(a->row);
}

static int64_t longest_row(const sley_csr *csr) {
  int64_t longest = 0;
  for (int64_t i = 1; i < csr->rows; i++)
    if (csr->rowptr[i + 1] - csr->rowptr[i] > csr->rowptr[longest + 1] - csr->rowptr[longest])
      longest = i;
  return longest;
}

/* Lists every step-th row and the longest row. Returns the number of their entries. */
static int64_t list_rows(const sley_csr *csr, int64_t step, int64_t *row, int64_t *count) {
  int64_t longest = longest_row(csr), entries = 0;
  *count = 0;
  for (int64_t i = 0; i < csr->rows; i++)
    if (i % step == 0 || i == longest) {
      row[(*count)++] = i;
      entries += csr->rowptr[i + 1] - csr->rowptr[i];
    }
  return entries;
}

static void copy_rows(const sley_csr *csr, const int64_t *row, int64_t count, arrays *a) {
  size_t index_bytes = csr->index == SLEY_I64 ? sizeof(int64_t) : sizeof(int32_t);
  size_t value_bytes = sley_dtype_bytes(csr->dtype), at = 0;
  int64_t *rowptr = a->rowptr;
  rowptr[0] = 0;
  for (int64_t i = 0; i < count; i++) {
    size_t from = (size_t)csr->rowptr[row[i]], entries = (size_t)csr->rowptr[row[i] + 1] - from;
    memcpy((char *)a->col + at * index_bytes, (const char *)csr->col + from * index_bytes,
           entries * index_bytes);
    memcpy((char *)a->val + at * value_bytes, (const char *)csr->val + from * value_bytes,
           entries * value_bytes);
    at += entries;
    rowptr[i + 1] = (int64_t)at;
  }
}

static sley_status take_rows(const sley_csr *csr, int64_t step, arrays *a, cli_sample *out) {
  int64_t index_bytes = csr->index == SLEY_I64 ? 8 : 4, value_bytes = (int64_t)sley_dtype_bytes(csr->dtype);
  sley_status status = sley_buffer_alloc((csr->rows / step + 2) * 8, &a->row);
  if (status != SLEY_OK)
    return status;
  int64_t entries = list_rows(csr, step, a->row, &out->rows);
  status = sley_buffer_alloc((out->rows + 1) * 8, &a->rowptr);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(entries * index_bytes, &a->col);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(entries * value_bytes, &a->val);
  if (status != SLEY_OK)
    return status;
  copy_rows(csr, a->row, out->rows, a);
  sley_csr rows = *csr;
  rows.rows = out->rows;
  rows.rowptr = a->rowptr;
  rows.rowptr32 = NULL;
  rows.col = a->col;
  rows.val = a->val;
  status = sley_matrix_from_csr(&rows, SLEY_COPY, &out->own);
  out->matrix = out->own;
  out->row = a->row;
  if (status == SLEY_OK)
    a->row = NULL;
  return status;
}

sley_status cli_sample_make(const sley_matrix *matrix, int64_t k, cli_sample *out) {
  sley_csr csr;
  sley_status status = sley_matrix_csr(matrix, &csr);
  *out = (cli_sample){.matrix = matrix};
  if (status != SLEY_OK)
    return status;
  out->rows = csr.rows;
  double terms = (double)csr.rowptr[csr.rows] * (double)k;
  if (terms <= TERMS || csr.rows < 2)
    return SLEY_OK;
  arrays a = {0};
  int64_t step = (int64_t)(terms / TERMS) + 1;
  status = take_rows(&csr, step, &a, out);
  free_arrays(&a);
  if (status != SLEY_OK)
    *out = (cli_sample){0};
  return status;
}

void cli_sample_free(cli_sample *sample) {
  sley_matrix_destroy(sample->own);
  sley_buffer_free(sample->row);
  *sample = (cli_sample){0};
}

sley_status cli_sample_check(const cli_sample *sample, int64_t k, sley_dtype dtype, const void *x,
                             const void *y, const sley_plan_info *info, int threads, sley_check *out) {
  if (!sample->row)
    return sley_check_wire(sample->matrix, false, k, 1, x, k, 0, NULL, 0, y, k, threads, info, out);
  void *rows;
  size_t bytes = (size_t)k * sley_dtype_bytes(dtype);
  sley_status status = sley_buffer_alloc(sample->rows * (int64_t)bytes, &rows);
  if (status != SLEY_OK)
    return status;
  for (int64_t i = 0; i < sample->rows; i++)
    memcpy((char *)rows + (size_t)i * bytes, (const char *)y + (size_t)sample->row[i] * bytes, bytes);
  status = sley_check_wire(sample->matrix, false, k, 1, x, k, 0, NULL, 0, rows, k, threads, info, out);
  out->row = status == SLEY_OK ? sample->row[out->row] : 0;
  sley_buffer_free(rows);
  return status;
}

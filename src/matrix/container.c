/* SPDX-License-Identifier: Apache-2.0 */
/* The CSR container: taking ownership of arrays, borrowing them, viewing rows of another matrix, and freeing
 * them. */
#include "matrix/matrix.h"

#include <string.h>

#include "base/memory.h"

static void release_arrays(sley_matrix *matrix) {
  sl_csr_arrays *arrays = matrix->storage;
  sl_csr_arrays_free(arrays);
  sl_free(arrays);
}

void sl_csr_arrays_free(sl_csr_arrays *arrays) {
  sl_free(arrays->val);
  sl_free(arrays->col);
  sl_free(arrays->rowptr);
  *arrays = (sl_csr_arrays){0};
}

sley_status sl_csr_arrays_alloc(int64_t rows, int64_t nnz, sley_index index, sley_dtype dtype,
                                sl_csr_arrays *out) {
  *out = (sl_csr_arrays){0};
  if (rows == INT64_MAX)
    return sl_fail(SLEY_ERR_OVERFLOW, "a matrix of %lld rows is too large", (long long)rows);
  out->rowptr = sl_alloc(rows + 1, sizeof *out->rowptr, "row pointers");
  if (out->rowptr)
    out->col = sl_alloc(nnz, sl_index_bytes(index), "columns");
  if (out->col)
    out->val = sl_alloc(nnz, sley_dtype_bytes(dtype), "values");
  if (out->val)
    return SLEY_OK;
  sl_csr_arrays_free(out);
  return SLEY_ERR_MEMORY;
}

int64_t sl_csr_bytes(int64_t rows, int64_t nnz, sley_index index, sley_dtype dtype) {
  return (rows + 1) * (int64_t)sizeof(int64_t) +
         nnz * (int64_t)(sl_index_bytes(index) + sley_dtype_bytes(dtype));
}

sley_status sl_matrix_adopt(int64_t rows, int64_t cols, sley_index index, sley_dtype dtype,
                            sl_csr_arrays arrays, int64_t entries_stored, sley_matrix **out) {
  *out = NULL;
  sley_matrix *matrix = sl_alloc_zero(1, sizeof *matrix, "a matrix");
  sl_csr_arrays *kept = matrix ? sl_alloc(1, sizeof *kept, "a matrix") : NULL;
  if (!kept) {
    sl_free(matrix);
    sl_csr_arrays_free(&arrays);
    return SLEY_ERR_MEMORY;
  }
  *kept = arrays;
  int64_t nnz = arrays.rowptr[rows] - arrays.rowptr[0];
  *matrix = (sley_matrix){
      .rows = rows,
      .cols = cols,
      .nnz = nnz,
      .entries_stored = entries_stored < 0 ? nnz : entries_stored,
      .dtype = dtype,
      .index = index,
      .rowptr = arrays.rowptr,
      .col = arrays.col,
      .val = arrays.val,
      .release = release_arrays,
      .storage = kept,
      .storage_bytes = sl_csr_bytes(rows, nnz, index, dtype),
  };
  *out = matrix;
  return SLEY_OK;
}

void sl_matrix_destroy(sley_matrix *matrix) {
  if (!matrix)
    return;
  if (matrix->forget)
    matrix->forget(matrix);
  if (matrix->release)
    matrix->release(matrix);
  sl_free(matrix);
}

sley_csr sl_matrix_csr(const sley_matrix *matrix) {
  return (sley_csr){.rows = matrix->rows,
                    .cols = matrix->cols,
                    .rowptr = matrix->rowptr,
                    .col = matrix->col,
                    .val = matrix->val,
                    .index = matrix->index,
                    .dtype = matrix->dtype};
}

int64_t sl_matrix_max_row(const sley_matrix *matrix) {
  int64_t most = 0;
  for (int64_t i = 0; i < matrix->rows; i++) {
    int64_t length = matrix->rowptr[i + 1] - matrix->rowptr[i];
    most = length > most ? length : most;
  }
  return most;
}

int64_t sl_csr_split(int64_t rows, const int64_t *rowptr, int part, int parts) {
  if (part <= 0)
    return 0;
  if (part >= parts)
    return rows;
  /* A row counts as one entry more than it has, so that empty rows are divided, too. */
  int64_t weight = rowptr[rows] - rowptr[0] + rows;
  int64_t target = weight / parts * part + weight % parts * part / parts;
  int64_t low = 0, high = rows;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (rowptr[middle] - rowptr[0] + middle < target)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Makes a matrix that owns no memory: its arrays belong to the caller or to another matrix. */
static sley_status make_view(const sley_csr *csr, sley_matrix **out) {
  sley_matrix *matrix = sl_alloc_zero(1, sizeof *matrix, "a matrix");
  *out = matrix;
  if (!matrix)
    return SLEY_ERR_MEMORY;
  int64_t nnz = csr->rowptr[csr->rows] - csr->rowptr[0];
  *matrix = (sley_matrix){.rows = csr->rows,
                          .cols = csr->cols,
                          .nnz = nnz,
                          .entries_stored = nnz,
                          .dtype = csr->dtype,
                          .index = csr->index,
                          .rowptr = csr->rowptr,
                          .col = csr->col,
                          .val = csr->val};
  return SLEY_OK;
}

sley_status sl_matrix_view(const sley_matrix *matrix, int64_t first, int64_t count, sley_matrix **out) {
  sley_csr rows = sl_matrix_csr(matrix);
  rows.rows = count;
  rows.rowptr += first;
  return make_view(&rows, out);
}

/* Copies the caller's arrays, with rowptr[0] = 0. */
static sley_status copy_arrays(const sley_csr *csr, sl_csr_arrays *out) {
  int64_t start = csr->rowptr[0], nnz = csr->rowptr[csr->rows] - start;
  size_t col_bytes = sl_index_bytes(csr->index), val_bytes = sley_dtype_bytes(csr->dtype);
  SL_TRY(sl_csr_arrays_alloc(csr->rows, nnz, csr->index, csr->dtype, out));
  for (int64_t i = 0; i <= csr->rows; i++)
    out->rowptr[i] = csr->rowptr[i] - start;
  if (nnz > 0) {
    memcpy(out->col, (const char *)csr->col + (size_t)start * col_bytes, (size_t)nnz * col_bytes);
    memcpy(out->val, (const char *)csr->val + (size_t)start * val_bytes, (size_t)nnz * val_bytes);
  }
  return SLEY_OK;
}

static sley_status from_wide(const sley_csr *csr, sley_ownership ownership, sl_team *team,
                             sley_matrix **out) {
  bool sorted;
  SL_TRY(sl_csr_validate(csr, team, &sorted));
  if (sorted && ownership == SLEY_BORROW)
    return make_view(csr, out);
  sl_csr_arrays arrays;
  SL_TRY(copy_arrays(csr, &arrays));
  if (!sorted) {
    sley_status status =
        sl_csr_sort_rows(csr->rows, arrays.rowptr, csr->index, arrays.col, csr->dtype, arrays.val, team);
    if (status != SLEY_OK) {
      sl_csr_arrays_free(&arrays);
      return status;
    }
  }
  return sl_matrix_adopt(csr->rows, csr->cols, csr->index, csr->dtype, arrays, -1, out);
}

/* Makes a view with borrowed columns and values the owner of its row pointers. */
static sley_status keep_pointers(sley_matrix *view, int64_t *rowptr) {
  sl_csr_arrays *kept = sl_alloc(1, sizeof *kept, "a matrix");
  if (!kept)
    return SLEY_ERR_MEMORY;
  *kept = (sl_csr_arrays){.rowptr = rowptr};
  view->storage = kept;
  view->storage_bytes = (view->rows + 1) * (int64_t)sizeof *rowptr;
  view->release = release_arrays;
  return SLEY_OK;
}

sley_status sl_csr_widen(const sley_csr *csr, int64_t **out) {
  if (csr->rows == INT64_MAX)
    return sl_fail(SLEY_ERR_OVERFLOW, "a matrix of %lld rows is too large", (long long)csr->rows);
  int64_t *rowptr = *out = sl_alloc(csr->rows + 1, sizeof *rowptr, "row pointers");
  if (!rowptr)
    return SLEY_ERR_MEMORY;
  for (int64_t i = 0; i <= csr->rows; i++)
    rowptr[i] = csr->rowptr32[i];
  return SLEY_OK;
}

sley_status sl_matrix_from_csr(const sley_csr *csr, sley_ownership ownership, sl_team *team,
                               sley_matrix **out) {
  *out = NULL;
  if (csr->rowptr)
    return from_wide(csr, ownership, team, out);
  int64_t *rowptr;
  SL_TRY(sl_csr_widen(csr, &rowptr));
  sley_csr wide = *csr;
  wide.rowptr = rowptr;
  wide.rowptr32 = NULL;
  sley_status status = from_wide(&wide, ownership, team, out);
  if (status == SLEY_OK && (*out)->rowptr == rowptr) { /* the arrays are borrowed */
    status = keep_pointers(*out, rowptr);
    if (status == SLEY_OK)
      return SLEY_OK;
    sl_matrix_destroy(*out);
    *out = NULL;
  }
  sl_free(rowptr);
  return status;
}

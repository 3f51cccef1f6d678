/* SPDX-License-Identifier: Apache-2.0 */
/* The transpose, by counting columns: chunks of rows place their entries in order, so the rows of the result
 * ascend without sorting. */
#include "base/interrupt.h"
#include "base/value.h"
#include "matrix/matrix.h"
#include "matrix/scatter.h"

typedef struct transposition {
  const sley_matrix *matrix;
  sley_index index; /* type of the result's columns, which are the matrix's rows */
  sl_scatter scatter;
  sl_csr_arrays arrays;
} transposition;

static sley_status count_columns(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  transposition *self = context;
  const sley_matrix *a = self->matrix;
  for (int64_t c = begin; c < end; c++) {
    int64_t *counts = self->scatter.next + (size_t)c * (size_t)a->cols;
    int64_t first = a->rowptr[sl_csr_split(a->rows, a->rowptr, (int)c, self->scatter.chunks)];
    int64_t last = a->rowptr[sl_csr_split(a->rows, a->rowptr, (int)c + 1, self->scatter.chunks)];
    if (a->index == SLEY_I32)
      for (int64_t e = first; e < last; e++)
        counts[((const int32_t *)a->col)[e]]++;
    else
      for (int64_t e = first; e < last; e++)
        counts[((const int64_t *)a->col)[e]]++;
  }
  return sl_interrupted();
}

/* One body for all types of index and value: the callers pass constants, which are folded in. Positions are
 * computed a batch at a time before anything is written to them, so that cache misses overlap. */
static inline __attribute__((always_inline)) void place_rows(const transposition *self, int64_t first_row,
                                                             int64_t last_row, int64_t *next, sley_index from,
                                                             sley_index to, sley_dtype dtype) {
  enum { BATCH = 64 };
  const sley_matrix *a = self->matrix;
  size_t col_bytes = sl_index_bytes(to), val_bytes = sley_dtype_bytes(dtype);
  char *cols = self->arrays.col, *vals = self->arrays.val;
  int64_t place[BATCH], row = first_row, end = a->rowptr[last_row];
  for (int64_t first = a->rowptr[first_row]; first < end; first += BATCH) {
    int64_t count = end - first < BATCH ? end - first : BATCH;
    for (int64_t i = 0; i < count; i++)
      __builtin_prefetch(&next[sl_index_at(a->col, from, first + i)], 1);
    for (int64_t i = 0; i < count; i++) {
      place[i] = next[sl_index_at(a->col, from, first + i)]++;
      __builtin_prefetch(cols + (size_t)place[i] * col_bytes, 1);
      __builtin_prefetch(vals + (size_t)place[i] * val_bytes, 1);
    }
    for (int64_t i = 0; i < count; i++) {
      while (a->rowptr[row + 1] <= first + i)
        row++;
      sl_index_set(cols, to, place[i], row);
      sl_value_copy(vals, place[i], a->val, first + i, dtype);
    }
  }
}

static sley_status place_chunks(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  transposition *self = context;
  const sley_matrix *a = self->matrix;
  for (int64_t c = begin; c < end; c++) {
    int64_t *next = self->scatter.next + (size_t)c * (size_t)a->cols;
    int64_t first = sl_csr_split(a->rows, a->rowptr, (int)c, self->scatter.chunks);
    int64_t last = sl_csr_split(a->rows, a->rowptr, (int)c + 1, self->scatter.chunks);
    if (a->index == SLEY_I32 && self->index == SLEY_I32 && a->dtype == SLEY_F32)
      place_rows(self, first, last, next, SLEY_I32, SLEY_I32, SLEY_F32);
    else if (a->index == SLEY_I32 && self->index == SLEY_I32 && a->dtype == SLEY_F64)
      place_rows(self, first, last, next, SLEY_I32, SLEY_I32, SLEY_F64);
    else
      place_rows(self, first, last, next, a->index, self->index, a->dtype);
  }
  return sl_interrupted();
}

sley_status sl_matrix_transpose(const sley_matrix *matrix, sl_team *team, sley_matrix **out) {
  *out = NULL;
  transposition self = {.matrix = matrix, .index = matrix->index};
  if (sl_index_for(matrix->rows) == SLEY_I64)
    self.index = SLEY_I64;
  sley_status status;
  SL_TRY(sl_csr_arrays_alloc(matrix->cols, matrix->nnz, self.index, matrix->dtype, &self.arrays));
  SL_TRY_GOTO(status, sl_scatter_begin(matrix->cols, matrix->nnz, team, &self.scatter), failed);
  SL_TRY_GOTO(status, sl_team_for(team, self.scatter.chunks, 1, count_columns, &self), failed);
  SL_TRY_GOTO(status, sl_scatter_place(&self.scatter, team, self.arrays.rowptr), failed);
  SL_TRY_GOTO(status, sl_team_for(team, self.scatter.chunks, 1, place_chunks, &self), failed);
  sl_scatter_end(&self.scatter);
  return sl_matrix_adopt(matrix->cols, matrix->rows, self.index, matrix->dtype, self.arrays,
                         matrix->entries_stored, out);
failed:
  sl_scatter_end(&self.scatter);
  sl_csr_arrays_free(&self.arrays);
  return status;
}

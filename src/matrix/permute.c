/* SPDX-License-Identifier: Apache-2.0 */
/* Renumbering rows and columns. */
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "matrix/matrix.h"

enum { ROWS_AT_ONCE = 4096 };

typedef struct renumbering {
  const sley_matrix *matrix;
  const int64_t *row_perm, *col_perm;
  sl_csr_arrays arrays;
} renumbering;

sley_status sl_permutation_check(const int64_t *perm, int64_t count, const char *what) {
  uint8_t *seen;
  SL_TRY(SL_NEW_ZERO(seen, count, "checking a permutation"));
  sley_status status = SLEY_OK;
  for (int64_t i = 0; i < count && status == SLEY_OK; i++) {
    if (perm[i] < 0 || perm[i] >= count)
      status = sl_fail(SLEY_ERR_ARG, "%s[%lld] is %lld: not within 0 .. %lld", what, (long long)i,
                       (long long)perm[i], (long long)count - 1);
    else if (seen[perm[i]]++)
      status =
          sl_fail(SLEY_ERR_ARG, "%s[%lld] is %lld, which stands at an earlier place too: not a permutation",
                  what, (long long)i, (long long)perm[i]);
  }
  sl_free(seen);
  return status;
}

static int64_t new_row(const renumbering *self, int64_t i) {
  return self->row_perm ? self->row_perm[i] : i;
}

/* Sets rowptr[i + 1] to the length of row i of the result. */
static sley_status measure_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const renumbering *self = context;
  const int64_t *rowptr = self->matrix->rowptr;
  for (int64_t i = begin; i < end; i++)
    self->arrays.rowptr[new_row(self, i) + 1] = rowptr[i + 1] - rowptr[i];
  return SLEY_OK;
}

static sley_status copy_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const renumbering *self = context;
  const sley_matrix *a = self->matrix;
  const sl_csr_arrays *out = &self->arrays;
  size_t col_bytes = sl_index_bytes(a->index), val_bytes = sley_dtype_bytes(a->dtype);
  SL_TRY(sl_interrupted());
  for (int64_t i = begin; i < end; i++) {
    int64_t from = a->rowptr[i], count = a->rowptr[i + 1] - from, to = out->rowptr[new_row(self, i)];
    if (count == 0)
      continue;
    memcpy((char *)out->val + (size_t)to * val_bytes, (const char *)a->val + (size_t)from * val_bytes,
           (size_t)count * val_bytes);
    if (!self->col_perm)
      memcpy((char *)out->col + (size_t)to * col_bytes, (const char *)a->col + (size_t)from * col_bytes,
             (size_t)count * col_bytes);
    else if (a->index == SLEY_I32)
      for (int64_t e = 0; e < count; e++)
        ((int32_t *)out->col)[to + e] = (int32_t)self->col_perm[((const int32_t *)a->col)[from + e]];
    else
      for (int64_t e = 0; e < count; e++)
        ((int64_t *)out->col)[to + e] = self->col_perm[((const int64_t *)a->col)[from + e]];
  }
  return SLEY_OK;
}

sley_status sl_matrix_permute(const sley_matrix *matrix, const int64_t *row_perm, const int64_t *col_perm,
                              sl_team *team, sley_matrix **out) {
  *out = NULL;
  renumbering self = {.matrix = matrix, .row_perm = row_perm, .col_perm = col_perm};
  sl_csr_arrays *arrays = &self.arrays;
  sley_status status;
  sl_team_begin_work(team, "permuting", 3);
  SL_TRY(sl_csr_arrays_alloc(matrix->rows, matrix->nnz, matrix->index, matrix->dtype, arrays));
  arrays->rowptr[0] = 0;
  SL_TRY_GOTO(status, sl_team_for(team, matrix->rows, ROWS_AT_ONCE, measure_rows, &self), failed);
  sl_team_sum_up(team, arrays->rowptr + 1, matrix->rows);
  SL_TRY_GOTO(status, sl_team_for(team, matrix->rows, ROWS_AT_ONCE, copy_rows, &self), failed);
  if (col_perm)
    SL_TRY_GOTO(status,
                sl_csr_sort_rows(matrix->rows, arrays->rowptr, matrix->index, arrays->col, matrix->dtype,
                                 arrays->val, team),
                failed);
  return sl_matrix_adopt(matrix->rows, matrix->cols, matrix->index, matrix->dtype, self.arrays,
                         matrix->entries_stored, out);
failed:
  sl_csr_arrays_free(arrays);
  return status;
}

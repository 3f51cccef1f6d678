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

/* Rows [*first, *last) of a chunk. */
static void rows_of(const transposition *self, int chunk, int64_t *first, int64_t *last) {
  const sley_matrix *a = self->matrix;
  *first = sl_csr_split(a->rows, a->rowptr, chunk, self->scatter.chunks);
  *last = sl_csr_split(a->rows, a->rowptr, chunk + 1, self->scatter.chunks);
}

/* First entry of row i whose column is at least `column`. Columns ascend in a row. */
static inline int64_t first_from(const sley_matrix *a, sley_index index, int64_t i, int64_t column) {
  int64_t low = a->rowptr[i], high = a->rowptr[i + 1];
  if (column == 0)
    return low;
  if (column >= a->cols)
    return high;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (sl_index_at(a->col, index, middle) < column)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static inline __attribute__((always_inline)) void count_some(const transposition *self,
                                                             const sl_scatter_task *task, sley_index index) {
  const sley_matrix *a = self->matrix;
  int64_t first, last;
  rows_of(self, task->chunk, &first, &last);
  if (self->scatter.ranges == 1) {
    for (int64_t e = a->rowptr[first]; e < a->rowptr[last]; e++)
      task->next[sl_index_at(a->col, index, e)]++;
    return;
  }
  for (int64_t i = first; i < last; i++) {
    int64_t end = first_from(a, index, i, task->row_end);
    for (int64_t e = first_from(a, index, i, task->row_begin); e < end; e++)
      task->next[sl_index_at(a->col, index, e)]++;
  }
}

static sley_status count_columns(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  transposition *self = context;
  for (int64_t t = begin; t < end; t++) {
    const sl_scatter_task task = sl_scatter_task_of(&self->scatter, t);
    if (self->matrix->index == SLEY_I32)
      count_some(self, &task, SLEY_I32);
    else
      count_some(self, &task, SLEY_I64);
  }
  return sl_interrupted();
}

enum { BATCH = 64 };

/* Entries that are placed together: positions are computed before anything is written to them, so that cache
 * misses overlap. */
typedef struct batch {
  int64_t count;
  int64_t entry[BATCH], row[BATCH];
} batch;

static inline __attribute__((always_inline)) void place_batch(const transposition *self, batch *b,
                                                              int64_t *next, sley_index from, sley_index to,
                                                              sley_dtype dtype) {
  const sley_matrix *a = self->matrix;
  const size_t col_bytes = sl_index_bytes(to), val_bytes = sley_dtype_bytes(dtype);
  char *cols = self->arrays.col, *vals = self->arrays.val;
  int64_t place[BATCH];
  for (int64_t i = 0; i < b->count; i++)
    __builtin_prefetch(&next[sl_index_at(a->col, from, b->entry[i])], 1);
  for (int64_t i = 0; i < b->count; i++) {
    place[i] = next[sl_index_at(a->col, from, b->entry[i])]++;
    __builtin_prefetch(cols + (size_t)place[i] * col_bytes, 1);
    __builtin_prefetch(vals + (size_t)place[i] * val_bytes, 1);
  }
  for (int64_t i = 0; i < b->count; i++) {
    sl_index_set(cols, to, place[i], b->row[i]);
    sl_value_copy(vals, place[i], a->val, b->entry[i], dtype);
  }
  b->count = 0;
}

/* One body for all types of index and value: the callers pass constants, which are folded in. */
static inline __attribute__((always_inline)) void place_some(const transposition *self,
                                                             const sl_scatter_task *task, sley_index from,
                                                             sley_index to, sley_dtype dtype) {
  const sley_matrix *a = self->matrix;
  batch b = {.count = 0};
  int64_t first, last;
  rows_of(self, task->chunk, &first, &last);
  for (int64_t i = first; i < last; i++) {
    int64_t end = first_from(a, from, i, task->row_end);
    for (int64_t e = first_from(a, from, i, task->row_begin); e < end; e++) {
      b.entry[b.count] = e;
      b.row[b.count++] = i;
      if (b.count == BATCH)
        place_batch(self, &b, task->next, from, to, dtype);
    }
  }
  place_batch(self, &b, task->next, from, to, dtype);
}

static sley_status place_tasks(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  transposition *self = context;
  const sley_matrix *a = self->matrix;
  for (int64_t t = begin; t < end; t++) {
    const sl_scatter_task task = sl_scatter_task_of(&self->scatter, t);
    if (a->index == SLEY_I32 && self->index == SLEY_I32 && a->dtype == SLEY_F32)
      place_some(self, &task, SLEY_I32, SLEY_I32, SLEY_F32);
    else if (a->index == SLEY_I32 && self->index == SLEY_I32 && a->dtype == SLEY_F64)
      place_some(self, &task, SLEY_I32, SLEY_I32, SLEY_F64);
    else
      place_some(self, &task, a->index, self->index, a->dtype);
  }
  return sl_interrupted();
}

static int64_t column_of(const void *context, int64_t entry) {
  const sley_matrix *a = context;
  return sl_index_at(a->col, a->index, a->rowptr[0] + entry);
}

sley_status sl_matrix_transpose(const sley_matrix *matrix, sl_team *team, sley_matrix **out) {
  *out = NULL;
  transposition self = {.matrix = matrix, .index = matrix->index};
  if (sl_index_for(matrix->rows) == SLEY_I64)
    self.index = SLEY_I64;
  sley_status status;
  sl_team_begin_work(team, "transposing", 5);
  SL_TRY(sl_csr_arrays_alloc(matrix->cols, matrix->nnz, self.index, matrix->dtype, &self.arrays));
  SL_TRY_GOTO(status, sl_scatter_begin(matrix->cols, matrix->nnz, column_of, matrix, team, &self.scatter),
              failed);
  SL_TRY_GOTO(status, sl_team_for(team, self.scatter.tasks, 1, count_columns, &self), failed);
  SL_TRY_GOTO(status, sl_scatter_place(&self.scatter, team, self.arrays.rowptr), failed);
  SL_TRY_GOTO(status, sl_team_for(team, self.scatter.tasks, 1, place_tasks, &self), failed);
  sl_scatter_end(&self.scatter);
  return sl_matrix_adopt(matrix->cols, matrix->rows, self.index, matrix->dtype, self.arrays,
                         matrix->entries_stored, out);
failed:
  sl_scatter_end(&self.scatter);
  sl_csr_arrays_free(&self.arrays);
  return status;
}

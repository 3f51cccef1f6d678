/* SPDX-License-Identifier: Apache-2.0 */
/* Triplets to CSR: count per row, place stably, sort each row, merge repeats. Besides the triplets and the
 * result it needs memory only for the counts. */
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"
#include "matrix/matrix.h"
#include "matrix/scatter.h"

typedef struct conversion {
  const sl_coo *coo;
  sl_symmetry symmetry;
  sl_scatter scatter;
  sl_csr_arrays arrays;
} conversion;

void sl_coo_free(sl_coo *coo) {
  sl_free(coo->row);
  sl_free(coo->col);
  sl_free(coo->val);
  coo->row = coo->col = coo->val = NULL;
  coo->count = 0;
}

static int64_t chunk_begin(const conversion *self, int64_t chunk) {
  int64_t count = self->coo->count, chunks = self->scatter.chunks;
  return count / chunks * chunk + count % chunks * chunk / chunks;
}

/* One body for both index types, and for one range of rows or several: the callers pass constants, which are
 * folded in. */
static inline __attribute__((always_inline)) void
count_entries(const conversion *self, const sl_scatter_task *task, sley_index index, bool ranges) {
  const sl_coo *coo = self->coo;
  const int64_t begin = chunk_begin(self, task->chunk), end = chunk_begin(self, task->chunk + 1);
  int64_t *counts = task->next;
  for (int64_t e = begin; e < end; e++) {
    int64_t row = sl_index_at(coo->row, index, e);
    if (!ranges || sl_scatter_takes(task, row))
      counts[row]++;
    if (self->symmetry == SL_GENERAL)
      continue;
    int64_t col = sl_index_at(coo->col, index, e);
    if (row != col && (!ranges || sl_scatter_takes(task, col)))
      counts[col]++;
  }
}

static sley_status count_tasks(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  conversion *self = context;
  for (int64_t t = begin; t < end; t++) {
    const sl_scatter_task task = sl_scatter_task_of(&self->scatter, t);
    if (self->scatter.ranges > 1)
      count_entries(self, &task, self->coo->index, true);
    else if (self->coo->index == SLEY_I32)
      count_entries(self, &task, SLEY_I32, false);
    else
      count_entries(self, &task, SLEY_I64, false);
  }
  return sl_interrupted();
}

static inline __attribute__((always_inline)) void put(const conversion *self, int64_t place, int64_t col,
                                                      double val, sley_index index, sley_dtype dtype) {
  sl_index_set(self->arrays.col, index, place, col);
  sl_value_set(self->arrays.val, dtype, place, val);
}

static inline __attribute__((always_inline)) double value_at(const sl_coo *coo, sley_dtype dtype, int64_t e) {
  return coo->val ? sl_value_at(coo->val, dtype, e) : 1.0;
}

enum { BATCH = 64 };

/* Entries that are placed together: positions are computed before anything is written to them, so that cache
 * misses overlap. */
typedef struct batch {
  int64_t count;
  int64_t row[BATCH], col[BATCH];
  double val[BATCH];
} batch;

static inline __attribute__((always_inline)) void place_batch(const conversion *self, batch *b, int64_t *next,
                                                              sley_index index, sley_dtype dtype) {
  const size_t col_bytes = sl_index_bytes(index), val_bytes = sley_dtype_bytes(dtype);
  char *cols = self->arrays.col, *vals = self->arrays.val;
  int64_t place[BATCH];
  for (int64_t i = 0; i < b->count; i++)
    __builtin_prefetch(&next[b->row[i]], 1);
  for (int64_t i = 0; i < b->count; i++) {
    place[i] = next[b->row[i]]++;
    __builtin_prefetch(cols + (size_t)place[i] * col_bytes, 1);
    __builtin_prefetch(vals + (size_t)place[i] * val_bytes, 1);
  }
  for (int64_t i = 0; i < b->count; i++)
    put(self, place[i], b->col[i], b->val[i], index, dtype);
  b->count = 0;
}

static inline __attribute__((always_inline)) void take(const conversion *self, batch *b,
                                                       const sl_scatter_task *task, int64_t row, int64_t col,
                                                       double val, sley_index index, sley_dtype dtype) {
  if (!sl_scatter_takes(task, row))
    return;
  b->row[b->count] = row;
  b->col[b->count] = col;
  b->val[b->count++] = val;
  if (b->count == BATCH)
    place_batch(self, b, task->next, index, dtype);
}

static inline __attribute__((always_inline)) void
place_entries(const conversion *self, const sl_scatter_task *task, sley_index index, sley_dtype dtype) {
  const sl_coo *coo = self->coo;
  const int64_t begin = chunk_begin(self, task->chunk), end = chunk_begin(self, task->chunk + 1);
  const bool mirror = self->symmetry != SL_GENERAL;
  const double sign = self->symmetry == SL_SKEW ? -1.0 : 1.0;
  batch b;
  b.count = 0;
  for (int64_t e = begin; e < end; e++) {
    const int64_t row = sl_index_at(coo->row, index, e), col = sl_index_at(coo->col, index, e);
    const double val = value_at(coo, dtype, e);
    take(self, &b, task, row, col, val, index, dtype);
    if (mirror && row != col)
      take(self, &b, task, col, row, sign * val, index, dtype);
  }
  place_batch(self, &b, task->next, index, dtype);
}

static sley_status place_tasks(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  conversion *self = context;
  const sley_index index = self->coo->index;
  const sley_dtype dtype = self->coo->dtype;
  for (int64_t t = begin; t < end; t++) {
    const sl_scatter_task task = sl_scatter_task_of(&self->scatter, t);
    if (index == SLEY_I32 && dtype == SLEY_F32)
      place_entries(self, &task, SLEY_I32, SLEY_F32);
    else if (index == SLEY_I32 && dtype == SLEY_F64)
      place_entries(self, &task, SLEY_I32, SLEY_F64);
    else if (dtype == SLEY_F32)
      place_entries(self, &task, SLEY_I64, SLEY_F32);
    else if (dtype == SLEY_F64)
      place_entries(self, &task, SLEY_I64, SLEY_F64);
    else
      place_entries(self, &task, index, dtype);
  }
  return sl_interrupted();
}

static int64_t row_of(const void *context, int64_t entry) {
  const sl_coo *coo = context;
  return sl_index_at(coo->row, coo->index, entry);
}

sley_status sl_coo_to_csr(const sl_coo *coo, sl_symmetry symmetry, sl_repeats repeats, sl_team *team,
                          sley_matrix **out) {
  *out = NULL;
  if (symmetry != SL_GENERAL && coo->rows != coo->cols)
    return sl_fail(SLEY_ERR_INPUT, "a symmetric matrix must be square, not %lld x %lld", (long long)coo->rows,
                   (long long)coo->cols);
  if (coo->rows == INT64_MAX)
    return sl_fail(SLEY_ERR_OVERFLOW, "a matrix of %lld rows is too large", (long long)coo->rows);
  conversion self = {.coo = coo, .symmetry = symmetry};
  sl_csr_arrays *arrays = &self.arrays;
  sley_status status;
  sl_team_begin_work(team, "placing entries", 5);
  SL_TRY_GOTO(status, SL_NEW(arrays->rowptr, coo->rows + 1, "row pointers"), failed);
  SL_TRY_GOTO(status, sl_scatter_begin(coo->rows, coo->count, row_of, coo, team, &self.scatter), failed);
  SL_TRY_GOTO(status, sl_team_for(team, self.scatter.tasks, 1, count_tasks, &self), failed);
  SL_TRY_GOTO(status, sl_scatter_place(&self.scatter, team, arrays->rowptr), failed);

  int64_t nnz = arrays->rowptr[coo->rows];
  status = SLEY_ERR_MEMORY;
  arrays->col = sl_alloc(nnz, sl_index_bytes(coo->index), "columns");
  if (!arrays->col)
    goto failed;
  arrays->val = sl_alloc(nnz, sley_dtype_bytes(coo->dtype), "values");
  if (!arrays->val)
    goto failed;
  SL_TRY_GOTO(status, sl_team_for(team, self.scatter.tasks, 1, place_tasks, &self), failed);
  sl_scatter_end(&self.scatter);
  sl_team_begin_work(team, "sorting rows", 3);
  SL_TRY_GOTO(
      status,
      sl_csr_sort_rows(coo->rows, arrays->rowptr, coo->index, arrays->col, coo->dtype, arrays->val, team),
      failed);
  SL_TRY_GOTO(status, sl_csr_merge_repeats(coo->rows, coo->index, coo->dtype, repeats, team, arrays), failed);
  return sl_matrix_adopt(coo->rows, coo->cols, coo->index, coo->dtype, self.arrays, coo->count, out);
failed:
  sl_scatter_end(&self.scatter);
  sl_csr_arrays_free(arrays);
  return status;
}

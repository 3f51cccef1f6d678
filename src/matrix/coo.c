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

/* One body for both index types: the callers pass a constant, which is folded in. */
static inline __attribute__((always_inline)) void
count_entries(const conversion *self, int64_t begin, int64_t end, int64_t *counts, sley_index index) {
  const sl_coo *coo = self->coo;
  if (self->symmetry == SL_GENERAL) {
    for (int64_t e = begin; e < end; e++)
      counts[sl_index_at(coo->row, index, e)]++;
    return;
  }
  for (int64_t e = begin; e < end; e++) {
    int64_t row = sl_index_at(coo->row, index, e), col = sl_index_at(coo->col, index, e);
    counts[row]++;
    if (row != col)
      counts[col]++;
  }
}

static sley_status count_chunks(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  conversion *self = context;
  for (int64_t c = begin; c < end; c++) {
    int64_t *counts = self->scatter.next + (size_t)c * (size_t)self->scatter.rows;
    int64_t first = chunk_begin(self, c), last = chunk_begin(self, c + 1);
    if (self->coo->index == SLEY_I32)
      count_entries(self, first, last, counts, SLEY_I32);
    else
      count_entries(self, first, last, counts, SLEY_I64);
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

/* Positions are computed a batch at a time before anything is written to them, so that cache misses
 * overlap. */
static inline __attribute__((always_inline)) void place_entries(const conversion *self, int64_t begin,
                                                                int64_t end, int64_t *next, sley_index index,
                                                                sley_dtype dtype) {
  enum { BATCH = 64 };
  const sl_coo *coo = self->coo;
  bool mirror = self->symmetry != SL_GENERAL;
  double sign = self->symmetry == SL_SKEW ? -1.0 : 1.0;
  size_t col_bytes = sl_index_bytes(index), val_bytes = sley_dtype_bytes(dtype);
  char *cols = self->arrays.col, *vals = self->arrays.val;
  int64_t place[BATCH], mirrored[BATCH];
  for (int64_t first = begin; first < end; first += BATCH) {
    int64_t count = end - first < BATCH ? end - first : BATCH;
    for (int64_t i = 0; i < count; i++) {
      __builtin_prefetch(&next[sl_index_at(coo->row, index, first + i)], 1);
      if (mirror)
        __builtin_prefetch(&next[sl_index_at(coo->col, index, first + i)], 1);
    }
    for (int64_t i = 0; i < count; i++) {
      int64_t row = sl_index_at(coo->row, index, first + i), col = sl_index_at(coo->col, index, first + i);
      place[i] = next[row]++;
      __builtin_prefetch(cols + (size_t)place[i] * col_bytes, 1);
      __builtin_prefetch(vals + (size_t)place[i] * val_bytes, 1);
      if (mirror && row != col) {
        mirrored[i] = next[col]++;
        __builtin_prefetch(cols + (size_t)mirrored[i] * col_bytes, 1);
        __builtin_prefetch(vals + (size_t)mirrored[i] * val_bytes, 1);
      }
    }
    for (int64_t i = 0; i < count; i++) {
      int64_t row = sl_index_at(coo->row, index, first + i), col = sl_index_at(coo->col, index, first + i);
      double val = value_at(coo, dtype, first + i);
      put(self, place[i], col, val, index, dtype);
      if (mirror && row != col)
        put(self, mirrored[i], row, sign * val, index, dtype);
    }
  }
}

static sley_status place_chunks(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  conversion *self = context;
  sley_index index = self->coo->index;
  sley_dtype dtype = self->coo->dtype;
  for (int64_t c = begin; c < end; c++) {
    int64_t *next = self->scatter.next + (size_t)c * (size_t)self->scatter.rows;
    int64_t first = chunk_begin(self, c), last = chunk_begin(self, c + 1);
    if (index == SLEY_I32 && dtype == SLEY_F32)
      place_entries(self, first, last, next, SLEY_I32, SLEY_F32);
    else if (index == SLEY_I32 && dtype == SLEY_F64)
      place_entries(self, first, last, next, SLEY_I32, SLEY_F64);
    else if (dtype == SLEY_F32)
      place_entries(self, first, last, next, SLEY_I64, SLEY_F32);
    else if (dtype == SLEY_F64)
      place_entries(self, first, last, next, SLEY_I64, SLEY_F64);
    else
      place_entries(self, first, last, next, index, dtype);
  }
  return sl_interrupted();
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
  SL_TRY_GOTO(status, SL_NEW(arrays->rowptr, coo->rows + 1, "row pointers"), failed);
  SL_TRY_GOTO(status, sl_scatter_begin(coo->rows, coo->count, team, &self.scatter), failed);
  SL_TRY_GOTO(status, sl_team_for(team, self.scatter.chunks, 1, count_chunks, &self), failed);
  SL_TRY_GOTO(status, sl_scatter_place(&self.scatter, team, arrays->rowptr), failed);

  int64_t nnz = arrays->rowptr[coo->rows];
  status = SLEY_ERR_MEMORY;
  arrays->col = sl_alloc(nnz, sl_index_bytes(coo->index), "columns");
  if (!arrays->col)
    goto failed;
  arrays->val = sl_alloc(nnz, sley_dtype_bytes(coo->dtype), "values");
  if (!arrays->val)
    goto failed;
  SL_TRY_GOTO(status, sl_team_for(team, self.scatter.chunks, 1, place_chunks, &self), failed);
  sl_scatter_end(&self.scatter);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of two sparse matrices in host memory: rows are merged twice, first to count their entries and then
 * to store them. */
#include "base/memory.h"
#include "base/value.h"
#include "tile/products/sparse_add.h"

enum { GRAIN = 512 };

/* One addition: rows of a and b, and the rows of the result. */
typedef struct addition {
  const sl_sparse_adder *adder;
  const sl_csr_arrays *a, *b;
  sl_csr_arrays *out; /* result; if out->col is NULL, entries are only counted */
} addition;

/* Adds p to s as the semiring does (device/op/op_spgemm.h). */
static inline double add_values(sley_semiring semiring, sley_dtype dtype, double s, double p) {
  if (semiring == SLEY_MIN_PLUS)
    return p < s || p != p ? p : s;
  if (semiring == SLEY_OR_AND)
    return p > s ? p : s;
  return dtype == SLEY_F32 ? (double)((float)s + (float)p) : s + p;
}

/* Merges row i; returns its number of entries. The types, and `stores`, are constants at each call. */
static inline __attribute__((always_inline)) int64_t merge_row(const addition *m, int64_t i, sley_index index,
                                                               sley_dtype dtype, bool stores) {
  const sl_csr_arrays *a = m->a, *b = m->b, *out = m->out;
  int64_t at = a->rowptr[i], bt = b->rowptr[i], count = 0;
  const int64_t a_end = a->rowptr[i + 1], b_end = b->rowptr[i + 1], to = stores ? out->rowptr[i] : 0;
  for (; at < a_end || bt < b_end; count++) {
    const int64_t a_col = at < a_end ? sl_index_at(a->col, index, at) : INT64_MAX;
    const int64_t b_col = bt < b_end ? sl_index_at(b->col, index, bt) : INT64_MAX;
    if (stores) {
      sl_index_set(out->col, index, to + count, a_col < b_col ? a_col : b_col);
      if (a_col != b_col)
        sl_value_copy(out->val, to + count, a_col < b_col ? a->val : b->val, a_col < b_col ? at : bt, dtype);
      else
        sl_value_set(out->val, dtype, to + count,
                     add_values(m->adder->semiring, dtype, sl_value_at(a->val, dtype, at),
                                sl_value_at(b->val, dtype, bt)));
    }
    at += a_col <= b_col;
    bt += b_col <= a_col;
  }
  return count;
}

static inline __attribute__((always_inline)) void merge_range(const addition *m, int64_t begin, int64_t end,
                                                              sley_index index, sley_dtype dtype) {
  for (int64_t i = begin; i < end; i++)
    if (m->out->col)
      (void)merge_row(m, i, index, dtype, true);
    else
      m->out->rowptr[i + 1] = merge_row(m, i, index, dtype, false);
}

static sley_status merge_rows(void *context, int64_t begin, int64_t end, int thread) {
  const addition *m = context;
  const bool wide = m->adder->dtype == SLEY_F64;
  (void)thread;
  if (m->adder->index == SLEY_I64)
    merge_range(m, begin, end, SLEY_I64, m->adder->dtype);
  else if (wide)
    merge_range(m, begin, end, SLEY_I32, SLEY_F64);
  else
    merge_range(m, begin, end, SLEY_I32, SLEY_F32);
  return SLEY_OK;
}

sley_status sl_sparse_add_on_host(const sl_sparse_adder *s, int64_t rows, const sl_csr_arrays *a,
                                  const sl_csr_arrays *b, sl_csr_arrays *out) {
  addition m = {s, a, b, out};
  sl_team *team = s->team;
  *out = (sl_csr_arrays){0};
  SL_TRY(SL_NEW(out->rowptr, rows + 1, "row pointers"));
  sley_status status = sl_team_for(team, rows, GRAIN, merge_rows, &m);
  out->rowptr[0] = 0;
  for (int64_t i = 0; i < rows && status == SLEY_OK; i++)
    out->rowptr[i + 1] += out->rowptr[i];
  if (status == SLEY_OK) {
    out->val = sl_alloc(out->rowptr[rows], sley_dtype_bytes(s->dtype), "values of a sum");
    out->col = out->val ? sl_alloc(out->rowptr[rows], sl_index_bytes(s->index), "columns of a sum") : NULL;
    status = out->col ? sl_team_for(team, rows, GRAIN, merge_rows, &m) : SLEY_ERR_MEMORY;
  }
  if (status != SLEY_OK)
    sl_csr_arrays_free(out);
  return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the container's invariants. */
#include <stdatomic.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "matrix/matrix.h"

enum { ROWS_AT_ONCE = 4096 };

typedef struct checks {
  const sley_csr *csr;
  bool any_order;            /* whether rows ascend is not looked at */
  _Atomic int64_t first_bad; /* lowest bad row; rows if there is none */
  atomic_bool unsorted;
} checks;

/* Records the lowest bad row, so that the error does not depend on timing. */
static void note_bad(checks *self, int64_t row) {
  int64_t seen = atomic_load(&self->first_bad);
  while (row < seen && !atomic_compare_exchange_weak(&self->first_bad, &seen, row)) {
  }
}

static sley_status check_rowptr(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  checks *self = context;
  const int64_t *rowptr = self->csr->rowptr;
  for (int64_t i = begin; i < end; i++)
    if (rowptr[i] > rowptr[i + 1]) {
      note_bad(self, i);
      break;
    }
  return SLEY_OK;
}

#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
#else
#define WIDE
#endif

/* Looks at `count` columns, at least 1, in a form that compilers vectorise. *bad gets its sign bit set if one
 * is below 0 or above `most`. Returns the number of columns that are less than the one before. */
#define LOOK(name, index, unsigned_index, attributes)                                                        \
  attributes static index name(const index *col, int64_t count, index most, index *bad) {                    \
    index wrong = col[0] | (index)((unsigned_index)most - (unsigned_index)col[0]), descents = 0;             \
    for (int64_t e = 1; e < count; e++) {                                                                    \
      wrong |= col[e] | (index)((unsigned_index)most - (unsigned_index)col[e]);                              \
      descents += col[e] < col[e - 1];                                                                       \
    }                                                                                                        \
    *bad |= wrong;                                                                                           \
    return descents;                                                                                         \
  }
LOOK(look_i32, int32_t, uint32_t, )
LOOK(look_i64, int64_t, uint64_t, )
LOOK(look_wide_i32, int32_t, uint32_t, WIDE)
LOOK(look_wide_i64, int64_t, uint64_t, WIDE)

static bool is_wide(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

/* Entries looked at together: few enough that they stay in the nearest cache. */
enum { BLOCK = 2048 };

/* Looks at entries [first, first + count). */
static int64_t look(const sley_csr *csr, int64_t first, int64_t count, bool *bad) {
  int64_t descents;
  if (csr->index == SLEY_I32) {
    int32_t wrong = 0;
    const int64_t most = csr->cols - 1 < INT32_MAX ? csr->cols - 1 : INT32_MAX;
    descents = (is_wide() ? look_wide_i32 : look_i32)((const int32_t *)csr->col + first, count, (int32_t)most,
                                                      &wrong);
    *bad |= wrong < 0;
  } else {
    int64_t wrong = 0;
    descents = (is_wide() ? look_wide_i64 : look_i64)((const int64_t *)csr->col + first, count, csr->cols - 1,
                                                      &wrong);
    *bad |= wrong < 0;
  }
  return descents;
}

/* Records the lowest of rows [begin, end) with a column out of range. */
static void find_bad(checks *self, int64_t begin, int64_t end) {
  const sley_csr *csr = self->csr;
  for (int64_t i = begin; i < end; i++)
    for (int64_t e = csr->rowptr[i]; e < csr->rowptr[i + 1]; e++)
      if ((uint64_t)sl_index_at(csr->col, csr->index, e) >= (uint64_t)csr->cols) {
        note_bad(self, i);
        return;
      }
}

/* Number of rows in [begin, end) whose first column is less than the column of the entry before. */
static int64_t descents_between(const sley_csr *csr, int64_t begin, int64_t end) {
  const int64_t first = csr->rowptr[begin];
  int64_t descents = 0;
  for (int64_t i = begin + 1; i < end; i++) {
    const int64_t e = csr->rowptr[i];
    descents += e > first && e < csr->rowptr[i + 1] &&
                sl_index_at(csr->col, csr->index, e) < sl_index_at(csr->col, csr->index, e - 1);
  }
  return descents;
}

/* The columns of a row ascend if no column is less than the one before, except at beginnings of rows. */
static sley_status check_columns(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  checks *self = context;
  const sley_csr *csr = self->csr;
  const int64_t first = csr->rowptr[begin], last = csr->rowptr[end];
  int64_t descents = 0;
  bool bad = false;
  SL_TRY(sl_interrupted());
  for (int64_t e = first; e < last; e += BLOCK) {
    const int64_t from = e > first ? e - 1 : e, to = e + BLOCK < last ? e + BLOCK : last;
    descents += look(csr, from, to - from, &bad);
  }
  if (bad)
    find_bad(self, begin, end);
  else if (!self->any_order && descents != descents_between(csr, begin, end))
    atomic_store(&self->unsorted, true);
  return SLEY_OK;
}

sley_status sl_csr_validate(const sley_csr *csr, sl_team *team, bool *sorted) {
  checks self = {.csr = csr, .any_order = !sorted};
  atomic_init(&self.first_bad, csr->rows);
  atomic_init(&self.unsorted, false);
  if (csr->rowptr[0] < 0)
    return sl_fail(SLEY_ERR_INPUT, "rowptr[0] is %lld: it must not be negative", (long long)csr->rowptr[0]);
  SL_TRY(sl_team_for(team, csr->rows, ROWS_AT_ONCE, check_rowptr, &self));
  int64_t row = atomic_load(&self.first_bad);
  if (row < csr->rows)
    return sl_fail(SLEY_ERR_INPUT, "row %lld: rowptr descends from %lld to %lld", (long long)row,
                   (long long)csr->rowptr[row], (long long)csr->rowptr[row + 1]);
  SL_TRY(sl_team_for(team, csr->rows, ROWS_AT_ONCE, check_columns, &self));
  row = atomic_load(&self.first_bad);
  if (row < csr->rows) {
    int64_t e = csr->rowptr[row], col = 0;
    for (; e < csr->rowptr[row + 1]; e++) {
      col = sl_index_at(csr->col, csr->index, e);
      if (col < 0 || col >= csr->cols)
        break;
    }
    return sl_fail(SLEY_ERR_INPUT, "row %lld: column %lld (entry %lld) is not within 0 .. %lld",
                   (long long)row, (long long)col, (long long)e, (long long)csr->cols - 1);
  }
  if (sorted)
    *sorted = !atomic_load(&self.unsorted);
  return SLEY_OK;
}

sley_status sl_csr_refuse(const sley_csr *csr, sl_team *team) {
  int64_t *rowptr = NULL;
  sley_csr wide = *csr;
  if (csr->rowptr32) {
    SL_TRY(sl_csr_widen(csr, &rowptr));
    wide.rowptr = rowptr;
  }
  const sley_status status = sl_csr_validate(&wide, team, NULL);
  sl_free(rowptr);
  return status != SLEY_OK
             ? status
             : sl_fail(SLEY_ERR_INPUT, "the arrays of a matrix changed while they were multiplied");
}

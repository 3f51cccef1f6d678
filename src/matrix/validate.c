/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the container's invariants. */
#include <stdatomic.h>

#include "base/interrupt.h"
#include "matrix/matrix.h"

enum { ROWS_AT_ONCE = 4096 };

typedef struct checks {
  const sley_csr *csr;
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

static sley_status check_columns(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  checks *self = context;
  const sley_csr *csr = self->csr;
  bool unsorted = false;
  SL_TRY(sl_interrupted());
  for (int64_t i = begin; i < end; i++) {
    int64_t last = 0;
    bool bad = false;
    for (int64_t e = csr->rowptr[i]; e < csr->rowptr[i + 1]; e++) {
      int64_t col = sl_index_at(csr->col, csr->index, e);
      bad |= (uint64_t)col >= (uint64_t)csr->cols;
      unsorted |= col < last;
      last = col;
    }
    if (bad) {
      note_bad(self, i);
      break;
    }
  }
  if (unsorted)
    atomic_store(&self->unsorted, true);
  return SLEY_OK;
}

sley_status sl_csr_validate(const sley_csr *csr, sl_team *team, bool *sorted) {
  *sorted = true;
  checks self = {.csr = csr};
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
  *sorted = !atomic_load(&self.unsorted);
  return SLEY_OK;
}

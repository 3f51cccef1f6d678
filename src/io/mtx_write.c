/* SPDX-License-Identifier: Apache-2.0 */
/* Writes Matrix Market, coordinate real general, with enough digits to restore every value. */
#include <stdio.h>

#include "base/interrupt.h"
#include "base/locale.h"
#include "base/memory.h"
#include "base/value.h"
#include "io/mtx.h"

enum { ENTRIES = 1 << 14, LINE = 72 }; /* two 64-bit numbers and a %.17g take less than LINE bytes */

static char *put_int(char *at, int64_t value) {
  char digits[24];
  int count = 0;
  do
    digits[count++] = (char)('0' + value % 10);
  while ((value /= 10) > 0);
  while (count > 0)
    *at++ = digits[--count];
  return at;
}

static char *put_value(char *at, const sley_matrix *matrix, int64_t e) {
  double value = sl_value_at(matrix->val, matrix->dtype, e);
  enum { SHORT = 1 << 20 };
  if (value > -SHORT && value < SHORT && value == (double)(int64_t)value && value != 0) {
    if (value < 0)
      *at++ = '-';
    return put_int(at, (int64_t)(value < 0 ? -value : value));
  }
  return at + snprintf(at, 40, "%.*g", sl_value_digits(matrix->dtype), value);
}

/* A range of entries as text; one per thread and round. */
typedef struct stretch {
  char *text;
  size_t size;
} stretch;

typedef struct writing {
  const sley_matrix *matrix;
  int64_t first; /* first entry of the round, counted from the first entry of the matrix */
  stretch *stretches;
} writing;

/* Returns the row that contains entry e: the last row that starts at or before it and is not empty. */
static int64_t row_of(const sley_matrix *matrix, int64_t e) {
  int64_t low = 0, high = matrix->rows - 1;
  while (low < high) {
    int64_t middle = low + (high - low + 1) / 2;
    if (matrix->rowptr[middle] <= e)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

static sley_status format_stretches(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  writing *self = context;
  const sley_matrix *matrix = self->matrix;
  int64_t start = matrix->rowptr[0], stop = matrix->rowptr[matrix->rows];
  SL_TRY(sl_interrupted());
  locale_t before = sl_enter_c_locale(); /* for this thread only, because the caller's thread has set its own
                                            locale */
  for (int64_t s = begin; s < end; s++) {
    int64_t e = start + self->first + s * ENTRIES, last = e + ENTRIES < stop ? e + ENTRIES : stop;
    char *at = self->stretches[s].text;
    if (e < last)
      for (int64_t row = row_of(matrix, e); e < last; e++) {
        while (matrix->rowptr[row + 1] <= e)
          row++;
        at = put_int(at, row + 1);
        *at++ = ' ';
        at = put_int(at, sl_index_at(matrix->col, matrix->index, e) + 1);
        *at++ = ' ';
        at = put_value(at, matrix, e);
        *at++ = '\n';
      }
    self->stretches[s].size = (size_t)(at - self->stretches[s].text);
  }
  sl_leave_c_locale(before);
  return SLEY_OK;
}

/* Writes the entries in rounds: the team formats as many ranges as it has threads, then they are written in
 * order. */
static sley_status write_entries(writing *self, int64_t count, sl_sink *sink, sl_team *team) {
  int64_t nnz = self->matrix->nnz;
  for (self->first = 0; self->first < nnz; self->first += count * ENTRIES) {
    SL_TRY(sl_team_for(team, count, 1, format_stretches, self));
    for (int64_t s = 0; s < count; s++)
      SL_TRY(sl_sink_put(sink, self->stretches[s].text, self->stretches[s].size));
  }
  return SLEY_OK;
}

sley_status sl_mtx_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team) {
  SL_TRY(sl_sink_print(sink, "%%%%MatrixMarket matrix coordinate real general\n%lld %lld %lld\n",
                       (long long)matrix->rows, (long long)matrix->cols, (long long)matrix->nnz));
  int64_t count = sl_team_size(team), room = matrix->nnz < ENTRIES ? matrix->nnz : ENTRIES;
  writing self = {.matrix = matrix};
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW_ZERO(self.stretches, count, "text to write"), done);
  for (int64_t s = 0; s < count; s++)
    SL_TRY_GOTO(status, SL_NEW(self.stretches[s].text, room * LINE, "text to write"), done);
  status = write_entries(&self, count, sink, team);
done:
  for (int64_t s = 0; self.stretches && s < count; s++)
    sl_free(self.stretches[s].text);
  sl_free(self.stretches);
  return status;
}

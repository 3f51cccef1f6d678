/* SPDX-License-Identifier: Apache-2.0 */
/* Counts distinct columns of windows by merging the rows of a window, whose columns ascend: this allocates no
 * memory. The sums are of integers, so they do not depend on the number of threads. */
#include "matrix/windows.h"

#include <stdatomic.h>

#include "base/interrupt.h"

enum { WINDOWS_AT_ONCE = 256 };

typedef struct window_sums {
  const sley_matrix *matrix;
  const int64_t *row_at;
  _Atomic int64_t columns, entries[SLEY_INTENSITIES];
} window_sums;

/* The remaining entries of a row, [at, end), and the column of the first. */
typedef struct row_rest {
  int64_t at, end, column;
} row_rest;

/* Advances to the next column; returns false at the end of the row. */
static bool next_column(const sley_matrix *matrix, row_rest *rest) {
  int64_t column = rest->column;
  while (++rest->at < rest->end)
    if ((rest->column = sl_index_at(matrix->col, matrix->index, rest->at)) != column)
      return true;
  return false;
}

/* Counts the distinct columns of count rows, each with at least one entry; consumes rest. */
static int64_t count_columns(const sley_matrix *matrix, row_rest *rest, int count) {
  int64_t columns = 0;
  for (; count > 0; columns++) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < count; i++)
      least = rest[i].column < least ? rest[i].column : least;
    for (int i = 0; i < count;) {
      if (rest[i].column != least || next_column(matrix, &rest[i]))
        i++;
      else
        rest[i] = rest[--count];
    }
  }
  return columns;
}

/* Adds one window: rows [first, end), SLEY_WINDOW_ROWS at most. */
static void add_window(window_sums *sums, int64_t first, int64_t end, int64_t *columns, int64_t *entries) {
  const sley_matrix *matrix = sums->matrix;
  row_rest rest[SLEY_WINDOW_ROWS];
  int count = 0;
  int64_t inside = 0;
  for (int64_t i = first; i < end; i++) {
    int64_t row = sums->row_at ? sums->row_at[i] : i, at = matrix->rowptr[row],
            last = matrix->rowptr[row + 1];
    inside += last - at;
    if (at < last)
      rest[count++] = (row_rest){at, last, sl_index_at(matrix->col, matrix->index, at)};
  }
  if (inside == 0)
    return;
  int64_t distinct = count_columns(matrix, rest, count), intensity = inside / distinct;
  *columns += distinct;
  entries[intensity < SLEY_INTENSITIES ? intensity : SLEY_INTENSITIES - 1] += inside;
}

static sley_status add_windows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  window_sums *sums = context;
  int64_t columns = 0, entries[SLEY_INTENSITIES] = {0};
  SL_TRY(sl_interrupted());
  for (int64_t w = begin; w < end; w++) {
    int64_t first = w * SLEY_WINDOW_ROWS, left = sums->matrix->rows - first;
    add_window(sums, first, first + (left < SLEY_WINDOW_ROWS ? left : SLEY_WINDOW_ROWS), &columns, entries);
  }
  atomic_fetch_add(&sums->columns, columns);
  for (int i = 0; i < SLEY_INTENSITIES; i++)
    atomic_fetch_add(&sums->entries[i], entries[i]);
  return SLEY_OK;
}

sley_status sl_matrix_windows(const sley_matrix *matrix, const int64_t *row_at, sl_team *team,
                              sley_window_info *out) {
  window_sums sums = {.matrix = matrix, .row_at = row_at};
  *out =
      (sley_window_info){.windows = matrix->rows / SLEY_WINDOW_ROWS + (matrix->rows % SLEY_WINDOW_ROWS != 0)};
  SL_TRY(sl_team_for(team, out->windows, WINDOWS_AT_ONCE, add_windows, &sums));
  out->columns = atomic_load(&sums.columns);
  for (int i = 0; i < SLEY_INTENSITIES; i++) {
    out->by_intensity[i] = atomic_load(&sums.entries[i]);
    out->entries += out->by_intensity[i];
  }
  return SLEY_OK;
}

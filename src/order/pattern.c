/* SPDX-License-Identifier: Apache-2.0 */
#include "order/pattern.h"

#include <string.h>

#include "base/memory.h"

/* Copies the lists of the rows. Returns the number of their entries. */
static int64_t copy_rows(const sley_matrix *matrix, int64_t *begin, int32_t *neighbour) {
  int64_t placed = 0;
  for (int64_t i = 0; i < matrix->rows; i++) {
    begin[i] = placed;
    for (int64_t e = matrix->rowptr[i], last = -1; e < matrix->rowptr[i + 1]; e++) {
      int64_t j = sl_index_at(matrix->col, matrix->index, e);
      if (j != i && j != last)
        neighbour[placed++] = (int32_t)j;
      last = j;
    }
  }
  begin[matrix->rows] = placed;
  return placed;
}

/* Fills the lists of the columns, ascending. */
static void transpose(sl_pattern *p) {
  const int64_t *begin = p->begin[SL_OF_ROWS];
  const int32_t *neighbour = p->neighbour[SL_OF_ROWS];
  int64_t *next = p->begin[SL_OF_COLUMNS];
  memset(next, 0, ((size_t)p->count + 1) * sizeof *next);
  for (int64_t e = 0; e < begin[p->count]; e++)
    next[neighbour[e]]++;
  for (int64_t j = 0, sum = 0; j <= p->count; j++) {
    sum += next[j];
    next[j] = sum;
  }
  for (int32_t i = p->count; i-- > 0;)
    for (int64_t e = begin[i]; e < begin[i + 1]; e++)
      p->neighbour[SL_OF_COLUMNS][--next[neighbour[e]]] = i;
}

static void join_equal_sides(sl_pattern *p) {
  size_t starts = ((size_t)p->count + 1) * sizeof **p->begin;
  size_t entries = (size_t)p->begin[0][p->count] * sizeof **p->neighbour;
  p->sides = 2;
  if (memcmp(p->begin[0], p->begin[1], starts) || memcmp(p->neighbour[0], p->neighbour[1], entries))
    return;
  sl_free(p->begin[1]);
  sl_free(p->neighbour[1]);
  p->begin[1] = p->begin[0];
  p->neighbour[1] = p->neighbour[0];
  p->sides = 1;
}

sley_status sl_pattern_create(const sley_matrix *matrix, sl_pattern *out) {
  *out = (sl_pattern){.count = (int32_t)matrix->rows, .sides = 2};
  SL_TRY(SL_NEW(out->begin[0], matrix->rows + 1, "a pattern"));
  SL_TRY(SL_NEW(out->neighbour[0], matrix->nnz, "a pattern"));
  int64_t entries = copy_rows(matrix, out->begin[0], out->neighbour[0]);
  SL_TRY(SL_NEW(out->begin[1], matrix->rows + 1, "a pattern"));
  SL_TRY(SL_NEW(out->neighbour[1], entries, "a pattern"));
  transpose(out);
  join_equal_sides(out);
  return SLEY_OK;
}

void sl_pattern_free(sl_pattern *pattern) {
  for (int side = 0; side < pattern->sides; side++) {
    sl_free(pattern->neighbour[side]);
    sl_free(pattern->begin[side]);
  }
  *pattern = (sl_pattern){0};
}

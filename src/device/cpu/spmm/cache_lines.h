/* SPDX-License-Identifier: Apache-2.0 */
/* Products whose rows of Y are contiguous and written past the caches although rows do not begin at lines.
 * Each row is summed in vectors aligned to the lines of Y; a line that two rows share is assembled in a
 * buffer. Included by spmm_body.h. */
#ifndef SLEY_DEVICE_CPU_SPMM_CACHE_LINES_H
#define SLEY_DEVICE_CPU_SPMM_CACHE_LINES_H

#include <string.h>

#include "device/cpu/spmm/moves.h"

enum { LINE_SUMS = 64 / sizeof(sum), LINE_VECTORS = 64 / sizeof(vec) };

/* A line of memory assembled from the end of one row and the start of the next. It is the second of three
 * lines, because whole vectors are stored, of which only a part belongs to the line. */
typedef struct joint {
  _Alignas(64) sum value[3 * LINE_SUMS];
} joint;

/* A row of Y: entries [j, end), `width` features. */
typedef struct line_row {
  int64_t j, end, ahead, width;
  sum *first, *last; /* where its first and its last LINE_SUMS values are stored */
} line_row;

/* Sums features [feature, feature + vectors LANES) and writes them past the caches; ends: also sums and
 * stores the first and the last LINE_SUMS values of the row. */
INLINE void sum_lines(const operands *o, const line_row *r, int64_t feature, sum *y, const int vectors,
                      const bool ends, const sley_index index) {
  vec acc[PANEL], head[LINE_VECTORS], tail[LINE_VECTORS];
  begin_plain(o, false, NULL, acc, vectors, WHOLE);
  begin_plain(o, false, NULL, head, LINE_VECTORS, WHOLE);
  begin_plain(o, false, NULL, tail, LINE_VECTORS, WHOLE);
  for (int64_t j = r->j; j < r->end; j++) {
    const value *row = (const value *)x_row(o, column(o->col, j, index), false);
    const sum factor = ((const sum *)o->val)[j];
    if (ends && r->ahead) {
      const char *next = x_row(o, column(o->col, j + r->ahead, index), false);
      fetch_lines(next, FETCHED_LINES);
      __builtin_prefetch(next + (r->width - 1) * sizeof(value), 0, 3);
    }
    add_row(o, row + feature, factor, acc, vectors, WHOLE);
    if (ends) {
      add_row(o, row, factor, head, LINE_VECTORS, WHOLE);
      add_row(o, row + r->width - LINE_SUMS, factor, tail, LINE_VECTORS, WHOLE);
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < vectors; v++)
    vec_stream(y + v * LANES, acc[v]);
  if (ends) {
    end_row(o, false, r->first, head, LINE_VECTORS, WHOLE);
    end_row(o, false, r->last, tail, LINE_VECTORS, WHOLE);
  }
}

/* Sums a whole row. The first call also sums the row's ends, with as many vectors as leave whole panels for
 * the other calls. */
INLINE void sum_line_row(const operands *o, const line_row *r, int64_t feature, sum *y, int64_t vectors,
                         const sley_index index) {
#define LINES_CASE(count)                                                                                    \
  case count:                                                                                                \
    sum_lines(o, r, feature, y, count, true, index);                                                         \
    break;
  const int64_t some = vectors % PANEL;
  switch (some) {
    LINES_CASE(0)
    LINES_CASE(1)
    LINES_CASE(2)
    LINES_CASE(3)
    LINES_CASE(4)
    LINES_CASE(5)
    LINES_CASE(6)
    LINES_CASE(7)
  default:
    break;
  }
#undef LINES_CASE
  for (int64_t v = some; v < vectors; v += PANEL)
    sum_lines(o, r, feature + v * LANES, y + v * LANES, PANEL, false, index);
}

/* Sums a part that has all features of its rows, at least two lines each. beta is 0, and Y has the type of
 * sums. */
INLINE void run_lines(const sl_spmm_run *args, const sl_spmm_part *part, const sley_index index) {
  const sl_spmm_matrix *a = args->problem->a;
  const int64_t width = part->feature_end, most_ahead = part->near ? 0 : AHEAD,
                fetchable = a->rowptr[a->rows] - most_ahead;
  const operands o = operands_of(args, &(panel){.width = LANES}, 1, false);
  joint joints[2] = {0};
  sum *y = (sum *)args->y + part->row * width;
  int64_t before = (int64_t)((uintptr_t)y % 64 / sizeof(sum)); /* values between the start of the row's first
                                                                * line and the row */
  for (int64_t i = part->row; i < part->row_end; i++, y += width) {
    joint *const made = &joints[i % 2], *const next = &joints[(i + 1) % 2];
    const int64_t j = a->rowptr[i], end = a->rowptr[i + 1], head = before > 0 ? LINE_SUMS - before : 0,
                  lines = (width - head) / LINE_SUMS, tail = (width - head) % LINE_SUMS;
    const line_row r = {.j = j,
                        .end = end,
                        .ahead = end <= fetchable ? most_ahead : 0,
                        .width = width,
                        .first = made->value + LINE_SUMS + before,
                        .last = next->value + tail};
    sum_line_row(&o, &r, head, y + head, lines * LINE_VECTORS, index);
    if (before > 0 && i > part->row)
#pragma GCC unroll 4
      for (int v = 0; v < LINE_VECTORS; v++)
        vec_stream(y - before + v * LANES, vec_load(made->value + LINE_SUMS + v * LANES));
    else
      memcpy(y, made->value + LINE_SUMS + before, (size_t)head * sizeof(sum));
    before = tail;
  }
  memcpy(y - before, joints[part->row_end % 2].value + LINE_SUMS, (size_t)before * sizeof(sum));
  stream_end();
}

#endif

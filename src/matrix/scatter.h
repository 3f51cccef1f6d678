/* SPDX-License-Identifier: Apache-2.0 */
/* Counting and placing entries by row, stably and in parallel: the entries are divided into chunks in their
 * order, each chunk counts its entries per row, and the counts become each chunk's next position in every
 * row. Counts take memory, so a large team gets fewer chunks than threads; the rows of the result are then
 * divided into ranges too, and a task takes the entries of one chunk in one range. */
#ifndef SLEY_MATRIX_SCATTER_H
#define SLEY_MATRIX_SCATTER_H

#include "matrix/matrix.h"

enum { SL_SCATTER_RANGES = 256 };

typedef struct sl_scatter {
  int chunks, ranges;
  int64_t tasks; /* chunks * ranges */
  int64_t rows;
  int64_t *next; /* chunks x rows: first counts, then positions */
  int64_t range_begin[SL_SCATTER_RANGES + 1];
} sl_scatter;

/* The entries of one chunk whose rows are in [row_begin, row_end). */
typedef struct sl_scatter_task {
  int chunk;
  int64_t row_begin, row_end;
  int64_t *next; /* the chunk's counts or positions, one per row */
} sl_scatter_task;

/* Whether a task takes the entries of a row. */
static inline bool sl_scatter_takes(const sl_scatter_task *task, int64_t row) {
  return row >= task->row_begin && row < task->row_end;
}

/* Returns the row of an entry. */
typedef int64_t (*sl_scatter_row)(const void *context, int64_t entry);

/* Allocates zeroed counts. There are as many chunks as the team has threads, but fewer if counts would take
 * more memory than the entries. row_of is called for a sample of the entries 0 .. entries - 1, so that the
 * ranges get about equally many. */
sley_status sl_scatter_begin(int64_t rows, int64_t entries, sl_scatter_row row_of, const void *context,
                             sl_team *team, sl_scatter *out);

sl_scatter_task sl_scatter_task_of(const sl_scatter *scatter, int64_t task);

/* Turns counts into positions; rowptr (rows + 1 entries) receives the starts of the rows. */
sley_status sl_scatter_place(sl_scatter *scatter, sl_team *team, int64_t *rowptr);

void sl_scatter_end(sl_scatter *scatter);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The counts and positions of a stable parallel scatter. */
#include "matrix/scatter.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { ROWS_AT_ONCE = 1 << 15 };

static sley_status clear(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  sl_scatter *self = context;
  for (int c = 0; c < self->chunks; c++)
    memset(self->next + (size_t)c * (size_t)self->rows + begin, 0,
           (size_t)(end - begin) * sizeof *self->next);
  return SLEY_OK;
}

static int compare(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Sets the ranges by quantiles of the rows of a sample. */
static void divide_rows(sl_scatter *self, int64_t entries, sl_scatter_row row_of, const void *context) {
  enum { OF_EACH = 32 };
  int64_t sample[SL_SCATTER_RANGES * OF_EACH];
  int64_t count = (int64_t)self->ranges * OF_EACH < entries ? (int64_t)self->ranges * OF_EACH : entries;
  for (int64_t i = 0; i < count; i++)
    sample[i] = row_of(context, entries / count * i);
  qsort(sample, (size_t)count, sizeof *sample, compare);
  self->range_begin[0] = 0;
  for (int r = 1; r < self->ranges; r++)
    self->range_begin[r] = sample[count * r / self->ranges];
  self->range_begin[self->ranges] = self->rows;
}

sley_status sl_scatter_begin(int64_t rows, int64_t entries, sl_scatter_row row_of, const void *context,
                             sl_team *team, sl_scatter *out) {
  enum { TASKS_OF_A_THREAD = 3 }; /* a sample divides rows unevenly, so threads take several tasks */
  int threads = sl_team_size(team), chunks = threads;
  int64_t worth = entries / 2 / (rows + 1);
  if (worth < 2)
    worth = 2;
  if (chunks > worth)
    chunks = (int)worth;
  if (rows > entries * 4)
    chunks = 1;
  *out = (sl_scatter){.chunks = chunks, .ranges = 1, .rows = rows, .range_begin = {0, rows}};
  if (chunks < threads && entries > 0)
    out->ranges = TASKS_OF_A_THREAD * threads / chunks < SL_SCATTER_RANGES
                      ? TASKS_OF_A_THREAD * threads / chunks
                      : SL_SCATTER_RANGES;
  out->tasks = (int64_t)chunks * out->ranges;
  if (out->ranges > 1)
    divide_rows(out, entries, row_of, context);
  out->next = sl_alloc(rows, (size_t)chunks * sizeof *out->next, "counts per row");
  if (!out->next)
    return SLEY_ERR_MEMORY;
  return sl_team_for(team, rows, ROWS_AT_ONCE, clear, out);
}

sl_scatter_task sl_scatter_task_of(const sl_scatter *scatter, int64_t task) {
  const int chunk = (int)(task / scatter->ranges), range = (int)(task % scatter->ranges);
  return (sl_scatter_task){.chunk = chunk,
                           .row_begin = scatter->range_begin[range],
                           .row_end = scatter->range_begin[range + 1],
                           .next = scatter->next + (size_t)chunk * (size_t)scatter->rows};
}

typedef struct placing {
  sl_scatter *scatter;
  int64_t *rowptr;
} placing;

/* Sums the counts of all chunks: rowptr[i + 1] = entries of row i. */
static sley_status add_chunks(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  placing *self = context;
  const sl_scatter *s = self->scatter;
  memcpy(self->rowptr + 1 + begin, s->next + begin, (size_t)(end - begin) * sizeof *s->next);
  for (int c = 1; c < s->chunks; c++) {
    const int64_t *counts = s->next + (size_t)c * (size_t)s->rows;
    for (int64_t i = begin; i < end; i++)
      self->rowptr[i + 1] += counts[i];
  }
  return SLEY_OK;
}

static sley_status set_places(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  placing *self = context;
  sl_scatter *s = self->scatter;
  for (int64_t i = begin; i < end; i++) {
    int64_t place = self->rowptr[i];
    for (int c = 0; c < s->chunks; c++) {
      int64_t *next = s->next + (size_t)c * (size_t)s->rows + i;
      int64_t count = *next;
      *next = place;
      place += count;
    }
  }
  return SLEY_OK;
}

sley_status sl_scatter_place(sl_scatter *scatter, sl_team *team, int64_t *rowptr) {
  placing self = {scatter, rowptr};
  rowptr[0] = 0;
  SL_TRY(sl_team_for(team, scatter->rows, ROWS_AT_ONCE, add_chunks, &self));
  sl_team_sum_up(team, rowptr + 1, scatter->rows);
  return sl_team_for(team, scatter->rows, ROWS_AT_ONCE, set_places, &self);
}

void sl_scatter_end(sl_scatter *scatter) {
  sl_free(scatter->next);
  scatter->next = NULL;
}

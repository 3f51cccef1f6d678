/* SPDX-License-Identifier: Apache-2.0 */
/* The counts and positions of a stable parallel scatter. */
#include "matrix/scatter.h"

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

sley_status sl_scatter_begin(int64_t rows, int64_t entries, sl_team *team, sl_scatter *out) {
  int chunks = sl_team_size(team);
  int64_t worth = entries / 2 / (rows + 1);
  if (worth < 2)
    worth = 2;
  if (chunks > worth)
    chunks = (int)worth;
  if (rows > entries * 4)
    chunks = 1;
  *out = (sl_scatter){.chunks = chunks, .rows = rows};
  out->next = sl_alloc(rows, (size_t)chunks * sizeof *out->next, "counts per row");
  if (!out->next)
    return SLEY_ERR_MEMORY;
  return sl_team_for(team, rows, ROWS_AT_ONCE, clear, out);
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
  for (int64_t i = 0; i < scatter->rows; i++)
    rowptr[i + 1] += rowptr[i];
  return sl_team_for(team, scatter->rows, ROWS_AT_ONCE, set_places, &self);
}

void sl_scatter_end(sl_scatter *scatter) {
  sl_free(scatter->next);
  scatter->next = NULL;
}

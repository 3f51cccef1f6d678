/* SPDX-License-Identifier: Apache-2.0 */
/* A sample begins with nothing at hand. Once half as many distinct rows as the window holds have been named,
 * it counts, until the window is full: so what it takes for the window is between a half and the whole of it.
 */
#include "plan/locality.h"

#include "base/memory.h"

enum { SAMPLES = 4, LEAST_ROWS = 16, MOST_ROWS = 1 << 17 };

const double sl_window_bytes[SL_WINDOWS] = {1 << 20, 1 << 22, 1 << 24};

/* Columns named in a sample, by hash. */
typedef struct named {
  int64_t mask;
  int64_t *col;   /* with the sample's number in... */
  int32_t *in;    /* ...which it was named; 0: none */
  int32_t sample; /* now */
} named;

/* Whether a column is new to the sample; it is not from now on. */
static bool is_new(named *n, int64_t col) {
  int64_t at = (int64_t)((uint64_t)col * UINT64_C(0x9e3779b97f4a7c15) >> 20) & n->mask;
  for (; n->in[at] == n->sample; at = (at + 1) & n->mask)
    if (n->col[at] == col)
      return false;
  n->in[at] = n->sample;
  n->col[at] = col;
  return true;
}

typedef struct counts {
  int64_t hits, all;
} counts;

static void count_sample(const sl_inspection *ins, bool remote, int64_t begin, int64_t end, int64_t capacity,
                         named *n, counts *out) {
  const sley_matrix *block = ins->block;
  int64_t distinct = 0, first = block->rowptr[0];
  n->sample++;
  for (int64_t e = begin; e < end && distinct < capacity; e++) {
    int64_t col = sl_index_at(block->col, block->index, first + e);
    if (sl_is_remote(ins, col) != remote)
      continue;
    bool fresh = is_new(n, col);
    distinct += fresh;
    out->all += distinct > capacity / 2;
    out->hits += distinct > capacity / 2 && !fresh;
  }
}

/* The share of a rank's local or remote entries, which name so many rows, that is within a window. */
static sley_status share_within(const sl_inspection *ins, bool remote, int64_t rows, double window,
                                double *out) {
  int64_t row_bytes = ins->row_bytes > 0 ? ins->row_bytes : 1, capacity = (int64_t)window / row_bytes;
  capacity = capacity < LEAST_ROWS ? LEAST_ROWS : capacity > MOST_ROWS ? MOST_ROWS : capacity;
  int64_t nnz = ins->block->nnz, room = 1;
  *out = 1;
  if (rows <= capacity)
    return SLEY_OK;
  while (room < 2 * capacity)
    room *= 2;
  named n = {.mask = room - 1};
  counts found = {0, 0};
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW(n.col, room, "a sample of the matrix"), done);
  SL_TRY_GOTO(status, SL_NEW_ZERO(n.in, room, "a sample of the matrix"), done);
  int64_t samples = nnz / (8 * capacity) < 1         ? 1
                    : nnz / (8 * capacity) < SAMPLES ? nnz / (8 * capacity)
                                                     : SAMPLES;
  for (int64_t s = 0; s < samples; s++)
    count_sample(ins, remote, nnz / samples * s, nnz / samples * (s + 1), capacity, &n, &found);
  if (found.all > 0)
    *out = (double)found.hits / (double)found.all;
done:
  sl_free(n.in);
  sl_free(n.col);
  return status;
}

sley_status sl_locality(sl_inspection *ins) {
  for (int w = 0; w < SL_WINDOWS; w++) {
    SL_TRY(share_within(ins, false, ins->x_rows, sl_window_bytes[w], &ins->local_within[w]));
    SL_TRY(share_within(ins, true, ins->halo_set.count, sl_window_bytes[w], &ins->remote_within[w]));
  }
  return SLEY_OK;
}

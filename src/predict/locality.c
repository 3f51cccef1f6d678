/* SPDX-License-Identifier: Apache-2.0 */
/* A sample begins with nothing at hand. Once half as many distinct rows as the window holds have been named,
 * it counts, until the window is full: so what it takes for the window is between a half and the whole of it.
 * The rank's threads take a sample each. */
#include "predict/locality.h"

#include "base/memory.h"

enum { SAMPLES = 4, LEAST_ROWS = 16, MOST_ROWS = 1 << 17, SIDES = 2 };

const double sl_window_bytes[SL_WINDOWS] = {1 << 20, 1 << 22, 1 << 24};

/* Columns named in a sample, by hash; each plus one, for 0 is none. */
typedef struct named {
  int64_t mask;
  int64_t *next_col;
} named;

/* Whether a column is new to the sample; it is not from now on. */
static bool is_new(named *n, int64_t col) {
  int64_t at = (int64_t)((uint64_t)col * UINT64_C(0x9e3779b97f4a7c15) >> 20) & n->mask;
  for (; n->next_col[at] != 0; at = (at + 1) & n->mask)
    if (n->next_col[at] == col + 1)
      return false;
  n->next_col[at] = col + 1;
  return true;
}

/* One of the samples of a window, and what it has counted. */
typedef struct sample {
  bool remote;
  int window;
  int64_t begin, end; /* entries of the block */
  int64_t capacity;   /* rows that the window holds */
  int64_t hits, all;
} sample;

static void count_sample(const sl_inspection *ins, named *n, sample *s) {
  const sley_matrix *block = ins->block;
  int64_t distinct = 0, first = block->rowptr[0];
  for (int64_t e = s->begin; e < s->end && distinct < s->capacity; e++) {
    int64_t col = sl_index_at(block->col, block->index, first + e);
    if (sl_is_remote(ins, col) != s->remote)
      continue;
    bool fresh = is_new(n, col);
    distinct += fresh;
    s->all += distinct > s->capacity / 2;
    s->hits += distinct > s->capacity / 2 && !fresh;
  }
}

typedef struct samples {
  const sl_inspection *ins;
  int count;
  sample each[SIDES * SL_WINDOWS * SAMPLES];
} samples;

static sley_status count_samples(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  samples *all = context;
  for (int64_t i = begin; i < end; i++) {
    int64_t room = 1;
    while (room < 2 * all->each[i].capacity)
      room *= 2;
    named n = {.mask = room - 1};
    SL_TRY(SL_NEW_ZERO(n.next_col, room, "a sample of the matrix"));
    count_sample(all->ins, &n, &all->each[i]);
    sl_free(n.next_col);
  }
  return SLEY_OK;
}

/* Those of a window for a rank's local or remote entries, which name so many rows: none if it holds all. */
static void add_samples(samples *all, bool remote, int64_t rows, int window) {
  const sl_inspection *ins = all->ins;
  int64_t row_bytes = ins->wishes->row_bytes > 0 ? ins->wishes->row_bytes : 1, nnz = ins->block->nnz;
  int64_t capacity = (int64_t)sl_window_bytes[window] / row_bytes;
  capacity = capacity < LEAST_ROWS ? LEAST_ROWS : capacity > MOST_ROWS ? MOST_ROWS : capacity;
  if (rows <= capacity)
    return;
  int64_t fit = nnz / (8 * capacity), count = fit < 1 ? 1 : fit < SAMPLES ? fit : SAMPLES;
  for (int64_t s = 0; s < count; s++)
    all->each[all->count++] = (sample){.remote = remote,
                                       .window = window,
                                       .begin = nnz / count * s,
                                       .end = nnz / count * (s + 1),
                                       .capacity = capacity};
}

/* The share of entries that the samples of a window have found at hand. */
static double share_within(const samples *all, bool remote, int window) {
  int64_t hits = 0, entries = 0;
  for (int i = 0; i < all->count; i++)
    if (all->each[i].remote == remote && all->each[i].window == window) {
      hits += all->each[i].hits;
      entries += all->each[i].all;
    }
  return entries > 0 ? (double)hits / (double)entries : 1;
}

sley_status sl_locality(sl_inspection *ins) {
  samples all = {.ins = ins};
  for (int w = 0; w < SL_WINDOWS; w++) {
    add_samples(&all, false, ins->x_rows, w);
    add_samples(&all, true, ins->halo_set.count, w);
  }
  SL_TRY(sl_team_for(sl_plan_team(ins), all.count, 1, count_samples, &all));
  for (int w = 0; w < SL_WINDOWS; w++) {
    ins->local_within[w] = share_within(&all, false, w);
    ins->remote_within[w] = share_within(&all, true, w);
  }
  return SLEY_OK;
}

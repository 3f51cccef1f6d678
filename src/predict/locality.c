/* SPDX-License-Identifier: Apache-2.0 */
/* A sample begins with no row in the window. Counting starts when half as many distinct rows as the window
 * holds have been used, and ends when the window is full. So the effective window is between half of the
 * window and the whole window. The rank's threads process one sample each. */
#include "predict/locality.h"

#include "base/memory.h"

enum { SAMPLES = 4, LEAST_ROWS = 16, MOST_ROWS = 1 << 17, SIDES = 2 };

const double sl_window_bytes[SL_WINDOWS] = {1 << 20, 1 << 22, 1 << 24};

/* The columns used in a sample: one bit each, if that takes no more memory than a hash table; the table holds
 * each column plus one, because 0 means empty. Bits of adjacent columns lie in adjacent words: otherwise the
 * next access would have to wait for a word that was just written. */
typedef struct named {
  int64_t mask;   /* number of words, or of places in the table, minus one */
  uint64_t *bits; /* NULL: a hash table is used */
  int shift;
  int64_t *next_col;
} named;

static sley_status named_begin(int64_t cols, int64_t capacity, named *out) {
  int64_t room = 1, words = 1;
  int shift = 0;
  while (room < 2 * capacity)
    room *= 2;
  for (; words * 64 < cols; words *= 2)
    shift++;
  if (words > room) {
    *out = (named){.mask = room - 1};
    return SL_NEW_ZERO(out->next_col, room, "a sample of the matrix");
  }
  *out = (named){.mask = words - 1, .shift = shift};
  return SL_NEW_ZERO(out->bits, words, "a sample of the matrix");
}

static void named_end(named *n) {
  sl_free(n->bits);
  sl_free(n->next_col);
}

/* Returns whether a column is new to the sample, and marks it as used. */
static inline bool is_new_by_hash(const named *n, int64_t col) {
  int64_t at = (int64_t)((uint64_t)col * UINT64_C(0x9e3779b97f4a7c15) >> 20) & n->mask;
  for (; n->next_col[at] != 0; at = (at + 1) & n->mask)
    if (n->next_col[at] == col + 1)
      return false;
  n->next_col[at] = col + 1;
  return true;
}

static inline bool is_new_by_bits(const named *n, int64_t col) {
  const uint64_t bit = UINT64_C(1) << (col >> n->shift), word = n->bits[col & n->mask];
  n->bits[col & n->mask] = word | bit;
  return !(word & bit);
}

/* One of the samples of a window, and its counts. */
typedef struct sample {
  bool remote;
  int window;
  int64_t begin, end; /* range of entries of the block */
  int64_t capacity;   /* number of rows that the window holds */
  int64_t hits, all;
} sample;

/* Counts the columns of a sample. The loop reads local copies, which its stores cannot change. */
static inline __attribute__((always_inline)) void count_columns(const sl_inspection *ins, named n, sample *s,
                                                                sley_index index, bool by_bits) {
  const void *const cols = ins->block->col;
  const bool remote = s->remote;
  const int64_t first = ins->block->rowptr[0], end = first + s->end, capacity = s->capacity,
                half = capacity / 2, own = ins->first_col, owned = ins->x_rows;
  int64_t distinct = 0, hits = 0, all = 0;
  for (int64_t e = first + s->begin; e < end && distinct < capacity; e++) {
    const int64_t col = sl_index_at(cols, index, e);
    if (((uint64_t)(col - own) >= (uint64_t)owned) != remote)
      continue;
    const bool fresh = by_bits ? is_new_by_bits(&n, col) : is_new_by_hash(&n, col);
    distinct += fresh;
    all += distinct > half;
    hits += distinct > half && !fresh;
  }
  s->hits = hits;
  s->all = all;
}

static void count_sample(const sl_inspection *ins, const named *n, sample *s) {
  const bool narrow = ins->block->index == SLEY_I32;
  if (narrow && n->bits)
    count_columns(ins, *n, s, SLEY_I32, true);
  else if (narrow)
    count_columns(ins, *n, s, SLEY_I32, false);
  else
    count_columns(ins, *n, s, SLEY_I64, n->bits != NULL);
}

typedef struct samples {
  const sl_inspection *ins;
  int count;
  sample each[SIDES * SL_WINDOWS * SAMPLES];
  int same[SIDES][SL_WINDOWS]; /* first window of the same capacity, whose samples are used for all of them */
} samples;

static sley_status count_samples(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  samples *all = context;
  for (int64_t i = begin; i < end; i++) {
    named n;
    SL_TRY(named_begin(all->ins->block->cols, all->each[i].capacity, &n));
    count_sample(all->ins, &n, &all->each[i]);
    named_end(&n);
  }
  return SLEY_OK;
}

static int64_t capacity_of(const sl_inspection *ins, int window) {
  int64_t row_bytes = ins->wishes->row_bytes > 0 ? ins->wishes->row_bytes : 1;
  int64_t capacity = (int64_t)sl_window_bytes[window] / row_bytes;
  return capacity < LEAST_ROWS ? LEAST_ROWS : capacity > MOST_ROWS ? MOST_ROWS : capacity;
}

/* Adds the samples of a window for the rank's local or remote entries, which use `rows` distinct rows. Adds
 * no sample if the window holds all rows. */
static void add_samples(samples *all, bool remote, int64_t rows, int window) {
  const sl_inspection *ins = all->ins;
  const int64_t nnz = ins->block->nnz, capacity = capacity_of(ins, window);
  int same = window;
  while (same > 0 && capacity_of(ins, same - 1) == capacity)
    same--;
  all->same[remote][window] = same;
  if (rows <= capacity || same < window)
    return;
  int64_t fit = nnz / (8 * capacity), count = fit < 1 ? 1 : fit < SAMPLES ? fit : SAMPLES;
  for (int64_t s = 0; s < count; s++)
    all->each[all->count++] = (sample){.remote = remote,
                                       .window = window,
                                       .begin = nnz / count * s,
                                       .end = nnz / count * (s + 1),
                                       .capacity = capacity};
}

/* The share of entries for which the samples of a window found the row in the window. */
static double share_within(const samples *all, bool remote, int window) {
  int64_t hits = 0, entries = 0;
  for (int i = 0; i < all->count; i++)
    if (all->each[i].remote == remote && all->each[i].window == all->same[remote][window]) {
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

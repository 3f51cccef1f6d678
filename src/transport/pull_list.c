/* SPDX-License-Identifier: Apache-2.0 */
/* Orders the list of a pull so that it alternates between the peers: one thread first decides the order of
 * runs of entries, then all threads write the entries. */
#include "transport/pull_list.h"

#include "base/memory.h"

static sl_pull_entry entry_of(const sl_pull_rows *list, int64_t i) {
  return (sl_pull_entry){.src_row = list->src_rows ? list->src_rows[i] : list->src_first + i,
                         .dst_row = list->dst_rows ? list->dst_rows[i] : list->dst_first + i,
                         .source = list->source};
}

/* Returns the number of entries of a list before a piece. */
static int64_t before(const sl_pull_rows *list, int piece, int pieces) {
  if (piece == pieces)
    return list->count;
  return piece > 0 && list->piece_end ? list->piece_end[piece - 1] : 0;
}

/* Consecutive entries of a list that are also consecutive in the result, where they begin at `at`. */
typedef struct run {
  int64_t at, first, count;
  const sl_pull_rows *list;
} run;

/* The position in a list. next: next entry. due: number of entries that should be written after t rounds,
 * floor(count * t / rounds); left: the remainder of that division, so that the next round needs no product
 * that could overflow. */
typedef struct place {
  int64_t next, due, left;
  int64_t end; /* end of the next entry's piece */
  int piece;   /* piece of the next entry; `pieces` if no entry is left */
} place;

/* The positions in all lists, and the runs so far. */
typedef struct turns {
  const sl_pull_rows *lists;
  int count, pieces, low; /* low: the lowest piece of the entries that are not in a run yet */
  place at[SL_PULL_SOURCES];
  run *run;
  int64_t runs, listed; /* number of runs, and number of entries in them */
} turns;

/* Advances piece and end to the next entry. */
static void settle(turns *t, int l) {
  place *at = &t->at[l];
  while (at->piece < t->pieces && at->next >= at->end) {
    at->piece++;
    at->end = at->piece < t->pieces ? before(&t->lists[l], at->piece + 1, t->pieces) : INT64_MAX;
  }
}

static void find_low(turns *t) {
  t->low = t->pieces;
  for (int l = 0; l < t->count; l++)
    t->low = t->at[l].piece < t->low ? t->at[l].piece : t->low;
}

/* Advances due by one of `rounds` rounds. */
static void count_turn(place *at, int64_t count, int64_t rounds) {
  if (at->due == count)
    return;
  at->left += count;
  at->due += at->left / rounds;
  at->left %= rounds;
}

/* Adds a run of the entries of a list that are due, from a single piece, if that piece is not beyond
 * `most`. */
static void take_turn(turns *t, int l, int most) {
  place *at = &t->at[l];
  const int64_t end = at->due < at->end ? at->due : at->end, count = end - at->next;
  if (at->piece > most || count <= 0)
    return;
  t->run[t->runs++] = (run){t->listed, at->next, count, &t->lists[l]};
  t->listed += count;
  at->next = end;
  settle(t, l);
}

static int64_t rounds_of(const sl_pull_rows *lists, int count) {
  int64_t most = 0;
  for (int l = 0; l < count; l++)
    most = lists[l].count > most ? lists[l].count : most;
  return (most + SL_PULL_TURN - 1) / SL_PULL_TURN;
}

static void list_runs(turns *t, int start, int ahead, int64_t *piece_end) {
  const int64_t rounds = rounds_of(t->lists, t->count);
  const int first = t->count > 0 ? start % t->count : 0;
  for (int l = 0; l < t->count; l++) {
    t->at[l].end = before(&t->lists[l], 1, t->pieces);
    settle(t, l);
  }
  find_low(t);
  for (int s = 0; s < t->low && piece_end; s++)
    piece_end[s] = 0;
  while (t->low < t->pieces)
    for (int i = 0; i < t->count; i++) {
      int l = first + i < t->count ? first + i : first + i - t->count, low = t->low;
      count_turn(&t->at[l], t->lists[l].count, rounds);
      take_turn(t, l, low + ahead);
      if (t->at[l].piece > low)
        find_low(t);
      for (; low < t->low && piece_end; low++)
        piece_end[low] = t->listed;
    }
}

typedef struct filling {
  const run *run;
  sl_pull_entry *out;
} filling;

static sley_status fill_runs(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const filling *f = context;
  for (int64_t r = begin; r < end; r++)
    for (int64_t i = 0; i < f->run[r].count; i++)
      f->out[f->run[r].at + i] = entry_of(f->run[r].list, f->run[r].first + i);
  return SLEY_OK;
}

int64_t sl_pull_count(const sl_pull_rows *lists, int count) {
  int64_t sum = 0;
  for (int l = 0; l < count; l++)
    sum += lists[l].count;
  return sum;
}

sley_status sl_pull_interleave(sl_team *team, const sl_pull_rows *lists, int count, int start, int pieces,
                               int ahead, int64_t *piece_end, sl_pull_entry *out) {
  enum { FEW = 1 << 14, GRAIN = 256 };
  turns t = {.lists = lists, .count = count, .pieces = pieces};
  /* a run ends at the end of a turn or of a piece */
  SL_TRY(SL_NEW(t.run, (rounds_of(lists, count) + pieces) * count, "a list of rows"));
  list_runs(&t, start, ahead, piece_end);
  sley_status status =
      sl_team_for(t.listed < FEW ? NULL : team, t.runs, GRAIN, fill_runs, &(filling){t.run, out});
  sl_free(t.run);
  return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Orders the list of a pull so that it alternates between the peers. */
#include "transport/pull_list.h"

static sl_pull_entry entry_of(const sl_pull_rows *list, int64_t i) {
  return (sl_pull_entry){.src_row = list->src_rows ? list->src_rows[i] : list->src_first + i,
                         .dst_row = list->dst_rows ? list->dst_rows[i] : list->dst_first + i,
                         .source = list->source};
}

/* Entries of a list before those of a piece. */
static int64_t before(const sl_pull_rows *list, int piece, int pieces) {
  if (piece == pieces)
    return list->count;
  return piece > 0 && list->piece_end ? list->piece_end[piece - 1] : 0;
}

/* Entries that the longest list gets in its turn. A kernel has thousands of rows in flight, so links are
 * filled as with one; and the list is made several times as fast. */
enum { TURN = 8 };

/* Where a list is. due: entries that have had their turn after t rounds, floor(count * t / rounds), and what
 * that division leaves, so that the next round needs no product that could overflow. */
typedef struct place {
  int64_t next, due, left;
  int64_t end; /* of the piece of the next entry */
  int piece;   /* of the next entry; `pieces` where none is left */
} place;

/* Where the turns of several lists are. */
typedef struct turns {
  const sl_pull_rows *lists;
  int count, pieces, low; /* the least piece of an entry that has not been listed */
  place at[SL_PULL_SOURCES];
} turns;

/* Goes on to the piece of the next entry. */
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

/* One more round of `rounds`. */
static void count_turn(place *at, int64_t count, int64_t rounds) {
  if (at->due == count)
    return;
  at->left += count;
  at->due += at->left / rounds;
  at->left %= rounds;
}

/* Entries of a list up to the one that is due, of a single piece, if that is not beyond `most`. */
static int64_t take_turn(turns *t, int l, int most, sl_pull_entry *out) {
  place *at = &t->at[l];
  if (at->piece > most)
    return 0;
  int64_t end = at->due < at->end ? at->due : at->end, taken = 0;
  while (at->next < end)
    out[taken++] = entry_of(&t->lists[l], at->next++);
  settle(t, l);
  return taken;
}

/* Nothing to take turns with. */
static int64_t list_one(const sl_pull_rows *list, int pieces, int64_t *piece_end, sl_pull_entry *out) {
  for (int64_t i = 0; i < list->count; i++)
    out[i] = entry_of(list, i);
  for (int s = 0; s < pieces && piece_end; s++)
    piece_end[s] = before(list, s + 1, pieces);
  return list->count;
}

int64_t sl_pull_interleave(const sl_pull_rows *lists, int count, int start, int pieces, int ahead,
                           int64_t *piece_end, sl_pull_entry *out) {
  if (count == 1)
    return list_one(&lists[0], pieces, piece_end, out);
  turns t = {.lists = lists, .count = count, .pieces = pieces};
  int64_t most = 0, at = 0;
  int first = count > 0 ? start % count : 0;
  for (int l = 0; l < count; l++) {
    most = lists[l].count > most ? lists[l].count : most;
    t.at[l].end = before(&lists[l], 1, pieces);
    settle(&t, l);
  }
  const int64_t rounds = (most + TURN - 1) / TURN;
  find_low(&t);
  for (int s = 0; s < t.low && piece_end; s++)
    piece_end[s] = 0;
  while (t.low < pieces)
    for (int i = 0; i < count; i++) {
      int l = first + i < count ? first + i : first + i - count, low = t.low;
      count_turn(&t.at[l], lists[l].count, rounds);
      at += take_turn(&t, l, low + ahead, out + at);
      if (t.at[l].piece > low)
        find_low(&t);
      for (; low < t.low && piece_end; low++)
        piece_end[low] = at;
    }
  return at;
}

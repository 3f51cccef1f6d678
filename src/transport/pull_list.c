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

/* Entries of a list that have had their turn after so many of `turns`. */
static int64_t due(int64_t count, int64_t turn, int64_t turns) {
  return (int64_t)((__int128)count * turn / turns);
}

/* Where the turns of several lists are. */
typedef struct turns {
  const sl_pull_rows *lists;
  int count, pieces, low; /* the least piece of an entry that has not been listed */
  int64_t next[SL_PULL_SOURCES];
  int piece[SL_PULL_SOURCES]; /* of the next entry; `pieces` where none is left */
} turns;

static void settle(turns *t, int l) {
  while (t->piece[l] < t->pieces && t->next[l] >= before(&t->lists[l], t->piece[l] + 1, t->pieces))
    t->piece[l]++;
}

static void find_low(turns *t) {
  t->low = t->pieces;
  for (int l = 0; l < t->count; l++)
    t->low = t->piece[l] < t->low ? t->piece[l] : t->low;
}

/* Entries of a list up to the one that is due, of a single piece, if that is not beyond `most`. */
static int64_t take_turn(turns *t, int l, int64_t due, int most, sl_pull_entry *out) {
  int64_t taken = 0;
  int piece = t->piece[l];
  while (t->next[l] < due && t->piece[l] == piece && piece <= most) {
    out[taken++] = entry_of(&t->lists[l], t->next[l]++);
    settle(t, l);
  }
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
  for (int l = 0; l < count; l++) {
    most = lists[l].count > most ? lists[l].count : most;
    settle(&t, l);
  }
  find_low(&t);
  for (int s = 0; s < t.low && piece_end; s++)
    piece_end[s] = 0;
  for (int64_t turn = 1; t.low < pieces; turn++)
    for (int i = 0; i < count; i++) {
      int l = (start + i) % count, low = t.low;
      at += take_turn(&t, l, due(lists[l].count, turn < most ? turn : most, most), low + ahead, out + at);
      if (t.piece[l] > low)
        find_low(&t);
      for (; low < t.low && piece_end; low++)
        piece_end[low] = at;
    }
  return at;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Recursive halving of a sequence. If no end of a group is near half of the rows, a group before the cut is
 * swapped with one after it, chosen so that the difference of their sizes makes up for most of the
 * imbalance. */
#include "order/balance_sequence.h"

#include "base/memory.h"

/* REACH: groups on each side of a cut that may be swapped. SWAPS: most swaps at a cut. TOLERANCE: a cut may
 * differ from half by 1 / TOLERANCE of the rows that it divides. */
enum { REACH = 64, SWAPS = 3, TOLERANCE = 256 };

typedef struct range {
  int32_t begin, end;
} range;

static int64_t distance(int64_t a, int64_t b) {
  return a > b ? a - b : b - a;
}

/* The cut inside (begin, end) nearest to half of the rows; among equally near cuts the one nearest to the
 * middle, so that empty groups do not make the recursion deep. *excess: twice the rows before the cut, minus
 * all rows. */
static int32_t nearest_cut(const int64_t *size, const int32_t *sequence, range r, int64_t total,
                           int64_t *excess) {
  int64_t before = 0;
  int32_t cut = r.begin, middle = r.begin + (r.end - r.begin) / 2;
  for (int32_t i = r.begin + 1; i < r.end; i++) {
    before += size[sequence[i - 1]];
    int64_t off = distance(2 * before, total), least = distance(*excess, 0);
    if (cut == r.begin || off < least || (off == least && distance(i, middle) < distance(cut, middle))) {
      *excess = 2 * before - total;
      cut = i;
    }
  }
  return cut;
}

/* Swaps the two groups across the cut that bring the excess nearest to zero; returns false if no swap lowers
 * it. */
static bool swap_across(const int64_t *size, int32_t *sequence, range r, int32_t cut, int64_t *excess) {
  int32_t first = cut - r.begin > REACH ? cut - REACH : r.begin,
          last = r.end - cut > REACH ? cut + REACH : r.end;
  int32_t left = -1, right = -1;
  int64_t least = distance(*excess, 0), best = *excess;
  for (int32_t i = cut - 1; i >= first; i--)
    for (int32_t j = cut; j < last; j++) {
      int64_t after = *excess - 2 * (size[sequence[i]] - size[sequence[j]]);
      if (distance(after, 0) < least) {
        least = distance(after, 0);
        best = after;
        left = i;
        right = j;
      }
    }
  if (left < 0)
    return false;
  int32_t held = sequence[left];
  sequence[left] = sequence[right];
  sequence[right] = held;
  *excess = best;
  return true;
}

sley_status sl_balance_sequence(const int64_t *size, int32_t *sequence, int32_t count) {
  range *todo;
  int32_t depth = 0;
  SL_TRY(SL_NEW(todo, (int64_t)count + 1, "an ordering of communities"));
  todo[depth++] = (range){0, count};
  while (depth > 0) {
    range r = todo[--depth];
    if (r.end - r.begin < 2)
      continue;
    int64_t total = 0, excess = 0;
    for (int32_t i = r.begin; i < r.end; i++)
      total += size[sequence[i]];
    int32_t cut = nearest_cut(size, sequence, r, total, &excess);
    for (int s = 0; s < SWAPS && distance(excess, 0) > total / TOLERANCE; s++)
      if (!swap_across(size, sequence, r, cut, &excess))
        break;
    todo[depth++] = (range){r.begin, cut};
    todo[depth++] = (range){cut, r.end};
  }
  sl_free(todo);
  return SLEY_OK;
}

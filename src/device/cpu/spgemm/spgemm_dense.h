/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of C with one sum and one mark for each column. Adding a product takes a load and two or three stores,
 * and no branch. The marks are read 64 at a time and yield the columns in ascending order. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_SPGEMM_DENSE_H
#define SLEY_DEVICE_CPU_SPGEMM_SPGEMM_DENSE_H

#include "device/cpu/spgemm/ahead.h"
#include "device/cpu/spgemm/semiring.h"

/* How many entries ahead row pointers of B, and rows of B, are prefetched. */
enum { POINTERS_AHEAD = 16, ROWS_AHEAD = 6 };

/* The lowest and highest column of a row's products; low > high: there are none. */
typedef struct span {
  int64_t low, high;
} span;

/* Adds the products of row i; groups: also marks the groups of columns that have products. */
static inline __attribute__((always_inline)) span add_row(const sl_spgemm_problem *p, sl_spgemm_space *space,
                                                          int64_t i, sley_semiring semiring, bool groups) {
  sum *restrict sums = space->sum;
  uint8_t *restrict mark = space->mark, *restrict group = space->group;
  const int32_t *col = p->b.col;
  const sum *val = p->b.val;
  span s = {INT64_MAX, -1};
  for (int64_t e = p->a.rowptr[i], end = p->a.rowptr[i + 1]; e < end; e++) {
    fetch_ahead(p, e, end, semiring, POINTERS_AHEAD, ROWS_AHEAD);
    const int64_t k = sl_index_at(p->a.col, p->a.index, e);
    const int64_t first = p->b.rowptr[k], last = p->b.rowptr[k + 1];
    if (first == last)
      continue;
    s.low = col[first] < s.low ? col[first] : s.low;
    s.high = col[last - 1] > s.high ? col[last - 1] : s.high;
    const sum a = semiring == SLEY_PLUS_PAIR ? 1 : ((const sum *)p->a.val)[e];
    for (int64_t j = first; j < last; j++) {
      const uint32_t c = (uint32_t)col[j];
      sums[c] =
          add_product(semiring, sums[c], product_of(semiring, a, semiring == SLEY_PLUS_PAIR ? 1 : val[j]));
      mark[c] = 1;
      if (groups)
        group[c / SL_SPGEMM_GROUP] = 1;
    }
  }
  return s;
}

/* Moves the group's marked columns and sums to col and val, and clears the group. */
static inline __attribute__((always_inline)) int64_t take_marked(sl_spgemm_space *space, int64_t group,
                                                                 sum empty, int32_t *col, sum *val) {
  const int64_t first = group * SL_SPGEMM_GROUP;
  uint8_t *mark = space->mark + first;
  const uint64_t bits = marked(mark);
  if (bits == 0)
    return 0;
  memset(mark, 0, SL_SPGEMM_GROUP);
  return take_group(bits, first, empty, (sum *)space->sum + first, col, val);
}

/* Computes row i. If there are many products, all marks between the lowest and the highest column are
 * examined, else only the marks of groups that have products. */
static inline __attribute__((always_inline)) int64_t dense_row_by(const sl_spgemm_problem *p,
                                                                  sl_spgemm_space *space, int64_t i,
                                                                  sley_semiring semiring, int32_t *col,
                                                                  sum *val) {
  const sum empty = first_sum(semiring);
  int64_t count = 0;
  if (p->bound[i] >= p->b.cols / SL_SPGEMM_GROUP) {
    const span s = add_row(p, space, i, semiring, false);
    for (int64_t g = s.low / SL_SPGEMM_GROUP; g <= s.high / SL_SPGEMM_GROUP && s.high >= 0; g++)
      count += take_marked(space, g, empty, col + count, val + count);
    return count;
  }
  const span s = add_row(p, space, i, semiring, true);
  if (s.high < 0)
    return 0;
  for (int64_t at = s.low / SL_SPGEMM_AHEAD * SL_SPGEMM_GROUP; at <= s.high / SL_SPGEMM_GROUP;
       at += SL_SPGEMM_GROUP) {
    uint64_t bits = marked(space->group + at);
    if (bits == 0)
      continue;
    memset(space->group + at, 0, SL_SPGEMM_GROUP);
    for (; bits != 0; bits &= bits - 1)
      count += take_marked(space, at + __builtin_ctzll(bits), empty, col + count, val + count);
  }
  return count;
}

/* Computes row i where the mask's row has entries. Marks decide which products are added; the mask's columns,
 * which ascend, say which sums are taken. */
static inline __attribute__((always_inline)) int64_t dense_masked_row_by(const sl_spgemm_problem *p,
                                                                         sl_spgemm_space *space, int64_t i,
                                                                         sley_semiring semiring, int32_t *col,
                                                                         sum *val) {
  enum { ALLOWED = 1, FOUND = 3 };
  sum *sums = space->sum;
  uint8_t *mark = space->mark;
  const int32_t *allowed = p->mask->col, *b_col = p->b.col;
  const int64_t from = p->mask->rowptr[i], to = p->mask->rowptr[i + 1];
  for (int64_t j = from; j < to; j++)
    mark[allowed[j]] = ALLOWED;
  const int32_t least = allowed[from], most = allowed[to - 1];
  for (int64_t e = p->a.rowptr[i], end = p->a.rowptr[i + 1]; e < end; e++) {
    fetch_ahead(p, e, end, semiring, POINTERS_AHEAD, ROWS_AHEAD);
    const int64_t k = sl_index_at(p->a.col, p->a.index, e);
    const sum a = semiring == SLEY_PLUS_PAIR ? 1 : ((const sum *)p->a.val)[e];
    int64_t j = p->b.rowptr[k], last = p->b.rowptr[k + 1];
    while (j < last && b_col[j] < least)
      j++;
    for (; j < last && b_col[j] <= most; j++) {
      const uint32_t c = (uint32_t)b_col[j];
      if (!mark[c])
        continue;
      sums[c] =
          add_product(semiring, sums[c],
                      product_of(semiring, a, semiring == SLEY_PLUS_PAIR ? 1 : ((const sum *)p->b.val)[j]));
      mark[c] = FOUND;
    }
  }
  int64_t count = 0;
  for (int64_t j = from; j < to; j++) {
    const int32_t c = allowed[j];
    if (mark[c] == FOUND) {
      col[count] = c;
      val[count++] = sums[c];
      sums[c] = first_sum(semiring);
    }
    mark[c] = 0;
  }
  return count;
}

/* Not inlined, so that its inner loop has all registers. The semiring is a constant in each call. */
static __attribute__((noinline)) int64_t dense_row(const sl_spgemm_problem *p, sl_spgemm_space *space,
                                                   int64_t i, int32_t *col, sum *val) {
  switch (p->semiring) {
  case SLEY_PLUS_TIMES:
    return dense_row_by(p, space, i, SLEY_PLUS_TIMES, col, val);
  case SLEY_PLUS_PAIR:
    return dense_row_by(p, space, i, SLEY_PLUS_PAIR, col, val);
  case SLEY_MIN_PLUS:
    return dense_row_by(p, space, i, SLEY_MIN_PLUS, col, val);
  case SLEY_OR_AND:
    return dense_row_by(p, space, i, SLEY_OR_AND, col, val);
  }
  return 0;
}

static __attribute__((noinline)) int64_t dense_masked_row(const sl_spgemm_problem *p, sl_spgemm_space *space,
                                                          int64_t i, int32_t *col, sum *val) {
  switch (p->semiring) {
  case SLEY_PLUS_TIMES:
    return dense_masked_row_by(p, space, i, SLEY_PLUS_TIMES, col, val);
  case SLEY_PLUS_PAIR:
    return dense_masked_row_by(p, space, i, SLEY_PLUS_PAIR, col, val);
  case SLEY_MIN_PLUS:
    return dense_masked_row_by(p, space, i, SLEY_MIN_PLUS, col, val);
  case SLEY_OR_AND:
    return dense_masked_row_by(p, space, i, SLEY_OR_AND, col, val);
  }
  return 0;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of C with a hash table of columns, linear probing, at most half full. The entries are then sorted by
 * column. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_HASH_H
#define SLEY_DEVICE_CPU_SPGEMM_HASH_H

#include "device/cpu/spgemm/spgemm_dense.h"

/* Number of slots for a row: a power of two, so that short rows use only the start of the table. */
static inline int64_t slots_of_row(int64_t entries) {
  int64_t slots = 64;
  while (slots < 2 * entries)
    slots *= 2;
  return slots;
}

/* Returns the slot of the column, or the empty slot where it belongs. */
static inline int64_t find_slot(const int64_t *key, int64_t slots, int64_t column) {
  int64_t at = (int64_t)((uint64_t)column * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (slots - 1);
  while (key[at] != -1 && key[at] != column)
    at = (at + 1) & (slots - 1);
  return at;
}

/* Radix sort by column, from the lowest to the highest byte in which columns differ. Returns the array that
 * holds the result: list or other. */
static inline sl_spgemm_found *sort_found(sl_spgemm_found *list, sl_spgemm_found *other, int64_t count) {
  enum { SHORT_LIST = 48, DIGITS = 256 };
  if (count <= SHORT_LIST) {
    for (int64_t i = 1; i < count; i++) {
      const sl_spgemm_found moved = list[i];
      int64_t at = i;
      for (; at > 0 && list[at - 1].col > moved.col; at--)
        list[at] = list[at - 1];
      list[at] = moved;
    }
    return list;
  }
  uint64_t differ = 0;
  for (int64_t i = 1; i < count; i++)
    differ |= (uint64_t)(list[i].col ^ list[0].col);
  for (int shift = 0; differ >> shift != 0; shift += 8) {
    if ((differ >> shift & (DIGITS - 1)) == 0) {
      if (shift == 56)
        break;
      continue;
    }
    int64_t place[DIGITS] = {0}, next = 0;
    for (int64_t i = 0; i < count; i++)
      place[(uint64_t)list[i].col >> shift & (DIGITS - 1)]++;
    for (int d = 0; d < DIGITS; d++) {
      const int64_t here = place[d];
      place[d] = next;
      next += here;
    }
    for (int64_t i = 0; i < count; i++)
      other[place[(uint64_t)list[i].col >> shift & (DIGITS - 1)]++] = list[i];
    sl_spgemm_found *sorted = other;
    other = list;
    list = sorted;
    if (shift == 56)
      break;
  }
  return list;
}

/* Inserts a column in an empty slot. */
static inline __attribute__((always_inline)) void insert(sl_spgemm_space *space, int64_t at, int64_t column,
                                                         sley_semiring semiring, bool has, int64_t *found) {
  space->key[at] = column;
  space->slot_mark[at] = has;
  ((sum *)space->slot_sum)[at] = first_sum(semiring);
  space->found[(*found)++] = (sl_spgemm_found){column, at};
}

/* Computes row i. masked: the table starts with the mask's columns and takes no others. */
static inline __attribute__((always_inline)) int64_t hash_row(const sl_spgemm_problem *p,
                                                              sl_spgemm_space *space, int64_t i,
                                                              sley_semiring semiring, sley_index index,
                                                              bool masked, void *col, sum *val) {
  const int64_t slots = slots_of_row(sl_spgemm_row_columns(p, i));
  sum *sums = space->slot_sum;
  int64_t found = 0;
  if (masked)
    for (int64_t j = p->mask->rowptr[i]; j < p->mask->rowptr[i + 1]; j++) {
      const int64_t c = sl_index_at(p->mask->col, index, j), at = find_slot(space->key, slots, c);
      if (space->key[at] == -1)
        insert(space, at, c, semiring, false, &found);
    }
  for (int64_t e = p->a.rowptr[i], end = p->a.rowptr[i + 1]; e < end; e++) {
    fetch_ahead(p, e, end, semiring, POINTERS_AHEAD, ROWS_AHEAD);
    const int64_t k = sl_index_at(p->a.col, p->a.index, e);
    const sum a = semiring == SLEY_PLUS_PAIR ? 1 : ((const sum *)p->a.val)[e];
    for (int64_t j = p->b.rowptr[k]; j < p->b.rowptr[k + 1]; j++) {
      const int64_t c = sl_index_at(p->b.col, index, j), at = find_slot(space->key, slots, c);
      if (space->key[at] == -1) {
        if (masked)
          continue;
        insert(space, at, c, semiring, true, &found);
      }
      space->slot_mark[at] = 1;
      sums[at] =
          add_product(semiring, sums[at],
                      product_of(semiring, a, semiring == SLEY_PLUS_PAIR ? 1 : ((const sum *)p->b.val)[j]));
    }
  }
  const sl_spgemm_found *sorted = masked ? space->found : sort_found(space->found, space->other, found);
  int64_t count = 0;
  for (int64_t f = 0; f < found; f++) {
    const int64_t at = sorted[f].slot;
    space->key[at] = -1;
    if (!space->slot_mark[at])
      continue;
    sl_index_set(col, index, count, sorted[f].col);
    val[count++] = sums[at];
  }
  return count;
}

#endif

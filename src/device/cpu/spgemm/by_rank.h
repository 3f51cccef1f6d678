/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of C of few products. They are sorted by column: each product's place is the number of products that
 * belong before it, computed in vectors without branches. Then equal columns are merged. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_BY_RANK_H
#define SLEY_DEVICE_CPU_SPGEMM_BY_RANK_H

#include "device/cpu/spgemm/semiring.h"
#include "device/cpu/spgemm/spgemm_rows.h"

/* Products of a row, in stored order. */
typedef struct short_list {
  int64_t col64[SL_SPGEMM_RANKED];
  int32_t col[SL_SPGEMM_RANKED];
  sum val[SL_SPGEMM_RANKED];
} short_list;

/* Sets place[i] to the position of product i < count <= width after sorting; among equal columns the earlier
 * product goes first. */
static inline __attribute__((always_inline)) void rank_narrow(int32_t *col, int64_t count, int width,
                                                              int32_t *place) {
  for (int i = 0; i < width; i++) {
    col[i] = i < count ? col[i] : INT32_MAX;
    place[i] = 0;
  }
  for (int j = 0; j < width; j++)
    for (int i = 0; i < width; i++)
      place[i] += col[j] - (i > j) < col[i]; /* valid because columns are not negative */
}

static inline void rank_wide(const int64_t *col, int64_t count, int32_t *place) {
  for (int64_t i = 0; i < count; i++) {
    place[i] = 0;
    for (int64_t j = 0; j < count; j++)
      place[i] += j < i ? col[j] <= col[i] : col[j] < col[i];
  }
}

static inline __attribute__((always_inline)) int64_t rank_row(const sl_spgemm_problem *p, int64_t i,
                                                              sley_semiring semiring, sley_index index,
                                                              void *col, sum *val) {
  short_list list, sorted;
  int32_t place[SL_SPGEMM_RANKED];
  int64_t count = 0;
  for (int64_t e = p->a.rowptr[i], end = p->a.rowptr[i + 1]; e < end; e++) {
    const int64_t k = sl_index_at(p->a.col, p->a.index, e);
    const sum a = semiring == SLEY_PLUS_PAIR ? 1 : ((const sum *)p->a.val)[e];
    for (int64_t j = p->b.rowptr[k]; j < p->b.rowptr[k + 1]; j++, count++) {
      if (index == SLEY_I32)
        list.col[count] = ((const int32_t *)p->b.col)[j];
      else
        list.col64[count] = ((const int64_t *)p->b.col)[j];
      list.val[count] = product_of(semiring, a, semiring == SLEY_PLUS_PAIR ? 1 : ((const sum *)p->b.val)[j]);
    }
  }
  if (index == SLEY_I64)
    rank_wide(list.col64, count, place);
  else if (count <= SL_SPGEMM_RANKED / 2)
    rank_narrow(list.col, count, SL_SPGEMM_RANKED / 2, place);
  else
    rank_narrow(list.col, count, SL_SPGEMM_RANKED, place);
  for (int64_t at = 0; at < count; at++) {
    if (index == SLEY_I32)
      sorted.col[place[at]] = list.col[at];
    else
      sorted.col64[place[at]] = list.col64[at];
    sorted.val[place[at]] = list.val[at];
  }
  int64_t made = -1, last = -1;
  sum so_far = 0;
  for (int64_t at = 0; at < count; at++) {
    const int64_t c = index == SLEY_I32 ? sorted.col[at] : sorted.col64[at];
    so_far = add_product(semiring, c == last ? so_far : first_sum(semiring), sorted.val[at]);
    made += c != last;
    last = c;
    sl_index_set(col, index, made, c);
    val[made] = so_far;
  }
  return made + 1;
}

#endif

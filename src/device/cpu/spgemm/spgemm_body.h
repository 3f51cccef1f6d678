/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of C = A B, each by the accumulator that suits it. The including files have defined the type `sum`,
 * the functions that take marked columns and the functions for rows of few products. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_SPGEMM_BODY_H
#define SLEY_DEVICE_CPU_SPGEMM_SPGEMM_BODY_H

#include <string.h>

#include "device/cpu/spgemm/hash.h"
#include "device/cpu/spgemm/spgemm_dense.h"

static inline __attribute__((always_inline)) int64_t one_row(const sl_spgemm_problem *p,
                                                             sl_spgemm_space *space, int64_t i,
                                                             sley_semiring semiring, sley_index index,
                                                             bool masked, char *col, sum *val) {
  if (sl_spgemm_row_room(p, i) == 0)
    return 0;
  if (!masked && p->bound[i] <= p->short_most)
    return short_row(p, i, semiring, index, col, val);
  if (index == SLEY_I64 || space->columns == 0)
    return hash_row(p, space, i, semiring, index, masked, col, val);
  if (masked)
    return dense_masked_row(p, space, i, (int32_t *)col, val);
  return dense_row(p, space, i, (int32_t *)col, val);
}

/* One loop for each semiring, index type and mask, which are constants in it. */
static inline __attribute__((always_inline)) int64_t
all_rows(const sl_spgemm_problem *p, sl_spgemm_space *space, int64_t begin, int64_t end, char *col, sum *val,
         int64_t *count, sley_semiring semiring, sley_index index, bool masked) {
  int64_t total = 0;
  for (int64_t i = begin; i < end; i++) {
    count[i - begin] = one_row(p, space, i, semiring, index, masked,
                               col + (size_t)total * sl_index_bytes(index), val + total);
    total += count[i - begin];
  }
  return total;
}

static inline __attribute__((always_inline)) int64_t rows_by(const sl_spgemm_problem *p,
                                                             sl_spgemm_space *space, int64_t begin,
                                                             int64_t end, char *col, sum *val, int64_t *count,
                                                             sley_semiring semiring) {
  if (p->index == SLEY_I32)
    return p->mask ? all_rows(p, space, begin, end, col, val, count, semiring, SLEY_I32, true)
                   : all_rows(p, space, begin, end, col, val, count, semiring, SLEY_I32, false);
  return p->mask ? all_rows(p, space, begin, end, col, val, count, semiring, SLEY_I64, true)
                 : all_rows(p, space, begin, end, col, val, count, semiring, SLEY_I64, false);
}

static inline int64_t spgemm_rows(const sl_spgemm_problem *p, sl_spgemm_space *space, int64_t begin,
                                  int64_t end, void *col, void *val, int64_t *count) {
  switch (p->semiring) {
  case SLEY_PLUS_TIMES:
    return rows_by(p, space, begin, end, col, val, count, SLEY_PLUS_TIMES);
  case SLEY_PLUS_PAIR:
    return rows_by(p, space, begin, end, col, val, count, SLEY_PLUS_PAIR);
  case SLEY_MIN_PLUS:
    return rows_by(p, space, begin, end, col, val, count, SLEY_MIN_PLUS);
  case SLEY_OR_AND:
    return rows_by(p, space, begin, end, col, val, count, SLEY_OR_AND);
  }
  return 0;
}

#endif

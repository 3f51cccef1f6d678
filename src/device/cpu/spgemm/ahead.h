/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of B are asked for before their turn comes. The type `sum` is defined before. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_AHEAD_H
#define SLEY_DEVICE_CPU_SPGEMM_AHEAD_H

#include "device/cpu/spgemm/spgemm_rows.h"

/* Entry e of A, before `end`, is next: asks for the row pointers that the entry `pointers` later will read,
 * and for the columns and values that the one `rows` later will; rows < pointers. */
static inline __attribute__((always_inline)) void fetch_ahead(const sl_spgemm_problem *p, int64_t e,
                                                              int64_t end, sley_semiring semiring,
                                                              int pointers, int rows) {
  if (e + pointers < end)
    __builtin_prefetch(&p->b.rowptr[sl_index_at(p->a.col, p->a.index, e + pointers)]);
  if (e + rows < end) {
    const int64_t at = p->b.rowptr[sl_index_at(p->a.col, p->a.index, e + rows)];
    __builtin_prefetch((const char *)p->b.col + (size_t)at * sl_index_bytes(p->index));
    if (semiring != SLEY_PLUS_PAIR)
      __builtin_prefetch((const sum *)p->b.val + at);
  }
}

#endif

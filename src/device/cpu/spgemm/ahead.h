/* SPDX-License-Identifier: Apache-2.0 */
/* Prefetches rows of B. The including file has defined the type `sum`. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_AHEAD_H
#define SLEY_DEVICE_CPU_SPGEMM_AHEAD_H

#include "device/cpu/spgemm/spgemm_rows.h"

/* Called for entry e of A, before `end`: prefetches the row pointers of B for entry e + pointers, and the
 * columns and values for entry e + rows; rows < pointers. */
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of C of few products, for any processor. The including file has defined the type `sum`. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_SHORT_PORTABLE_H
#define SLEY_DEVICE_CPU_SPGEMM_SHORT_PORTABLE_H

#include "device/cpu/spgemm/by_rank.h"

/* Computes row i, of at most SL_SPGEMM_RANKED products and no mask. Returns its number of entries; may
 * overwrite up to SL_SPGEMM_SPILL entries after them. */
static inline __attribute__((always_inline)) int64_t short_row(const sl_spgemm_problem *p, int64_t i,
                                                               sley_semiring semiring, sley_index index,
                                                               void *col, sum *val) {
  return rank_row(p, i, semiring, index, col, val);
}

#endif

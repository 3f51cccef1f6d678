/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the marked columns of a dense accumulator, for any processor. The including file has defined the type
 * `sum`. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_TAKE_PORTABLE_H
#define SLEY_DEVICE_CPU_SPGEMM_TAKE_PORTABLE_H

#include <stdint.h>
#include <string.h>

#include "device/cpu/spgemm/spgemm_rows.h"

/* Bit mask of 64 bytes that are each 0 or 1: bit i is byte i. */
static inline uint64_t marked(const uint8_t *marks) {
  uint64_t bits = 0;
  for (int i = 0; i < 8; i++) {
    uint64_t eight = 0;
    for (int j = 0; j < 8; j++)
      eight |= (uint64_t)marks[8 * i + j] << j;
    bits |= eight << 8 * i;
  }
  return bits;
}

/* For each bit i that is set, ascending, writes column first + i to col and its sum to val, and sets the sum
 * to `empty`. Returns the number of set bits. */
static inline __attribute__((always_inline)) int64_t take_group(uint64_t bits, int64_t first, sum empty,
                                                                sum *sums, int32_t *col, sum *val) {
  int64_t count = 0;
  for (; bits != 0; bits &= bits - 1, count++) {
    const int i = __builtin_ctzll(bits);
    col[count] = (int32_t)(first + i);
    val[count] = sums[i];
    sums[i] = empty;
  }
  return count;
}

#endif

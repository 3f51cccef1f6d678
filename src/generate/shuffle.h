/* SPDX-License-Identifier: Apache-2.0 */
/* A seeded permutation of 0 .. size - 1 as a function, without a table. */
#ifndef SLEY_GENERATE_SHUFFLE_H
#define SLEY_GENERATE_SHUFFLE_H

#include "base/random.h"

enum { SL_SHUFFLE_ROUNDS = 4 };

typedef struct sl_shuffle {
  uint64_t size, mask;
  int shift;
  uint64_t factor[SL_SHUFFLE_ROUNDS], addend[SL_SHUFFLE_ROUNDS];
} sl_shuffle;

/* Makes a permutation; 1 <= size <= 2^62. */
static inline sl_shuffle sl_shuffle_of(uint64_t seed, int64_t size) {
  sl_shuffle s = {.size = (uint64_t)size};
  int bits = 1;
  while (bits < 62 && (INT64_C(1) << bits) < size)
    bits++;
  s.mask = (UINT64_C(1) << bits) - 1;
  s.shift = (bits + 1) / 2;
  for (uint64_t round = 0; round < SL_SHUFFLE_ROUNDS; round++) {
    s.factor[round] = sl_random(seed, round, 0) | 1;
    s.addend[round] = sl_random(seed, round, 1);
  }
  return s;
}

/* Returns the image of i. Each round is a bijection of the numbers below a power of two. A result of size or
 * more is permuted again until it is below size, which keeps the function a bijection (cycle walking; less
 * than two rounds on average). */
static inline int64_t sl_shuffle_at(const sl_shuffle *s, int64_t i) {
  uint64_t x = (uint64_t)i;
  do {
    for (int round = 0; round < SL_SHUFFLE_ROUNDS; round++) {
      x = (x * s->factor[round] + s->addend[round]) & s->mask;
      x ^= x >> s->shift;
    }
  } while (x >= s->size);
  return (int64_t)x;
}

#endif

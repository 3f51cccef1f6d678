/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers as a pure function of a seed and counters: the same on any number of threads. */
#ifndef SLEY_BASE_RANDOM_H
#define SLEY_BASE_RANDOM_H

#include <stdint.h>

#include "base/anywhere.h"

/* A bijection that mixes all 64 bits (the finaliser of SplitMix64). */
SL_ANYWHERE uint64_t sl_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* The numbers of the counters (a, b) for one a: sl_random_of(sl_random_stream(seed, a), b) is sl_random(seed,
 * a, b). */
SL_ANYWHERE uint64_t sl_random_stream(uint64_t seed, uint64_t a) {
  const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
  return sl_mix(sl_mix(seed + golden) + a * golden);
}
SL_ANYWHERE uint64_t sl_random_of(uint64_t stream, uint64_t b) {
  const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
  return sl_mix(stream + (b + 1) * golden);
}

/* 64 random bits for the counters (a, b) of a seed. */
SL_ANYWHERE uint64_t sl_random(uint64_t seed, uint64_t a, uint64_t b) {
  return sl_random_of(sl_random_stream(seed, a), b);
}

/* A uniform number in [0, 1), from 53 bits. */
SL_ANYWHERE double sl_unit(uint64_t bits) {
  return (double)(bits >> 11) * 0x1.0p-53;
}

/* A uniform number in 0 .. n - 1, n >= 1 (n far below 2^64, so the bias is negligible). */
SL_ANYWHERE int64_t sl_below(uint64_t bits, int64_t n) {
  return (int64_t)(((unsigned __int128)bits * (unsigned __int128)n) >> 64);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "random.h"

uint64_t cli_random_at(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

double cli_random_uniform_at(uint64_t seed, uint64_t i) {
  return (double)(cli_random_at(seed, i) >> 11) * 0x1p-53;
}

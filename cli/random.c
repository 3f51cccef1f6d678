/* SPDX-License-Identifier: Apache-2.0 */
#include "random.h"

static const uint64_t STEP = UINT64_C(0x9e3779b97f4a7c15);

uint64_t cli_random_next(uint64_t *state) {
  uint64_t z = *state += STEP;
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

double cli_random_uniform(uint64_t *state) {
  return (double)(cli_random_next(state) >> 11) * 0x1p-53;
}

uint64_t cli_random_at(uint64_t seed, uint64_t i) {
  uint64_t state = seed + i * STEP;
  return cli_random_next(&state);
}

double cli_random_uniform_at(uint64_t seed, uint64_t i) {
  uint64_t state = seed + i * STEP;
  return cli_random_uniform(&state);
}

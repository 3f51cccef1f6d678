/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
#ifndef SLEY_CLI_RANDOM_H
#define SLEY_CLI_RANDOM_H

#include <stdint.h>

/* The next number of a sequence, of all 64 bits. */
uint64_t cli_random_next(uint64_t *state);

/* In [0, 1). */
double cli_random_uniform(uint64_t *state);

/* Number i of the sequence that begins at seed, without those before it. */
uint64_t cli_random_at(uint64_t seed, uint64_t i);
double cli_random_uniform_at(uint64_t seed, uint64_t i);

#endif

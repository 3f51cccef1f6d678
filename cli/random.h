/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
#ifndef SLEY_CLI_RANDOM_H
#define SLEY_CLI_RANDOM_H

#include <stdint.h>

/* Returns the next number of a sequence, uniform over 64 bits. */
uint64_t cli_random_next(uint64_t *state);

/* Returns the next number of a sequence, uniform in [0, 1). */
double cli_random_uniform(uint64_t *state);

/* Return number i of the sequence that begins at seed, without computing the numbers before it. */
uint64_t cli_random_at(uint64_t seed, uint64_t i);
double cli_random_uniform_at(uint64_t seed, uint64_t i);

#endif

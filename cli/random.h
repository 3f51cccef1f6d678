/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
#ifndef SLEY_CLI_RANDOM_H
#define SLEY_CLI_RANDOM_H

#include <stdint.h>

/* Return number i of the sequence that begins at seed: uniform over 64 bits, and uniform in [0, 1). */
uint64_t cli_random_at(uint64_t seed, uint64_t i);
double cli_random_uniform_at(uint64_t seed, uint64_t i);

#endif

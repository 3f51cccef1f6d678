/* SPDX-License-Identifier: Apache-2.0 */
/* Choice of the cases of a run: all cases, or a share that is drawn with a seed. */
#ifndef SLEY_TESTS_DRAWS_H
#define SLEY_TESTS_DRAWS_H

#include <stdint.h>

/* The environment variable SLEY_TEST_SEED, or by default a different number in each run. */
uint64_t test_seed(void);

/* N if one case in N runs, at least 1: the environment variable SLEY_TEST_SHARE (default 1) times the
 * setting's own share (settings.h). */
uint64_t test_share(void);

/* The same, but at most count, so that at least one of count cases runs. */
uint64_t test_share_of(uint64_t count);

/* The start value of the random numbers for the seed and the setting. */
uint64_t test_stream(void);

/* The next random number below n >= 1; launched ranks draw the same number. */
uint64_t test_draw(uint64_t n);

/* Index of the first of count cases to run, after which every test_share-th case runs: random, or 0 if all
 * run. */
uint64_t test_first(uint64_t count);

/* Sets the setting's own share, and restarts the random numbers. */
void test_draw_for(const char *setting, uint64_t share);

#endif

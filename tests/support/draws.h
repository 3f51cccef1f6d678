/* SPDX-License-Identifier: Apache-2.0 */
/* Which cases a run takes: all, or a share that is drawn by a seed. */
#ifndef SLEY_TESTS_DRAWS_H
#define SLEY_TESTS_DRAWS_H

#include <stdint.h>

/* The environment's SLEY_TEST_SEED; where it is not set, another number in each run. */
uint64_t test_seed(void);

/* One case in so many is run, at least 1: the environment's SLEY_TEST_SHARE (default 1) times the setting's
 * own share (settings.h). */
uint64_t test_share(void);

/* The same, count at most: of count cases one at least is run. */
uint64_t test_share_of(uint64_t count);

/* What random numbers of the seed and the setting begin with. */
uint64_t test_stream(void);

/* The next drawn number below n >= 1; launched ranks draw the same. */
uint64_t test_draw(uint64_t n);

/* The first of count cases, each test_share-th of which is run: drawn, 0 where all are run. */
uint64_t test_first(uint64_t count);

/* Sets the setting's own share, and draws anew. */
void test_draw_for(const char *setting, uint64_t share);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests with failing allocations, one after the other. */
#ifndef SLEY_TEST_ALLOCATIONS_H
#define SLEY_TEST_ALLOCATIONS_H

#include "ranks.h"

/* Runs main on the ranks of a case, which are threads, once for each allocation (or one in test_share()), and
 * makes this allocation fail. Each run must return an error on some rank, must not hang and must free all
 * memory. The first and the last run have no failing allocation and must return `end`. Returns the number of
 * allocations. */
int64_t fail_each_allocation(const rank_case *c, sl_rank_main main, void *arg, sley_status end);

#endif

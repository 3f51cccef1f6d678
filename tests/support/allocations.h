/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that fail, one after the other. */
#ifndef SLEY_TEST_ALLOCATIONS_H
#define SLEY_TEST_ALLOCATIONS_H

#include "ranks.h"

/* Runs main on the ranks of a case, which are threads, as long as an allocation is left to fail, the next one
 * each time, or one in test_share(): an error on some rank, no hang, and nothing stays allocated. Fails
 * unless the run without a failure, which comes first and last, ends with `end`. Returns how many allocations
 * there are. */
int64_t fail_each_allocation(const rank_case *c, sl_rank_main main, void *arg, sley_status end);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that count and are never bound. */
#ifndef SLEY_TESTS_DRY_PLAN_H
#define SLEY_TESTS_DRY_PLAN_H

#include "sley.h"

/* Plans a matrix with k columns by `algo` on the ranks of *options, whose rows of Y and of X begin at begin
 * and col_begin. Returns the plan's figures, without the reason. Fails the test if planning fails. */
sley_plan_info dry_plan(const sley_rank_options *options, const sley_matrix *matrix, const int64_t *begin,
                        const int64_t *col_begin, int64_t k, const char *algo);

#endif

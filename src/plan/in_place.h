/* SPDX-License-Identifier: Apache-2.0 */
/* A row block as one part that reads the rows of X of all ranks in place. */
#ifndef SLEY_PLAN_IN_PLACE_H
#define SLEY_PLAN_IN_PLACE_H

#include "plan/plan.h"

/* Sets plan->segment and makes the whole block one part, part 0, whose columns are places in the segments.
 * own_first: in each row, the columns that this rank owns come before the others; this may need a copy of the
 * values. */
sley_status sl_divide_in_place(sl_plan *plan, const sl_inspection *ins, bool own_first);

#endif

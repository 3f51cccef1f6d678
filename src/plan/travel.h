/* SPDX-License-Identifier: Apache-2.0 */
/* What may be asked of any plan about how its values travel: narrower than they are computed with, or only
 * when X has changed. */
#ifndef SLEY_PLAN_TRAVEL_H
#define SLEY_PLAN_TRAVEL_H

#include "plan/plan.h"

/* Whether the inspection asks for either. */
static inline bool sl_asks_to_travel(const sl_inspection *ins) {
  return ins->wishes->has_wire || ins->wishes->keeps_input;
}

/* Changes a plan that is built but not finished to what the inspection asks for. Errors:
 * SLEY_ERR_UNSUPPORTED, the same on all ranks, naming the algorithm. Local. */
sley_status sl_plan_travel(const sl_inspection *ins, sl_plan *plan);

/* keep.c: a buffer for every filling, see sl_plan.keeps_input. Steps name each exchange and part once. */
sley_status sl_plan_separate(sl_plan *plan);

#endif

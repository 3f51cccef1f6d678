/* SPDX-License-Identifier: Apache-2.0 */
/* Changes to how the values of any plan travel: in a narrower type than they are computed with, or only if X
 * has changed. */
#ifndef SLEY_PLAN_TRAVEL_H
#define SLEY_PLAN_TRAVEL_H

#include "plan/plan.h"

/* Returns whether the user wishes one of these changes. */
static inline bool sl_asks_to_travel(const sl_inspection *ins) {
  return ins->wishes->has_wire || ins->wishes->keeps_input;
}

/* Makes the wished changes in a plan that is built but not finished. Errors: SLEY_ERR_UNSUPPORTED, the same
 * on all ranks, with the algorithm's name. Local. */
sley_status sl_plan_travel(const sl_inspection *ins, sl_plan *plan);

/* In keep.c: gives each exchange that would overwrite rows a separate buffer; see sl_plan.keeps_input. Each
 * exchange and part occurs in only one step. */
sley_status sl_plan_separate(sl_plan *plan);

#endif

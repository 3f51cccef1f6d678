/* SPDX-License-Identifier: Apache-2.0 */
/* Predicted times of a plan. */
#ifndef SLEY_PREDICT_COST_H
#define SLEY_PREDICT_COST_H

#include "plan/plan.h"

/* Seconds that an execute of the plan is expected to take on the slowest rank. Collective. */
sley_status sl_plan_predict(const sl_inspection *ins, sl_plan *plan);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Queries over the steps of a plan, of all kinds, and the defaults of a kind's slots. */
#include "plan/step.h"

int sl_step_writes_nothing(const sl_plan *plan, const sl_step *step) {
  (void)plan, (void)step;
  return SL_NO_BUFFER;
}

int sl_step_uses_nothing(sl_plan *plan, sl_step *step, int **used) {
  (void)plan, (void)step, (void)used;
  return 0;
}

void sl_step_costs_nothing(const sl_plan *plan, const sl_step *step, sl_step_cost *sum) {
  (void)plan, (void)step, (void)sum;
}

int64_t sl_step_takes_nothing(const sl_plan *plan, const sl_step *step) {
  (void)plan, (void)step;
  return 0;
}

sley_status sl_step_binds_nothing(sl_run *run, const sl_step *step, void **state) {
  (void)run, (void)step, (void)state;
  return SLEY_OK;
}

void sl_step_releases_nothing(sl_run *run, void *state) {
  (void)run, (void)state;
}

bool sl_plan_does(const sl_plan *plan, unsigned acts) {
  for (int i = 0; i < plan->steps.count; i++)
    if (SL_STEP(plan, i)->kind->acts & acts)
      return true;
  return false;
}

bool sl_plan_maps(const sl_plan *plan, int exchange) {
  for (int i = 0; i < plan->steps.count; i++)
    if (SL_STEP(plan, i)->kind->acts & SL_ACT_MAP && SL_STEP(plan, i)->index == exchange)
      return true;
  return false;
}

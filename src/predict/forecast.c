/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/forecast.h"

#include "base/memory.h"
#include "exec/footprint.h"
#include "plan/count.h"
#include "predict/cost.h"

sley_status sl_forecasts_begin(sl_inspection *ins, sl_forecasts *out) {
  int count = 0;
  while (sl_algorithms[count])
    count++;
  *out = (sl_forecasts){.ins = ins};
  return sl_agree(ins->comm, SL_NEW_ZERO(out->of, count, "forecasts"));
}

void sl_forecasts_end(sl_forecasts *forecasts) {
  sl_free(forecasts->of);
  forecasts->of = NULL;
}

/* Makes this rank's part of a forecast, and frees its plan. Collective at its beginning: once the plan has
 * its lists, no rank waits for another. */
static sley_status plan_here(const sl_forecasts *forecasts, const sl_algorithm *algorithm, sl_forecast *out,
                             sl_plan_share *share, sl_estimate *estimate) {
  sl_inspection *ins = forecasts->ins;
  sl_plan plan;
  *estimate = (sl_estimate){0};
  sley_status status = sl_algorithm_draft(algorithm, ins, true, &plan);
  if (status == SLEY_OK)
    status = sl_plan_count(&plan, share);
  if (status == SLEY_OK)
    status = sl_plan_estimate(ins, &plan, estimate);
  /* this call also finds whether the requested kernel supports the plan */
  if (status == SLEY_OK && (forecasts->wants_memory || ins->wishes->kernel))
    status = sl_exec_memory(&plan, ins->block, false, &out->needed_bytes);
  out->roundings = plan.roundings;
  sl_plan_free(&plan);
  return status;
}

sley_status sl_forecast_get(sl_forecasts *forecasts, int i, const sl_forecast **out) {
  sl_inspection *ins = forecasts->ins;
  sl_forecast *f = &forecasts->of[i];
  *out = f;
  if (f->algorithm)
    return SLEY_OK;
  if (forecasts->progress && ins->comm->rank == 0)
    forecasts->progress(forecasts->progress_context, sl_algorithms[i]->name);
  sl_plan_share share;
  sl_estimate estimate;
  sley_status status = sl_agree(ins->comm, plan_here(forecasts, sl_algorithms[i], f, &share, &estimate));
  if (status == SLEY_OK)
    status = sl_plan_sum_up(ins->comm, &share, &f->figures);
  if (status == SLEY_OK)
    status = sl_estimate_sum_up(&estimate, &f->figures);
  if (status == SLEY_OK)
    f->algorithm = sl_algorithms[i];
  sl_estimate_free(&estimate);
  return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/compare.h"

#include <string.h>

#include "predict/choice.h"

/* Finds the index of a name in sl_algorithms. */
static sley_status find(sl_forecasts *forecasts, const char *name, sley_comparison *comparison, int *place) {
  if (strcmp(name, "auto") == 0)
    return sl_choose(forecasts, place, comparison->reason);
  sl_plan_wishes wishes = *forecasts->ins->wishes; /* times are predicted without the parameters of the
                                                      algorithm */
  sley_status status = sl_algorithm_read_parameters(name, &wishes);
  return sl_agree(forecasts->ins->comm, status == SLEY_OK ? sl_algorithm_find(name, place) : status);
}

/* Sets the handle's plan to the forecast, without lists. */
static sley_status stand_for(sley_plan *handle, const sl_inspection *ins, const sl_forecast *forecast) {
  SL_TRY(sl_agree(ins->comm, sl_plan_begin(ins, forecast->algorithm->name, true, &handle->plan)));
  handle->plan.figures = forecast->figures;
  handle->plan.cover_rows = ins->cover_rows;
  handle->plan.roundings = forecast->roundings;
  return SLEY_OK;
}

/* If not all columns fit, the plan itself is needed, and is built for blocks of columns. */
static sley_status compare_one(sley_plan *handle, sl_inspection *ins, const sley_plan_options *options,
                               const sl_forecast *forecast, sley_plan_info *out) {
  bool fits;
  SL_TRY(stand_for(handle, ins, forecast));
  SL_TRY(sl_spmm_fits(handle, ins, options, forecast->needed_bytes, &fits));
  if (!fits) {
    sl_plan_free(&handle->plan);
    SL_TRY(sl_plan_build(ins, forecast->algorithm->name, true, &handle->plan));
    SL_TRY(sl_spmm_fit(handle, ins, options));
  }
  sl_spmm_info(handle, out);
  return SLEY_OK;
}

sley_status sl_spmm_compare_all(sley_plan *handle, sl_inspection *ins, const sley_plan_options *options,
                                sley_comparison *comparison) {
  sl_forecasts forecasts;
  sley_status status = sl_forecasts_begin(ins, &forecasts);
  forecasts.wants_memory = true;
  forecasts.progress = options->progress;
  forecasts.progress_context = options->progress_context;
  for (int i = 0; i < comparison->count && status == SLEY_OK; i++) {
    const char *name = comparison->names[i];
    const sl_forecast *forecast;
    int place;
    status = find(&forecasts, name, comparison, &place);
    if (status == SLEY_OK)
      status = sl_forecast_get(&forecasts, place, &forecast);
    if (status == SLEY_OK)
      status = compare_one(handle, ins, options, forecast, &comparison->info[i]);
    sl_spmm_free_plans(handle);
    comparison->info[i].reason = strcmp(name, "auto") == 0 ? comparison->reason : "asked for";
  }
  sl_forecasts_end(&forecasts);
  return status;
}

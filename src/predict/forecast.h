/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of algorithms on an inspected matrix, without keeping their plans. A rank frees its plan before it
 * meets the others, so if ranks are threads that take turns, no more plans than turns are in memory: with
 * 1,024 ranks the plans of some algorithms would take 240 KB each. */
#ifndef SLEY_PREDICT_FORECAST_H
#define SLEY_PREDICT_FORECAST_H

#include "algo/algorithm.h"

typedef struct sl_forecast {
  const sl_algorithm *algorithm; /* algorithm; NULL: the forecast is not made yet */
  sl_figures figures;
  int64_t needed_bytes; /* bytes for this rank, see sl_exec_memory; 0 if not requested */
  int roundings;        /* see sl_plan */
} sl_forecast;

/* The forecasts of all algorithms, in the order of sl_algorithms. */
typedef struct sl_forecasts {
  sl_inspection *ins;
  sl_forecast *of;
  bool wants_memory; /* needed_bytes is requested; set before the first forecast is made */
  /* A function called on rank 0 before each forecast is made, or NULL. */
  void (*progress)(void *context, const char *algo);
  void *progress_context;
} sl_forecasts;

/* Prepares empty forecasts, without progress function and memory figures. The inspection outlives them.
 * Agreed. Collective. */
sley_status sl_forecasts_begin(sl_inspection *ins, sl_forecasts *out);
void sl_forecasts_end(sl_forecasts *forecasts);

/* Returns the forecast of sl_algorithms[i], which is made at the first call. Errors: as sl_algorithm_build,
 * the same on all ranks. Collective. */
sley_status sl_forecast_get(sl_forecasts *forecasts, int i, const sl_forecast **out);

#endif

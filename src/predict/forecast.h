/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of algorithms on an inspected matrix, without their plans. A rank's plan is freed before the rank
 * meets the others, so where ranks are threads that take turns no more plans than turns are in memory: among
 * 1,024 ranks those of some algorithms would take 240 KB each. */
#ifndef SLEY_PREDICT_FORECAST_H
#define SLEY_PREDICT_FORECAST_H

#include "algo/algorithm.h"

typedef struct sl_forecast {
  const sl_algorithm *algorithm; /* NULL: not made yet */
  sl_figures figures;
  int64_t needed_bytes; /* of this rank, see sl_exec_memory; 0 where nobody wants it */
  int roundings;        /* see sl_plan */
} sl_forecast;

/* Those of all algorithms, in the order of sl_algorithms. */
typedef struct sl_forecasts {
  sl_inspection *ins;
  sl_forecast *of;
  bool wants_memory; /* to be set before the first forecast is made */
  /* Called on rank 0 before each is made, or NULL. */
  void (*progress)(void *context, const char *algo);
  void *progress_context;
} sl_forecasts;

/* None is made yet, nobody is told, and nobody wants to know of memory. The inspection outlives them. Agreed.
 * Collective. */
sley_status sl_forecasts_begin(sl_inspection *ins, sl_forecasts *out);
void sl_forecasts_end(sl_forecasts *forecasts);

/* The forecast of sl_algorithms[i], made at the first call. Errors: those of sl_algorithm_build, the same on
 * all ranks. Collective. */
sley_status sl_forecast_get(sl_forecasts *forecasts, int i, const sl_forecast **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The choice among the algorithms by predicted time. */
#ifndef SLEY_PREDICT_CHOICE_H
#define SLEY_PREDICT_CHOICE_H

#include "predict/forecast.h"

/* Finds the algorithm predicted fastest: *chosen is its position in sl_algorithms, reason explains the
 * choice. Makes forecasts of the candidates. Collective. */
sley_status sl_choose(sl_forecasts *forecasts, int *chosen, char reason[SL_REASON]);

/* Builds, agrees on, finishes and predicts a plan. name: an algorithm, or "auto" or NULL for the one
 * predicted fastest. The inspection may be used again. Collective. */
sley_status sl_plan_build(sl_inspection *ins, const char *name, bool dry, sl_plan *out);

#endif

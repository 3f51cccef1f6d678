/* SPDX-License-Identifier: Apache-2.0 */
/* Predicted times of a plan. */
#ifndef SLEY_PREDICT_COST_H
#define SLEY_PREDICT_COST_H

#include "predict/cost_moves.h"
#include "predict/cost_sections.h"

/* A rank's estimate of its part of an execute; the estimates of all ranks determine the times. */
typedef struct sl_estimate {
  sl_prediction p; /* prediction; its plan may already be freed */
  double cores;    /* number of cores that the ranks share in turns; 0: enough for all ranks */
  sl_own_moves moves;
  sl_sums sums;
  int sections;
  double section[SL_SECTIONS]; /* seconds of sums, see sl_cost_sections */
  int64_t meetings, stages;
  double least_bytes; /* least bytes that its sums read and write in memory */
  bool in_pieces;     /* whether rows arrive in pieces */
  bool in_flight;     /* whether a part is summed while an exchange is in flight */
} sl_estimate;

/* Finds the machine used for predictions: the machine of the wishes, else the device's. Not collective.
 * Errors: as sl_machine_find. */
sley_status sl_cost_machine(const sl_inspection *ins, const sl_machine **out);

/* Estimates this rank's plan, which may be freed afterwards. Ended by sl_estimate_free, also on an error. Not
 * collective. Errors: SLEY_ERR_MEMORY, and as sl_machine_find. */
sley_status sl_plan_estimate(const sl_inspection *ins, const sl_plan *plan, sl_estimate *out);
void sl_estimate_free(sl_estimate *estimate);

/* Computes the expected times of an execute, on the slowest rank and by phase, from all ranks' estimates,
 * which are overwritten. Collective. */
sley_status sl_estimate_sum_up(sl_estimate *own, sl_figures *out);

/* Calls sl_plan_estimate and sl_estimate_sum_up, and sets the figures of the plan. Collective, agreed. */
sley_status sl_plan_predict(const sl_inspection *ins, sl_plan *plan);

#endif

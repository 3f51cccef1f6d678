/* SPDX-License-Identifier: Apache-2.0 */
/* Predicted times of a plan. */
#ifndef SLEY_PREDICT_COST_H
#define SLEY_PREDICT_COST_H

#include "predict/cost_moves.h"
#include "predict/cost_sections.h"

/* What a rank says of its part of an execute; with what all ranks say, the times. */
typedef struct sl_estimate {
  sl_prediction p; /* its plan may be gone */
  double cores;    /* that the ranks take turns on; 0: there are enough */
  sl_own_moves moves;
  sl_sums sums;
  int sections;
  double section[SL_SECTIONS]; /* seconds of sums, see sl_cost_sections */
  int64_t meetings, stages;
  double least_bytes; /* that its sums take from memory */
  bool in_pieces;     /* rows come in pieces */
  bool in_flight;     /* a part is summed while an exchange is in flight */
} sl_estimate;

/* The machine whose figures predictions take: that of the wishes, else the device's. Local. Errors: those of
 * sl_machine_find. */
sley_status sl_cost_machine(const sl_inspection *ins, const sl_machine **out);

/* Of this rank's plan, which is not needed any more then. Ended by sl_estimate_free, also on error. Local.
 * Errors: SLEY_ERR_MEMORY, and those of sl_machine_find. */
sley_status sl_plan_estimate(const sl_inspection *ins, const sl_plan *plan, sl_estimate *out);
void sl_estimate_free(sl_estimate *estimate);

/* The times that an execute is expected to take, on the slowest rank and by phase, from all ranks' estimates,
 * which are overwritten. Collective. */
sley_status sl_estimate_sum_up(sl_estimate *own, sl_figures *out);

/* Both, for the plan's own figures; agreed. Collective. */
sley_status sl_plan_predict(const sl_inspection *ins, sl_plan *plan);

#endif

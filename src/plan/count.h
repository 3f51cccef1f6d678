/* SPDX-License-Identifier: Apache-2.0 */
/* What is settled when all steps of a plan are in: how Y is made, and the figures of traffic and memory. */
#ifndef SLEY_PLAN_COUNT_H
#define SLEY_PLAN_COUNT_H

#include "plan/plan.h"

/* A rank's own share of its plan's figures. */
typedef struct sl_plan_share {
  sley_traffic received;
  int64_t memory_bytes;
  bool fuses;
} sl_plan_share;

/* Settles how Y is made and counts what this rank receives and keeps, when all steps are in. Local. Errors:
 * SLEY_ERR_MEMORY, where it was short for a list. */
sley_status sl_plan_count(sl_plan *plan, sl_plan_share *out);

/* The figures of traffic and memory, from all ranks' shares. Collective. */
sley_status sl_plan_sum_up(sl_comm *comm, const sl_plan_share *own, sl_figures *out);

/* sl_plan_count, agreed on, and sl_plan_sum_up. Collective. */
sley_status sl_plan_finish(sl_plan *plan);

#endif

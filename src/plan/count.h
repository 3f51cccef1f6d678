/* SPDX-License-Identifier: Apache-2.0 */
/* Work that remains when all steps of a plan are known: how Y is computed, and the figures of traffic and
 * memory. */
#ifndef SLEY_PLAN_COUNT_H
#define SLEY_PLAN_COUNT_H

#include "plan/plan.h"

/* A rank's share of the plan's figures. */
typedef struct sl_plan_share {
  sley_traffic received;
  int64_t memory_bytes;
  bool fuses;
} sl_plan_share;

/* Decides how Y is computed, and counts the bytes that this rank receives and the memory that it keeps. All
 * steps must have been added. Errors: SLEY_ERR_MEMORY, also if memory ran out for a list while the plan was
 * built. Local. */
sley_status sl_plan_count(sl_plan *plan, sl_plan_share *out);

/* Combines the shares of all ranks into the figures of traffic and memory. Collective. */
sley_status sl_plan_sum_up(sl_comm *comm, const sl_plan_share *own, sl_figures *out);

/* Calls sl_plan_count, agrees on its status, and calls sl_plan_sum_up. Collective. */
sley_status sl_plan_finish(sl_plan *plan);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that halo-fused, halo-coalesced, halo-pipelined and cover share: rows within the workgroup
 * straight from their owners, rows of other workgroups through relays, stage by stage. */
#ifndef SLEY_ALGO_STAGES_H
#define SLEY_ALGO_STAGES_H

#include "plan/plan.h"

typedef struct sl_stage_options {
  sl_grain grain; /* of the messages between workgroups */
  bool pipelined; /* a stage a workgroup, or several, in flight while others are summed; else all in one stage
                   */
  const uint8_t *use; /* flags of the halo entries that come as rows of X; NULL: all. Others go to no part */
} sl_stage_options;

/* Adds buffers, exchanges, parts and steps. Collective, agreed up to its last local piece. */
sley_status sl_add_stages(const sl_inspection *ins, const sl_stage_options *options, sl_plan *plan);

#endif

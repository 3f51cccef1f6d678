/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that halo-fused, halo-coalesced, halo-pipelined and cover share: rows within the workgroup come
 * from their owners, rows of other workgroups through relays, stage by stage. */
#ifndef SLEY_ALGO_STAGES_H
#define SLEY_ALGO_STAGES_H

#include "plan/plan.h"

typedef struct sl_stage_options {
  sl_grain grain;     /* grain of the messages between workgroups */
  bool pipelined;     /* stages of one workgroup each, in flight while others are summed; else one stage */
  const uint8_t *use; /* flags of the halo entries that come as rows of X; NULL: all of them. The other
                       * entries belong to no part */
} sl_stage_options;

/* Adds buffers, exchanges, parts and steps. Errors: the ranks agree on all but this rank's local work after
 * the last exchange of lists. Collective. */
sley_status sl_add_stages(const sl_inspection *ins, const sl_stage_options *options, sl_plan *plan);

#endif

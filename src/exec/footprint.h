/* SPDX-License-Identifier: Apache-2.0 */
/* The device memory that binding a plan will need on a rank. */
#ifndef SLEY_EXEC_FOOTPRINT_H
#define SLEY_EXEC_FOOTPRINT_H

#include "plan/plan.h"

/* Sets *out to an upper bound of the bytes of device memory that sl_exec_create allocates: buffers, parts in
 * their kernels' formats, lists, messages, workspaces; on devices with host addresses also the plan's own
 * arrays. twice: with a second set of exchanges, for a narrower last block of columns. For a dry plan, whose
 * parts are not cut, it is an estimate from the block. All ranks must have met. Not collective. */
sley_status sl_exec_memory(const sl_plan *plan, const sley_matrix *block, bool twice, int64_t *out);

#endif

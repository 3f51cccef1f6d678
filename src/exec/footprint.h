/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a rank's device memory binding a plan takes, said before anything is taken. */
#ifndef SLEY_EXEC_FOOTPRINT_H
#define SLEY_EXEC_FOOTPRINT_H

#include "plan/plan.h"

/* At most what sl_exec_create takes for the plan on this rank's device, in bytes: buffers, parts in their
 * kernels' formats, lists, messages, workspaces; on devices with host addresses also the plan's own arrays.
 * twice: with a second set of exchanges, for a last block of columns that is narrower. Of a dry plan, whose
 * parts are not cut, about that: block is what they would be cut from. All ranks have met before; not
 * collective. */
sley_status sl_exec_memory(const sl_plan *plan, const sley_matrix *block, bool twice, int64_t *out);

#endif

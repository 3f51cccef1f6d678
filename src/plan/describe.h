/* SPDX-License-Identifier: Apache-2.0 */
/* The description of a plan as text. */
#ifndef SLEY_PLAN_DESCRIBE_H
#define SLEY_PLAN_DESCRIBE_H

#include "plan/plan.h"

/* Describes this rank's buffers, parts and steps. *out is allocated by sl_alloc. Errors: SLEY_ERR_MEMORY. */
sley_status sl_plan_describe(const sl_plan *plan, char **out);

#endif

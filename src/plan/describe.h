/* SPDX-License-Identifier: Apache-2.0 */
/* A plan in words. */
#ifndef SLEY_PLAN_DESCRIBE_H
#define SLEY_PLAN_DESCRIBE_H

#include "plan/plan.h"

/* This rank's buffers, exchanges, parts and steps as text, from sl_alloc. Errors: SLEY_ERR_MEMORY. */
sley_status sl_plan_describe(const sl_plan *plan, char **out);

#endif

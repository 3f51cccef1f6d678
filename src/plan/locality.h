/* SPDX-License-Identifier: Apache-2.0 */
/* How often a product finds a row of X at hand. */
#ifndef SLEY_PLAN_LOCALITY_H
#define SLEY_PLAN_LOCALITY_H

#include "plan/inspect.h"

/* Shares of this rank's local and remote entries whose row of X was named not long before: within about 1 MiB
 * of distinct rows, as a core's own cache holds. From a few samples of the entries in their order; 1 where
 * all rows fit. Errors: SLEY_ERR_MEMORY. */
sley_status sl_locality(sl_inspection *ins);

#endif

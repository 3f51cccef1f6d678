/* SPDX-License-Identifier: Apache-2.0 */
/* Changes a sequence of groups so that equal row blocks cut few of them. */
#ifndef SLEY_ORDER_BALANCE_H
#define SLEY_ORDER_BALANCE_H

#include "base/status.h"

/* Changes a sequence of count groups, size[g] >= 0 rows each, as little as it takes to let halves, quarters,
 * eighths ... of all rows end near the end of a group, so that 2, 4, 8 ... equal row blocks cut few groups.
 * Groups that are small against a block stay where they are. Errors: SLEY_ERR_MEMORY. */
sley_status sl_balance_sequence(const int64_t *size, int32_t *sequence, int32_t count);

#endif

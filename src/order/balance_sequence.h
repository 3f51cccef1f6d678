/* SPDX-License-Identifier: Apache-2.0 */
/* Changes a sequence of groups so that equal row blocks cut few of them. */
#ifndef SLEY_ORDER_BALANCE_SEQUENCE_H
#define SLEY_ORDER_BALANCE_SEQUENCE_H

#include "base/status.h"

/* Changes a sequence of count groups, size[g] >= 0 rows each, with few swaps, so that halves, quarters,
 * eighths ... of all rows end near the end of a group, and 2, 4, 8 ... equal row blocks cut few groups.
 * Groups that are small relative to a block keep their positions. Errors: SLEY_ERR_MEMORY. */
sley_status sl_balance_sequence(const int64_t *size, int32_t *sequence, int32_t count);

#endif

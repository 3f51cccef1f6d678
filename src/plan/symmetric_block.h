/* SPDX-License-Identifier: Apache-2.0 */
/* Whether A^T is A, without making A^T. */
#ifndef SLEY_PLAN_SYMMETRIC_BLOCK_H
#define SLEY_PLAN_SYMMETRIC_BLOCK_H

#include "plan/inspect.h"

/* *out: rows and columns have the same partition, the columns of each row ascend without repetition, and each
 * entry (i, j) has an entry (j, i) with a value of the same bits, on every rank. A matrix whose rows are not
 * so ordered counts as another one than its transpose. Only entries above the diagonal travel, and only those
 * whose mirror image another rank has. Collective, agreed. */
sley_status sl_is_symmetric(const sl_inspection *ins, bool *out);

#endif

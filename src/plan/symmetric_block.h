/* SPDX-License-Identifier: Apache-2.0 */
/* Finds whether A^T equals A, without building A^T. */
#ifndef SLEY_PLAN_SYMMETRIC_BLOCK_H
#define SLEY_PLAN_SYMMETRIC_BLOCK_H

#include "plan/inspect.h"

/* Sets *out if, on every rank, rows and columns have the same partition, the columns of each row ascend
 * without repetition, and each entry (i, j) has an entry (j, i) with the same bits. So a matrix whose rows
 * are not sorted counts as different from its transpose. Entries are compared by sums of 128 bits of their
 * hashes: a wrong answer has a probability of 2^-128. No entry travels. Collective, agreed. */
sley_status sl_is_symmetric(const sl_inspection *ins, bool *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the rows of a sparse product into parts of about equal work. */
#ifndef SLEY_OPS_SPGEMM_SPLIT_H
#define SLEY_OPS_SPGEMM_SPLIT_H

#include "base/team.h"
#include "base/types.h"

/* Cuts the rows [first, end) of A into parts: part i has the rows [begin[i], begin[i + 1]), and begin has
 * parts + 1 elements. The work of a row is its number of products plus one. a, b: in host memory. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_spgemm_split(const sley_csr *a, const sley_csr *b, int64_t first, int64_t end, int parts,
                            sl_team *team, int64_t *begin);

#endif

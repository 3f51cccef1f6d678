/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a sparse product in parts of about the same work. */
#ifndef SLEY_OPS_SPGEMM_SPLIT_H
#define SLEY_OPS_SPGEMM_SPLIT_H

#include "base/team.h"
#include "base/types.h"

/* Cuts the rows [first, end) of A into parts: part i has the rows [begin[i], begin[i + 1]), and begin has
 * parts
 * + 1 entries. The work of a row is counted as its products and one for the row. a, b: in the host's memory.
 * Errors: SLEY_ERR_MEMORY. */
sley_status sl_spgemm_split(const sley_csr *a, const sley_csr *b, int64_t first, int64_t end, int parts,
                            sl_team *team, int64_t *begin);

#endif

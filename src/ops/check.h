/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLEY_OPS_CHECK_H
#define SLEY_OPS_CHECK_H

#include "matrix/matrix.h"

/* As sley_check_spmm, with a team. */
sley_status sl_check_spmm(const sley_matrix *matrix, int64_t k, const void *x, int64_t ldx, const void *y,
                          int64_t ldy, sl_team *team, sley_check *out);

#endif

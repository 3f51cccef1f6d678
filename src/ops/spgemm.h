/* SPDX-License-Identifier: Apache-2.0 */
/* The product of two sparse matrices in one process. */
#ifndef SLEY_OPS_SPGEMM_H
#define SLEY_OPS_SPGEMM_H

#include "matrix/matrix.h"

enum { SL_SPGEMM_RANKS_MOST = 1024 };

/* As sley_spgemm with checked arguments, by so many threads (0: all cores); options->threads is not looked
 * at.
 */
sley_status sl_spgemm_matrix(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                             int threads, sley_matrix **out, sley_spgemm_info *info);

/* As sley_check_spgemm with checked arguments. */
sley_status sl_check_spgemm(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                            const sley_matrix *c, sl_team *team, sley_check *out);

#endif

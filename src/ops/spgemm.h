/* SPDX-License-Identifier: Apache-2.0 */
/* The product of two sparse matrices in one process. */
#ifndef SLEY_OPS_SPGEMM_H
#define SLEY_OPS_SPGEMM_H

#include "matrix/matrix.h"

enum { SL_SPGEMM_RANKS_MOST = 1024 };

/* The same as sley_spgemm with checked arguments, with `threads` threads (0: all cores); options->threads is
 * not read. */
sley_status sl_spgemm_matrix(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                             int threads, sley_matrix **out, sley_spgemm_info *info);

#endif

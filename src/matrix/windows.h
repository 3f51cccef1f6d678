/* SPDX-License-Identifier: Apache-2.0 */
/* How dense the windows of a matrix are: SLEY_WINDOW_ROWS consecutive rows each. */
#ifndef SLEY_MATRIX_WINDOWS_H
#define SLEY_MATRIX_WINDOWS_H

#include "matrix/matrix.h"

/* The work of sley_matrix_windows. row_at: row i of the windows is row row_at[i] of matrix, a permutation by
 * the caller's promise; NULL: row i. Allocates nothing. Errors: SLEY_ERR_INTERRUPTED. */
sley_status sl_matrix_windows(const sley_matrix *matrix, const int64_t *row_at, sl_team *team,
                              sley_window_info *out);

#endif

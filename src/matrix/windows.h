/* SPDX-License-Identifier: Apache-2.0 */
/* The density of a matrix's windows: SLEY_WINDOW_ROWS consecutive rows each. */
#ifndef SLEY_MATRIX_WINDOWS_H
#define SLEY_MATRIX_WINDOWS_H

#include "matrix/matrix.h"

/* Implements sley_matrix_windows. row_at: row i of the windows is row row_at[i] of matrix; the caller
 * guarantees a permutation; NULL: row i. Allocates nothing. Errors: SLEY_ERR_INTERRUPTED. */
sley_status sl_matrix_windows(const sley_matrix *matrix, const int64_t *row_at, sl_team *team,
                              sley_window_info *out);

#endif

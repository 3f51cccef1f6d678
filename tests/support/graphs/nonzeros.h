/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLEY_TESTS_NONZEROS_H
#define SLEY_TESTS_NONZEROS_H

#include "sley_matrix.h"

/* Creates the f64 matrix, with 64-bit columns, of the nonzeros of x, which has rows x cols values. The caller
 * destroys it. Errors: SLEY_ERR_MEMORY. */
sley_status nonzeros_of(const double *x, int64_t rows, int64_t cols, sley_matrix **out);

#endif

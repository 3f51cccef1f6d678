/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the CSR arrays that a caller gives. In api_matrix.c. */
#ifndef SLEY_API_CSR_ARGUMENTS_H
#define SLEY_API_CSR_ARGUMENTS_H

#include "sley_matrix.h"

/* Checks all that is not in the arrays; csr may be NULL. Errors: SLEY_ERR_ARG. */
sley_status sl_csr_check_sizes(const sley_csr *csr);

/* Checks that arrays with entries have columns and values. Reads the first and the last row pointer. Errors:
 * SLEY_ERR_ARG. */
sley_status sl_csr_check_entries(const sley_csr *csr);

#endif

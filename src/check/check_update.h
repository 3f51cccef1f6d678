/* SPDX-License-Identifier: Apache-2.0 */
/* Compares an update with one in float64, entry by entry. */
#ifndef SLEY_CHECK_CHECK_UPDATE_H
#define SLEY_CHECK_CHECK_UPDATE_H

#include "check/check.h"

/* Z = (alpha A X) W + beta Z0. product: alpha, beta, k, x and ldx, Z0 and Z in place of Y0 and Y, and the
 * fields of the wire. */
typedef struct sl_updated_product {
  sl_scaled_product product;
  const void *w;
  int64_t n, ldw;
} sl_updated_product;

/* The same as sley_check_update, with a team. Errors: SLEY_ERR_MEMORY. */
sley_status sl_check_update(const sley_matrix *matrix, const sl_updated_product *updated, sl_team *team,
                            sley_check *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a product with one in float64, entry by entry. */
#ifndef SLEY_OPS_CHECK_H
#define SLEY_OPS_CHECK_H

#include "matrix/matrix.h"

/* Y = alpha A X + beta Y0, with k columns; y0 is not read if beta is 0. */
typedef struct sl_scaled_product {
  int64_t k, ldx, ldy0, ldy;
  double alpha, beta;
  const void *x, *y0, *y;
  /* Values have travelled in the type wire, which adds wire_bound to the error relative to |A||X|; 0: as they
   * are. */
  double wire_bound;
  sley_dtype wire;
} sl_scaled_product;

/* What so many roundings of values, or of sums of them, to a type add to |Y - A X|, relative to |A||X|. */
double sl_wire_bound(sley_dtype wire, int roundings);

/* As sley_check_scaled, with a team. Errors: SLEY_ERR_MEMORY. */
sley_status sl_check_spmm(const sley_matrix *matrix, const sl_scaled_product *product, sl_team *team,
                          sley_check *out);

#endif

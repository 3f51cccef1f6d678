/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a product with one in float64, entry by entry. */
#ifndef SLEY_CHECK_CHECK_H
#define SLEY_CHECK_CHECK_H

#include "matrix/matrix.h"

/* The product Y = alpha A X + beta Y0, with k columns; y0 is not read if beta is 0. */
typedef struct sl_scaled_product {
  int64_t k, ldx, ldy0, ldy;
  double alpha, beta;
  const void *x, *y0, *y;
  /* Values have been sent in the type wire, which adds wire_bound to the error relative to |A||X|; 0: they
   * were not converted. */
  double wire_bound;
  sley_dtype wire;
  /* As in sley_plan_info; 0 stands for the defaults 1 and 0. */
  double term_roundings, more_roundings;
} sl_scaled_product;

/* Bound of the error of a sum of `terms` terms, relative to |A||X|; eps: of the type of sums. */
double sl_sum_bound(const sl_scaled_product *product, double terms, double eps);

/* Error relative to |A||X| that `roundings` roundings of values, or of sums, to a type add to |Y - A X|. */
double sl_wire_bound(sley_dtype wire, int roundings);

/* Rounding in sums of a type: the unit roundoff, doubled for float64 because the oracle rounds as well. For
 * rounding sums to a 16-bit type, else 0: u, half the least subnormal, and the least magnitude that becomes
 * infinite. */
typedef struct sl_rounding {
  double eps;
  double narrow, least, infinite;
} sl_rounding;
sl_rounding sl_rounding_of(sley_dtype dtype);

/* Adds to bound, which is relative to the magnitude, the rounding of the sum to its type, and returns the
   result. */
double sl_rounding_of_sum(const sl_rounding *r, double bound, double sum, double magnitude);

/* Returns whether y is an infinity to which the sum may be rounded. */
bool sl_rounding_overflows(const sl_rounding *r, double bound, double y, double sum, double magnitude);

/* Error added to a row of Y by values too small for the type in which they were sent; 0: no such error,
 * because the type was wide. */
double sl_wire_least(const sley_matrix *a, int64_t row, double alpha, double wire_bound, sley_dtype wire);

/* An entry of a result compared with its bound. */
typedef struct sl_finding {
  double relative; /* |Y - A X| / |A||X|; infinite if |A||X| = 0 but the error is not 0 */
  double units;    /* error in units of the bound; above 1: wrong */
  double bound;
  int64_t row, col;
} sl_finding;
sl_finding sl_finding_judge(double y, double sum, double magnitude, double bound, int64_t row, int64_t col);
/* Returns whether a is worse. Among equal findings the one at the earlier place is worse, so that the result
 * does not depend on threads. */
bool sl_finding_is_worse(const sl_finding *a, const sl_finding *b);

/* Summary of several entries. */
typedef struct sl_findings {
  sl_finding worst;              /* worst finding; units below 0: there were no entries */
  double largest_error, largest; /* greatest |Y - A X| and |A X| of the finite entries */
} sl_findings;
#define SL_NO_FINDINGS ((sl_findings){.worst = {.units = -1}})
void sl_findings_add(sl_findings *all, const sl_findings *some);
sley_check sl_findings_sum_up(const sl_findings *all);

/* The same as sley_check_scaled, with a team. Errors: SLEY_ERR_MEMORY. */
sley_status sl_check_spmm(const sley_matrix *matrix, const sl_scaled_product *product, sl_team *team,
                          sley_check *out);

/* The same as sley_check_spgemm, with checked arguments. Errors: SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sl_check_spgemm(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                            const sley_matrix *c, sl_team *team, sley_check *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a product with one in float64, entry by entry. */
#ifndef SLEY_CHECK_CHECK_H
#define SLEY_CHECK_CHECK_H

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
  /* As in sley_plan_info; 0: 1 and 0. */
  double term_roundings, more_roundings;
} sl_scaled_product;

/* The bound of a sum of so many terms, relative to |A||X|; eps: of the type of sums. */
double sl_sum_bound(const sl_scaled_product *product, double terms, double eps);

/* What so many roundings of values, or of sums of them, to a type add to |Y - A X|, relative to |A||X|. */
double sl_wire_bound(sley_dtype wire, int roundings);

/* Of sums in a type: unit roundoff, twice that in float64, where the oracle rounds as well; and of rounding
 * sums to a type of 16 bits, else 0: u, half the least subnormal, what becomes infinite. */
typedef struct sl_rounding {
  double eps;
  double narrow, least, infinite;
} sl_rounding;
sl_rounding sl_rounding_of(sley_dtype dtype);

/* bound, of a sum relative to its magnitude, with the rounding of the sum to its type. */
double sl_rounding_of_sum(const sl_rounding *r, double bound, double sum, double magnitude);

/* Whether y is the infinity that the sum may be rounded to. */
bool sl_rounding_overflows(const sl_rounding *r, double bound, double y, double sum, double magnitude);

/* What values too small for the type they travelled in add to the error of a row of Y; 0: they were wide. */
double sl_wire_least(const sley_matrix *a, int64_t row, double alpha, double wire_bound, sley_dtype wire);

/* Where an entry of a result stands against its bound. */
typedef struct sl_finding {
  double relative; /* |Y - A X| / |A||X|; infinite if |A||X| = 0 but the error is not */
  double units;    /* of the bound; above 1: wrong */
  double bound;
  int64_t row, col;
} sl_finding;
sl_finding sl_finding_judge(double y, double sum, double magnitude, double bound, int64_t row, int64_t col);
/* Of equal findings the one in the earlier place, so that the answer does not depend on threads. */
bool sl_finding_is_worse(const sl_finding *a, const sl_finding *b);

/* What some entries come to. */
typedef struct sl_findings {
  sl_finding worst;              /* units below 0: there were none */
  double largest_error, largest; /* of those that are finite: |Y - A X|, |A X| */
} sl_findings;
#define SL_NO_FINDINGS ((sl_findings){.worst = {.units = -1}})
void sl_findings_add(sl_findings *all, const sl_findings *some);
sley_check sl_findings_sum_up(const sl_findings *all);

/* As sley_check_scaled, with a team. Errors: SLEY_ERR_MEMORY. */
sley_status sl_check_spmm(const sley_matrix *matrix, const sl_scaled_product *product, sl_team *team,
                          sley_check *out);

/* As sley_check_spgemm with checked arguments. Errors: SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sl_check_spgemm(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                            const sley_matrix *c, sl_team *team, sley_check *out);

#endif

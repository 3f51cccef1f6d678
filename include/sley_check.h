/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of results against products in float64. */
#ifndef SLEY_CHECK_H
#define SLEY_CHECK_H

#include "sley_spgemm.h"
#include "sley_spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sley_check {
  int64_t row, col; /* the entry of Y whose error comes closest to its bound, or exceeds it most */
  double max_error; /* error of that entry: |Y - A X| / |A||X|, against a float64 product */
  double bound;     /* c eps, the bound of that error. c: terms summed + 1; eps: unit roundoff of the type of
                       sums. For 16-bit values the rounding of Y is added */
  bool ok;          /* every entry is within its bound */
  double relative_error; /* largest |Y - A X| over all entries, relative to the largest |A X| */
} sley_check;

/* Compares Y with a float64 product A X (A^T X if transpose), entry by entry. x, y: whole operands. NaN and
 * infinities are values: where A or X has one, Y must have the result that IEEE 754 defines; the errors in
 * *out cover the finite entries only. */
sley_status sley_check_spmm(const sley_matrix *matrix, bool transpose, int64_t k, const void *x, int64_t ldx,
                            const void *y, int64_t ldy, int threads, sley_check *out);

/* Compares Y = alpha A X + beta Y0 with a float64 product, as sley_check_spmm does, with |alpha A||X| + |beta
 * Y0| in place of |A||X| and c = entries of the row + 6. y0: Y before the product; not read if beta is 0. */
sley_status sley_check_scaled(const sley_matrix *matrix, bool transpose, int64_t k, double alpha,
                              const void *x, int64_t ldx, double beta, const void *y0, int64_t ldy0,
                              const void *y, int64_t ldy, int threads, sley_check *out);

/* Compares as sley_check_scaled does, for a plan with a wire type or with a kernel on Tensor cores: the bound
 * of an entry also allows the rounding of values on the wire and the term_roundings and more_roundings of
 * info. info: the plan's. */
sley_status sley_check_wire(const sley_matrix *matrix, bool transpose, int64_t k, double alpha, const void *x,
                            int64_t ldx, double beta, const void *y0, int64_t ldy0, const void *y,
                            int64_t ldy, int threads, const sley_plan_info *info, sley_check *out);

/* Compares Z = (alpha A X) W + beta Z0, computed by sley_spmm_update, with a float64 product, as
 * sley_check_spmm does, with |alpha A||X||W| + |beta Z0| in place of |A||X| and c = entries of the row + k +
 * 8. x, z0, z: whole operands; z0 is not read if beta is 0. update: as given to sley_spmm_update, but with w
 * in host memory. info: the plan's, or NULL if the plan has neither a wire type nor a kernel on Tensor cores.
 * If the magnitudes of an entry's terms add up to the largest number of the type of sums or more, its value
 * is not compared: it must only be infinite or NaN if the float64 sum is. */
sley_status sley_check_update(const sley_matrix *matrix, bool transpose, int64_t k, const void *x,
                              int64_t ldx, const sley_update *update, const void *z0, int64_t ldz0,
                              const void *z, int64_t ldz, int threads, const sley_plan_info *info,
                              sley_check *out);

/* Compares a sparse product C = A B with sums in float64, entry by entry, as sley_check_spmm does, with
 * |A||B| in place of |A||X| and c = products of the entry + 1. Also checks that C has entries exactly where
 * it must. Where an entry is missing, superfluous or out of order, ok is false, row and col name it, and
 * max_error and relative_error are infinite. options: as given to sley_spgemm; mem_limit and the comm are
 * ignored, and all matrices are whole. Errors also: SLEY_ERR_ARG (sizes that do not fit),
 * SLEY_ERR_UNSUPPORTED (C has 2^31 columns or more). Not collective. */
sley_status sley_check_spgemm(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                              const sley_matrix *c, sley_check *out);

/* Fills rows [first, first + rows) of a dense operand with values in [-1, 1) that depend only on seed, row
 * and column. row_names: NULL, or for each row the number that is used in its place. */
sley_status sley_dense_random(uint64_t seed, int64_t first, int64_t rows, int64_t cols,
                              const int64_t *row_names, sley_dtype dtype, void *data, int64_t ld);

#ifdef __cplusplus
}
#endif
#endif

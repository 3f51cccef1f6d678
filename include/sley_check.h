/* SPDX-License-Identifier: Apache-2.0 */
/* Results beside products in float64. */
#ifndef SLEY_CHECK_H
#define SLEY_CHECK_H

#include "sley_spgemm.h"
#include "sley_spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sley_check {
  int64_t row, col; /* of Y: where the error came closest to, or passed, what rounding allows */
  double max_error; /* there: |Y - A X| / |A||X|, against a float64 product */
  double bound;     /* there: c eps, c the terms summed + 1, eps of the type of sums; with 16 bits also Y's
                       rounding */
  bool ok;          /* every entry is within its bound */
  double relative_error; /* the largest |Y - A X| of all, relative to the largest |A X| */
} sley_check;

/* Compares Y with a float64 product A X (A^T X if transpose), entry by entry. x, y: whole operands. NaN and
 * infinities are values: where A or X has one, Y must have what IEEE 754 makes of it; the errors above are of
 * the entries that are finite. */
sley_status sley_check_spmm(const sley_matrix *matrix, bool transpose, int64_t k, const void *x, int64_t ldx,
                            const void *y, int64_t ldy, int threads, sley_check *out);

/* The same for Y = alpha A X + beta Y0 (|alpha A||X| + |beta Y0| for |A||X|; c: entries of the row + 6). y0:
 * Y before the product; not read if beta is 0. */
sley_status sley_check_scaled(const sley_matrix *matrix, bool transpose, int64_t k, double alpha,
                              const void *x, int64_t ldx, double beta, const void *y0, int64_t ldy0,
                              const void *y, int64_t ldy, int threads, sley_check *out);

/* The same for a product by a plan with wire, or with a kernel on Tensor cores: entries may be off by what
 * its values' roundings allow, and term_roundings and more_roundings, too. info: the plan's. */
sley_status sley_check_wire(const sley_matrix *matrix, bool transpose, int64_t k, double alpha, const void *x,
                            int64_t ldx, double beta, const void *y0, int64_t ldy0, const void *y,
                            int64_t ldy, int threads, const sley_plan_info *info, sley_check *out);

/* The same for Z = (alpha A X) W + beta Z0 by sley_spmm_update (|alpha A||X||W| + |beta Z0| for |A||X|; c:
 * entries of the row + k + 8). x, z0, z: whole operands, z0 not read if beta is 0; update, with w in the
 * host's memory: as it was given. info: the plan's, or NULL where it has neither a wire nor such a
 * kernel. Entries whose
 * float64 sums reach the largest number of the type that they are summed in need only be as finite as these.
 */
sley_status sley_check_update(const sley_matrix *matrix, bool transpose, int64_t k, const void *x,
                              int64_t ldx, const sley_update *update, const void *z0, int64_t ldz0,
                              const void *z, int64_t ldz, int threads, const sley_plan_info *info,
                              sley_check *out);

/* The same for a sparse product C = A B: every entry of C against a sum in float64 (|A||B| for |A||X|; c: the
 * entry's products + 1), and that C has entries exactly where it must. Where an entry is missing, superfluous
 * or out of order, ok is false and row and col name it, max_error and relative_error being infinite. options:
 * as given to sley_spgemm; mem_limit is not looked at. Errors also: SLEY_ERR_ARG (sizes that do not fit),
 * SLEY_ERR_UNSUPPORTED (C has 2^31 columns or more). Not collective. */
sley_status sley_check_spgemm(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                              const sley_matrix *c, sley_check *out);

/* Fills rows [first, first + rows) of a dense operand with values in [-1, 1) that depend on seed, row and
 * column alone. row_names: NULL, or the number that stands for each row. */
sley_status sley_dense_random(uint64_t seed, int64_t first, int64_t rows, int64_t cols,
                              const int64_t *row_names, sley_dtype dtype, void *data, int64_t ld);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Products in one call: argument checks. */
#include "ops/multiply.h"

#include "api/csr_arguments.h"
#include "base/structs.h"
#include "base/value.h"
#include "matrix/matrix.h"

static sley_status check_operand(const char *name, const void *data, int64_t rows, int64_t k, int64_t ld) {
  if (ld < k)
    return sl_fail(SLEY_ERR_ARG, "sley_multiply: the leading dimension of %s is %lld, less than k = %lld",
                   name, (long long)ld, (long long)k);
  if (!data && rows > 0 && k > 0)
    return sl_fail(SLEY_ERR_ARG, "sley_multiply: %s is NULL", name);
  return SLEY_OK;
}

/* Completes and checks the options of a product with an A of rows x cols. */
static sley_status take_options(int64_t rows, int64_t cols, int64_t k, const sley_multiply_options *options,
                                const void *x, const void *y, sley_multiply_options *o) {
  *o = (sley_multiply_options)SLEY_MULTIPLY_OPTIONS_INIT;
  SL_TRY(sl_struct_take("sley_multiply_options", options, sizeof *o, o));
  if (k < 0 || o->threads < 0)
    return sl_fail(SLEY_ERR_ARG, "sley_multiply: k is %lld and threads %d: neither may be negative",
                   (long long)k, o->threads);
  o->ldx = o->ldx ? o->ldx : k;
  o->ldy = o->ldy ? o->ldy : k;
  SL_TRY(check_operand("x", x, o->transpose ? rows : cols, k, o->ldx));
  return check_operand("y", y, o->transpose ? cols : rows, k, o->ldy);
}

/* Returns whether Y has no elements. */
static bool is_empty(int64_t rows, int64_t cols, int64_t k, const sley_multiply_options *o) {
  return k == 0 || (o->transpose ? cols : rows) == 0;
}

static sley_status refuse_halves(sley_dtype dtype, const sley_multiply_options *o) {
  return o->transpose && sl_is_16_bit(dtype)
             ? sl_fail(SLEY_ERR_ARG,
                       "sley_multiply: for values of 16 bits A^T is a copy of the matrix, whose "
                       "arrays must not change: make a matrix, without `changing`")
             : SLEY_OK;
}

sley_status sley_multiply_with(sley_matrix *matrix, int64_t k, const sley_multiply_options *options,
                               const void *x, void *y) {
  sley_multiply_options o;
  if (!matrix)
    return sl_fail(SLEY_ERR_ARG, "sley_multiply: matrix is NULL");
  SL_TRY(take_options(matrix->rows, matrix->cols, k, options, x, y, &o));
  if (o.changing)
    SL_TRY(refuse_halves(matrix->dtype, &o));
  return is_empty(matrix->rows, matrix->cols, k, &o) ? SLEY_OK : sl_multiply(matrix, k, &o, x, y);
}

sley_status sley_multiply_csr(const sley_csr *a, int64_t k, const sley_multiply_options *options,
                              const void *x, void *y) {
  sley_multiply_options o;
  SL_TRY(sl_csr_check_sizes(a));
  SL_TRY(sl_csr_check_entries(a));
  SL_TRY(take_options(a->rows, a->cols, k, options, x, y, &o));
  SL_TRY(refuse_halves(a->dtype, &o));
  return is_empty(a->rows, a->cols, k, &o) ? SLEY_OK : sl_multiply_arrays(a, k, &o, x, y);
}

sley_status sley_multiply(sley_matrix *matrix, int64_t k, const void *x, void *y) {
  return sley_multiply_with(matrix, k, NULL, x, y);
}

sley_status sley_kept_get(const sley_matrix *matrix, sley_kept_info *out) {
  if (!out)
    return sl_fail(SLEY_ERR_ARG, "sley_kept_get: out is NULL");
  sl_kept_get(matrix, out);
  return SLEY_OK;
}

void sley_kept_clear(const sley_matrix *matrix) {
  sl_kept_clear(matrix);
}

sley_status sley_kept_set_limit(int64_t bytes) {
  if (bytes < 0)
    return sl_fail(SLEY_ERR_ARG, "sley_kept_set_limit: %lld bytes: the number must not be negative",
                   (long long)bytes);
  sl_kept_set_limit(bytes);
  return SLEY_OK;
}

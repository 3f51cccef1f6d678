/* SPDX-License-Identifier: Apache-2.0 */
/* Products in one call: argument checks. */
#include "ops/multiply.h"

#include "base/structs.h"
#include "matrix/matrix.h"

static sley_status check_operand(const char *name, const void *data, int64_t rows, int64_t k, int64_t ld) {
  if (ld < k)
    return sl_fail(SLEY_ERR_ARG, "sley_multiply: the leading dimension of %s is %lld, less than k = %lld",
                   name, (long long)ld, (long long)k);
  if (!data && rows > 0 && k > 0)
    return sl_fail(SLEY_ERR_ARG, "sley_multiply: %s is NULL", name);
  return SLEY_OK;
}

sley_status sley_multiply_with(sley_matrix *matrix, int64_t k, const sley_multiply_options *options,
                               const void *x, void *y) {
  sley_multiply_options o = SLEY_MULTIPLY_OPTIONS_INIT;
  if (!matrix)
    return sl_fail(SLEY_ERR_ARG, "sley_multiply: matrix is NULL");
  SL_TRY(sl_struct_take("sley_multiply_options", options, sizeof o, &o));
  if (k < 0 || o.threads < 0)
    return sl_fail(SLEY_ERR_ARG, "sley_multiply: k is %lld and threads %d: neither may be negative",
                   (long long)k, o.threads);
  if (o.transpose && o.changing)
    return sl_fail(SLEY_ERR_ARG, "sley_multiply: A^T is a copy of the matrix, which must not be changing");
  o.ldx = o.ldx ? o.ldx : k;
  o.ldy = o.ldy ? o.ldy : k;
  SL_TRY(check_operand("x", x, o.transpose ? matrix->rows : matrix->cols, k, o.ldx));
  SL_TRY(check_operand("y", y, o.transpose ? matrix->cols : matrix->rows, k, o.ldy));
  if (k == 0 || (o.transpose ? matrix->cols : matrix->rows) == 0)
    return SLEY_OK;
  return sl_multiply(matrix, k, &o, x, y);
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

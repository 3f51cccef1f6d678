/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of products: argument checks. */
#include "base/structs.h"
#include "check/check_update.h"

/* Checks a product, or, with updated, the update to which the product belongs. */
static sley_status check_made(const sley_matrix *matrix, bool transpose, const sl_scaled_product *product,
                              const sl_updated_product *updated, int threads, sley_check *out) {
  sl_team *team = NULL;
  sley_matrix *transposed = NULL;
  sley_status status = sl_team_create(threads, &team);
  if (status == SLEY_OK && transpose)
    status = sl_matrix_transpose(matrix, team, &transposed);
  const sley_matrix *of = transpose ? transposed : matrix;
  if (status == SLEY_OK)
    status = updated ? sl_check_update(of, updated, team, out) : sl_check_spmm(of, product, team, out);
  sl_matrix_destroy(transposed);
  sl_team_destroy(team);
  return status;
}

static sley_status check_product(const sley_matrix *matrix, bool transpose, const sl_scaled_product *product,
                                 int threads, sley_check *out) {
  if (!matrix || !out || threads < 0 || product->k < 0 || product->ldx < product->k ||
      product->ldy < product->k || (product->beta != 0 && product->ldy0 < product->k))
    return sl_fail(
        SLEY_ERR_ARG,
        "a check of a product: matrix or out is NULL, k or threads negative, or a leading dimension "
        "less than k");
  return check_made(matrix, transpose, product, NULL, threads, out);
}

sley_status sley_check_spmm(const sley_matrix *matrix, bool transpose, int64_t k, const void *x, int64_t ldx,
                            const void *y, int64_t ldy, int threads, sley_check *out) {
  sl_scaled_product product = {.k = k, .ldx = ldx, .ldy = ldy, .alpha = 1, .x = x, .y = y};
  return check_product(matrix, transpose, &product, threads, out);
}

sley_status sley_check_scaled(const sley_matrix *matrix, bool transpose, int64_t k, double alpha,
                              const void *x, int64_t ldx, double beta, const void *y0, int64_t ldy0,
                              const void *y, int64_t ldy, int threads, sley_check *out) {
  sl_scaled_product product = {
      .k = k, .ldx = ldx, .ldy0 = ldy0, .ldy = ldy, .alpha = alpha, .beta = beta, .x = x, .y0 = y0, .y = y};
  return check_product(matrix, transpose, &product, threads, out);
}

sley_status sley_check_wire(const sley_matrix *matrix, bool transpose, int64_t k, double alpha, const void *x,
                            int64_t ldx, double beta, const void *y0, int64_t ldy0, const void *y,
                            int64_t ldy, int threads, const sley_plan_info *info, sley_check *out) {
  if (!info)
    return sl_fail(SLEY_ERR_ARG, "sley_check_wire: info is NULL");
  sl_scaled_product product = {.k = k,
                               .ldx = ldx,
                               .ldy0 = ldy0,
                               .ldy = ldy,
                               .alpha = alpha,
                               .beta = beta,
                               .x = x,
                               .y0 = y0,
                               .y = y,
                               .wire_bound = info->wire_bound,
                               .wire = info->wire,
                               .term_roundings = info->term_roundings,
                               .more_roundings = info->more_roundings};
  return check_product(matrix, transpose, &product, threads, out);
}

sley_status sley_check_update(const sley_matrix *matrix, bool transpose, int64_t k, const void *x,
                              int64_t ldx, const sley_update *update, const void *z0, int64_t ldz0,
                              const void *z, int64_t ldz, int threads, const sley_plan_info *info,
                              sley_check *out) {
  sley_update taken = SLEY_UPDATE_INIT;
  SL_TRY(sl_struct_take("sley_update", update, sizeof taken, &taken));
  const int64_t n = taken.n;
  if (!matrix || !update || !out || threads < 0 || k < 0 || n < 0 || ldx < k || taken.ldw < n || ldz < n ||
      (taken.beta != 0 && ldz0 < n))
    return sl_fail(SLEY_ERR_ARG,
                   "sley_check_update: matrix, update or out is NULL, k, n or threads negative, "
                   "or a leading dimension too small");
  sl_updated_product updated = {.product = {.k = k,
                                            .ldx = ldx,
                                            .ldy0 = ldz0,
                                            .ldy = ldz,
                                            .alpha = taken.alpha,
                                            .beta = taken.beta,
                                            .x = x,
                                            .y0 = z0,
                                            .y = z,
                                            .wire_bound = info ? info->wire_bound : 0,
                                            .wire = info ? info->wire : SLEY_F32,
                                            .term_roundings = info ? info->term_roundings : 0,
                                            .more_roundings = info ? info->more_roundings : 0},
                                .w = taken.w,
                                .n = n,
                                .ldw = taken.ldw};
  return check_made(matrix, transpose, NULL, &updated, threads, out);
}

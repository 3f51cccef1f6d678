/* SPDX-License-Identifier: Apache-2.0 */
/* Argument checks of the orderings. */
#include "order/order.h"

const char *const *sley_orders(void) {
  return sl_ordering_names();
}

const char *const *sley_order_candidates(int ranks) {
  return sl_ordering_candidates(ranks);
}

const char *sley_order_summary(const char *name) {
  const sl_ordering *ordering = name ? sl_ordering_named(name) : NULL;
  return ordering ? ordering->summary : NULL;
}

sley_status sley_order(const sley_matrix *matrix, const char *name, uint64_t seed, int threads,
                       int64_t *perm) {
  if (!matrix || !name)
    return sl_fail(SLEY_ERR_ARG, "cannot order: the %s is NULL", matrix ? "ordering's name" : "matrix");
  if (!perm && matrix->rows > 0)
    return sl_fail(SLEY_ERR_ARG, "perm is NULL: give an array of %lld entries", (long long)matrix->rows);
  const sl_ordering *ordering;
  SL_TRY(sl_ordering_find(name, &ordering));
  if (matrix->rows != matrix->cols)
    return sl_fail(SLEY_ERR_ARG, "only a square matrix can be ordered; this one is %lld x %lld",
                   (long long)matrix->rows, (long long)matrix->cols);
  sl_team *team;
  SL_TRY(sl_team_create(threads, &team));
  sley_status status = ordering->run(matrix, seed, team, perm);
  sl_team_destroy(team);
  return status;
}

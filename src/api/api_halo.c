/* SPDX-License-Identifier: Apache-2.0 */
/* Halos of the public interface: argument checks. */
#include "graph/halo_rows.h"
#include "ops/spmm.h"

sley_status sley_halo_create(sley_comm *comm, const int64_t *row, int64_t count, const int64_t *col_begin,
                             int64_t k, sley_dtype dtype, sley_halo **out) {
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "sley_halo_create: comm is NULL");
  SL_TRY(sl_agree(comm, out ? SLEY_OK : sl_fail(SLEY_ERR_ARG, "sley_halo_create: out is NULL")));
  return sl_halo_rows_create(comm, row, count, col_begin, k, dtype, out);
}

sley_status sley_plan_halo(const sley_plan *plan, sley_halo **out) {
  if (!plan)
    return sl_fail(SLEY_ERR_ARG, "sley_plan_halo: plan is NULL");
  SL_TRY(sl_agree(plan->comm, out ? SLEY_OK : sl_fail(SLEY_ERR_ARG, "sley_plan_halo: out is NULL")));
  return sl_halo_rows_of(plan->halo, plan->plan.k, plan->plan.dtype, out);
}

sley_status sley_halo_info_get(const sley_halo *halo, sley_halo_info *out) {
  if (!halo || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_halo_info_get: halo or out is NULL");
  *out = (sley_halo_info){.rows = halo->halo->count,
                          .row = halo->halo->row,
                          .begin = halo->halo->begin,
                          .own_rows = halo->halo->rows,
                          .wanted_rows = halo->halo->wanted_begin[halo->comm->size],
                          .k = halo->k,
                          .dtype = halo->dtype};
  return SLEY_OK;
}

/* Checks X or the buffer. */
static sley_status check_rows(const sley_halo *halo, const char *call, const char *name, const void *data,
                              int64_t rows, int64_t ld) {
  if (ld < halo->k)
    return sl_fail(SLEY_ERR_ARG, "%s: the leading dimension of %s is %lld, less than k = %lld", call, name,
                   (long long)ld, (long long)halo->k);
  if (!data && rows > 0 && halo->k > 0)
    return sl_fail(SLEY_ERR_ARG, "%s: %s is NULL", call, name);
  return SLEY_OK;
}

static sley_status check_both(const sley_halo *halo, const char *call, const void *x, int64_t ldx,
                              const void *buffer, int64_t ld) {
  sley_status status = check_rows(halo, call, "x", x, halo->halo->rows, ldx);
  if (status == SLEY_OK)
    status = check_rows(halo, call, "buffer", buffer, halo->halo->count, ld);
  return sl_abort_on_error(halo->comm, status);
}

sley_status sley_halo_gather(sley_halo *halo, const void *x, int64_t ldx, void *buffer, int64_t ld) {
  if (!halo)
    return sl_fail(SLEY_ERR_ARG, "sley_halo_gather: halo is NULL");
  SL_TRY(check_both(halo, "sley_halo_gather", x, ldx, buffer, ld));
  return sl_halo_rows_run(halo, SL_HALO_GATHER, x, ldx, buffer, ld);
}

sley_status sley_halo_scatter_add(sley_halo *halo, const void *buffer, int64_t ld, void *x, int64_t ldx) {
  if (!halo)
    return sl_fail(SLEY_ERR_ARG, "sley_halo_scatter_add: halo is NULL");
  SL_TRY(check_both(halo, "sley_halo_scatter_add", x, ldx, buffer, ld));
  return sl_halo_rows_run(halo, SL_HALO_SCATTER_ADD, buffer, ld, x, ldx);
}

void sley_halo_destroy(sley_halo *halo) {
  sl_halo_rows_destroy(halo);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Derives a plan for fewer columns from an existing one, for the same matrix and in the same memory. */
#include "base/memory.h"
#include "ops/spmm.h"
#include "plan/count.h"

static sley_status make(const sley_plan *wide, int64_t k, sley_plan *out) {
  out->comm = wide->comm;
  out->nnz = wide->nnz;
  out->accuracy = wide->accuracy;
  out->used = wide->used;
  out->width = k;
  out->blocks = 1;
  return sl_plan_for_columns(&wide->plan, k, &out->plan);
}

sley_status sl_spmm_narrow(const sley_plan *wide, int64_t k, sley_plan **out) {
  sley_plan *plan = NULL;
  *out = NULL;
  sley_status status = SL_NEW_ZERO(plan, 1, "a plan");
  if (status == SLEY_OK)
    status = make(wide, k, plan);
  status = sl_agree(wide->comm, status);
  if (status == SLEY_OK)
    status = sl_plan_finish(&plan->plan);
  if (status == SLEY_OK)
    status = sl_exec_create_sharing(&plan->plan, wide->exec, &plan->exec);
  if (status != SLEY_OK) {
    sl_spmm_plan_destroy(plan);
    return status;
  }
  *out = plan;
  return SLEY_OK;
}

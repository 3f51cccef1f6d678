/* SPDX-License-Identifier: Apache-2.0 */
/* halo: each needed row of X once, from its owner. On rank i, with the remote columns of its rows of A
 * renumbered into the halo H:
 *
 *   Y_i = beta Y_i + alpha A_local X_i + alpha A_remote H,   volume 4 N_R k (CoLa, equations 7, 9: RF).
 *
 * Over direct links the rows of H are loaded; over other links each row is a message. Passes (passes.c)
 * convert this plan to others, such as one that reads rows in place. */
#include "algo/algorithm.h"

static sley_status build_halo(const sl_inspection *ins, sl_plan *plan) {
  const int64_t row_bytes = ins->wishes->row_bytes;
  int halo, exchange, local, remote;
  SL_TRY(sl_plan_add_buffer(plan, "halo", ins->halo_set.count, row_bytes, &halo));
  SL_TRY(sl_plan_add_halo(plan, "halo", ins->halo, SL_HALO_GATHER, SL_BUFFER_X, halo, row_bytes, SL_GRAIN_ROW,
                          &exchange));
  SL_TRY(sl_plan_divide(plan, exchange, &local, &remote));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, exchange));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, local));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_END, exchange));
  return sl_plan_add_step(plan, SL_STEP_SPMM, remote);
}

const sl_algorithm sl_algo_halo = {
    .name = "halo",
    .summary = "a rank gets each row of X that it needs once: read in place, copied, or in a message",
    .consider = sl_consider_always,
    .prepare = sl_prepare_no_more,
    .build = build_halo,
    .serves_one_rank = true};

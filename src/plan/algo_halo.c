/* SPDX-License-Identifier: Apache-2.0 */
/* halo: each needed row of X once, straight from its owner: loaded over direct links, one message a row over
 * the others. Volume 4 N_R k: CoLa, equations 7 and 9 (its RF). */
#include "base/memory.h"
#include "plan/algorithm.h"
#include "plan/parts.h"

/* Parts: remote columns below this rank's own, its own, those above. Unless the sum must run in column order
 * the two remote ones are one. */
static sley_status cut_halo(sl_plan *plan, const sl_inspection *ins, int buffer, int *first) {
  int32_t *part = NULL;
  int64_t *place = NULL;
  sley_status status;
  int64_t below = ins->halo_begin[ins->comm->rank];
  SL_TRY_GOTO(status, SL_NEW(part, ins->halo_set.count, "the column map"), done);
  SL_TRY_GOTO(status, SL_NEW(place, ins->halo_set.count, "the column map"), done);
  for (int64_t h = 0; h < ins->halo_set.count; h++) {
    part[h] = ins->reproducible ? (h < below ? 0 : 2) : 1;
    place[h] = h;
  }
  if (ins->reproducible) {
    sl_part_frame frames[] = {
        {"remote below", buffer, true}, {"local", SL_BUFFER_X, false}, {"remote above", buffer, false}};
    status = sl_parts_cut(plan, ins, &(sl_column_map){1, part, place}, 3, frames, first);
  } else {
    sl_part_frame frames[] = {{"local", SL_BUFFER_X, true}, {"remote", buffer, false}};
    status = sl_parts_cut(plan, ins, &(sl_column_map){0, part, place}, 2, frames, first);
  }
done:
  sl_free(place);
  sl_free(part);
  return status;
}

static sley_status build_halo(const sl_inspection *ins, sl_plan *plan) {
  int buffer, exchange, first;
  SL_TRY(sl_plan_add_buffer(plan, "halo", ins->halo_set.count, ins->row_bytes, &buffer));
  SL_TRY(cut_halo(plan, ins, buffer, &first));
  SL_TRY(sl_plan_add_exchange(plan, "halo", SL_BUFFER_X, buffer, SL_GRAIN_ROW, &exchange));
  int64_t wanted = ins->wanted_begin[ins->comm->size];
  int64_t *rows = sl_plan_alloc(plan, wanted, sizeof *rows);
  if (!rows)
    return SLEY_ERR_MEMORY;
  for (int64_t i = 0; i < wanted; i++)
    rows[i] = ins->wanted[i];
  for (int p = 0; p < ins->comm->size; p++) {
    sl_row_list to = {p,
                      ins->wanted_begin[p + 1] - ins->wanted_begin[p],
                      rows + ins->wanted_begin[p],
                      0,
                      0,
                      ins->row_bytes};
    sl_row_list from = {
        p, ins->halo_begin[p + 1] - ins->halo_begin[p], NULL, ins->halo_begin[p], 0, ins->row_bytes};
    sl_plan_send(plan, exchange, &to);
    sl_plan_recv(plan, exchange, &from);
  }
  SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, exchange));
  if (!ins->reproducible)
    SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, first++));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_END, exchange));
  for (int part = first; part < plan->parts.count; part++)
    SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, part));
  return SLEY_OK;
}

const sl_algorithm sl_algo_halo = {
    .name = "halo", .summary = "each needed row of X once, loaded or one message a row", .build = build_halo};

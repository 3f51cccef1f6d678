/* SPDX-License-Identifier: Apache-2.0 */
/* bcast-1d: every rank's whole block of X goes to all ranks, stage by stage (CAGNET 1D). bcast-1d-pipelined:
 * the block of the next stage is in flight while a stage is summed (MG-GCN). Volume 4 n k (P - 1): CoLa,
 * equation 5. */
#include "base/memory.h"
#include "algo/algorithm.h"
#include "plan/parts.h"

/* Adds stage s, in which rank s's block goes to the buffers of all other ranks. */
static sley_status add_stage(sl_plan *plan, const sl_inspection *ins, int stage, int buffer, int *exchange) {
  int me = ins->comm->rank;
  SL_TRY(sl_plan_add_exchange(plan, "broadcast", SL_BUFFER_X, buffer, SL_GRAIN_PEER, exchange));
  if (stage != me) {
    sl_row_list from = {.peer = stage,
                        .count = ins->col_begin[stage + 1] - ins->col_begin[stage],
                        .bytes = ins->wishes->row_bytes};
    sl_plan_recv(plan, *exchange, &from);
    return SLEY_OK;
  }
  for (int p = 0; p < ins->comm->size; p++) {
    sl_row_list to = {.peer = p, .count = ins->x_rows, .bytes = ins->wishes->row_bytes};
    if (p != me)
      sl_plan_send(plan, *exchange, &to);
  }
  return SLEY_OK;
}

/* Returns whether this rank has a part in stage s: it may have entries in the columns that rank s owns, or s
 * is the first stage, whose part stores every row of Y. */
static bool sums_in(const sl_inspection *ins, int s) {
  return s == 0 || s == ins->comm->rank || ins->halo->begin[s] < ins->halo->begin[s + 1];
}

/* Sets part and place of a stage's halo entries in the column map. */
static void map_owner(const sl_inspection *ins, int owner, int number, int32_t *part, int64_t *place) {
  for (int64_t h = ins->halo->begin[owner]; h < ins->halo->begin[owner + 1]; h++) {
    part[h] = number;
    place[h] = ins->halo->row[h] - ins->col_begin[owner];
  }
}

/* Cuts a part for each stage that needs one; the part of stage s has the columns that rank s owns. With many
 * ranks most stages have no entries here. */
static sley_status cut_stages(sl_plan *plan, const sl_inspection *ins, const int *buffer_of, int *first) {
  int ranks = ins->comm->size, parts = 0, local = 0;
  const int64_t mapped = plan->dry ? 0 : ins->halo_set.count;
  int32_t *part = NULL, *part_of_owner = NULL;
  int64_t *place = NULL;
  sl_part_frame *frames = NULL;
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW(part, mapped, "the column map"), done);
  SL_TRY_GOTO(status, SL_NEW(place, mapped, "the column map"), done);
  SL_TRY_GOTO(status, SL_NEW_ZERO(part_of_owner, ranks, "the column map"), done);
  SL_TRY_GOTO(status, SL_NEW(frames, ranks, "parts"), done);
  for (int p = 0; p < ranks; p++) {
    if (!sums_in(ins, p))
      continue;
    local = p == ins->comm->rank ? parts : local;
    bool own = p == ins->comm->rank;
    frames[parts] = (sl_part_frame){.name = "stage",
                                    .kind = own ? SLEY_PART_LOCAL : SLEY_PART_STAGE,
                                    .x = own ? SL_BUFFER_X : buffer_of[p % 2],
                                    .whole = p == 0};
    if (!plan->dry)
      map_owner(ins, p, parts, part, place);
    part_of_owner[p] = parts++;
  }
  sl_column_map map = {
      .local = local, .part = part, .place = place, .part_of_owner = plan->dry ? part_of_owner : NULL};
  status = sl_parts_cut(plan, ins, &map, parts, frames, first);
done:
  sl_free(frames);
  sl_free(place);
  sl_free(part_of_owner);
  sl_free(part);
  return status;
}

static sley_status build(const sl_inspection *ins, sl_plan *plan, bool pipelined) {
  int ranks = ins->comm->size, buffers[2], first;
  int64_t most = 0;
  for (int p = 0; p < ranks; p++)
    most =
        ins->col_begin[p + 1] - ins->col_begin[p] > most ? ins->col_begin[p + 1] - ins->col_begin[p] : most;
  most = ranks > 1 ? most : 0;
  SL_TRY(sl_plan_add_buffer(plan, "stage 0", most, ins->wishes->row_bytes, &buffers[0]));
  buffers[1] = buffers[0];
  if (pipelined)
    SL_TRY(sl_plan_add_buffer(plan, "stage 1", most, ins->wishes->row_bytes, &buffers[1]));
  SL_TRY(cut_stages(plan, ins, buffers, &first));
  for (int s = 0; s < ranks; s++) {
    int exchange;
    SL_TRY(add_stage(plan, ins, s, buffers[s % 2], &exchange));
  }
  for (int s = 0, part = first; s < ranks; s++) {
    if (!pipelined || s == 0)
      SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, s));
    if (pipelined && s + 1 < ranks)
      SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, s + 1));
    SL_TRY(sl_plan_add_step(plan, SL_STEP_END, s));
    if (sums_in(ins, s))
      SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, part++));
  }
  return SLEY_OK;
}

static sley_status build_plain(const sl_inspection *ins, sl_plan *plan) {
  return build(ins, plan, false);
}

static sley_status build_pipelined(const sl_inspection *ins, sl_plan *plan) {
  return build(ins, plan, true);
}

const sl_algorithm sl_algo_bcast_1d = {
    .name = "bcast-1d",
    .summary = "every rank sends its whole block of X to all ranks, stage by stage",
    .consider = sl_consider_always,
    .prepare = sl_prepare_no_more,
    .build = build_plain};
const sl_algorithm sl_algo_bcast_1d_pipelined = {
    .name = "bcast-1d-pipelined",
    .summary = "as bcast-1d, but the next block travels while one is multiplied",
    .consider = sl_consider_always,
    .prepare = sl_prepare_no_more,
    .build = build_pipelined};

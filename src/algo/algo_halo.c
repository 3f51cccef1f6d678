/* SPDX-License-Identifier: Apache-2.0 */
/* halo: each needed row of X once, straight from its owner. Volume 4 N_R k: CoLa, equations 7 and 9 (its RF).
 *
 * Where all links are direct and lend memory of the host, rows are read in place, wherever they lie, and the
 * block is summed in one pass, of each row the rank's own columns first: so the bits are those of the two
 * parts of other transports. Devices with memory of their own load them over direct links, in pieces, while
 * they sum the rows that need none. Else they are brought and summed after the local part: loaded over direct
 * links, one message a row over the others. */
#include "base/memory.h"
#include "device/asked_kernel.h"
#include "algo/algorithm.h"
#include "algo/halo_pieces.h"
#include "plan/in_place.h"
#include "plan/parts.h"

/* Parts: remote columns below this rank's own, its own, those above. Unless the sum must run in column order
 * the two remote ones are one. */
static sley_status cut_halo(sl_plan *plan, const sl_inspection *ins, int buffer, int *first) {
  if (!ins->wishes->reproducible) {
    sl_column_map columns = {.local = 0, .remote = 1};
    sl_part_frame frames[] = {{.name = "local", .x = SL_BUFFER_X, .whole = true},
                              {.name = "remote", .kind = SLEY_PART_HALO, .x = buffer}};
    return sl_parts_cut(plan, ins, &columns, 2, frames, first);
  }
  int32_t *part;
  SL_TRY(SL_NEW(part, ins->halo_set.count, "the column map"));
  int64_t below = ins->halo->begin[ins->comm->rank];
  for (int64_t h = 0; h < ins->halo_set.count; h++)
    part[h] = h < below ? 0 : 2;
  sl_column_map columns = {.local = 1, .part = part};
  sl_part_frame frames[] = {{.name = "remote below", .kind = SLEY_PART_HALO, .x = buffer, .whole = true},
                            {.name = "local", .x = SL_BUFFER_X},
                            {.name = "remote above", .kind = SLEY_PART_HALO, .x = buffer}};
  sley_status status = sl_parts_cut(plan, ins, &columns, 3, frames, first);
  sl_free(part);
  return status;
}

/* One rank: nothing to exchange. */
static sley_status build_alone(const sl_inspection *ins, sl_plan *plan) {
  int part;
  sl_column_map columns = {.local = 0};
  sl_part_frame frame = {.name = "block", .x = SL_BUFFER_X, .whole = true};
  SL_TRY(sl_parts_cut(plan, ins, &columns, 1, &frame, &part));
  return sl_plan_add_step(plan, SL_STEP_SPMM, part);
}

/* Rows that are summed first, without the halo, and the others. */
static sley_status cut_pieces(sl_plan *plan, const sl_inspection *ins, const sl_halo_pieces *pieces,
                              int buffer, int exchange, int *early) {
  sl_column_map columns = {.row_part = pieces->row_part, .place = pieces->place, .far_place = ins->x_rows};
  sl_part_frame frames[] = {{.name = "early rows", .x = SL_BUFFER_X},
                            {.name = "other rows", .kind = SLEY_PART_BOTH, .x = SL_BUFFER_X, .far = buffer}};
  SL_TRY(sl_parts_cut(plan, ins, &columns, 2, frames, early));
  sl_part *others = SL_PART(plan, *early + 1);
  others->pieces = pieces->count;
  others->piece_end = pieces->rows;
  others->exchange = exchange;
  SL_PART(plan, *early)->during_pull = others->during_pull = true;
  return SLEY_OK;
}

static void fill_exchange(sl_plan *plan, const sl_inspection *ins, const sl_halo_pieces *pieces,
                          int exchange) {
  SL_EXCHANGE(plan, exchange)->spec.pieces = pieces->count;
  SL_EXCHANGE(plan, exchange)->spec.unhurried = pieces->unhurried;
  for (int p = 0; p < ins->comm->size; p++) {
    sl_row_list send = sl_halo_list_of_x(ins->halo, p, ins->wishes->row_bytes);
    sl_row_list recv = sl_halo_list_of_buffer(ins->halo, p, ins->wishes->row_bytes);
    send.rows = pieces->wanted + ins->halo->wanted_begin[p];
    recv.piece_end = pieces->end + (int64_t)p * pieces->count;
    sl_plan_send(plan, exchange, &send);
    sl_plan_recv(plan, exchange, &recv);
  }
}

/* Rows of the halo begin at whole sectors where that makes them at most a quarter longer, so that kernels can
 * read them as they arrive. */
static int64_t stride_of_halo(const sl_inspection *ins) {
  const int64_t row = ins->wishes->row_bytes, whole = (row + SL_SECTOR - 1) / SL_SECTOR * SL_SECTOR;
  return 4 * (whole - row) <= row ? whole : row;
}

/* The pull is given to the device before anything is summed. The other rows go beside, where their pieces are
 * awaited, so that the early ones' last leave no device idle. */
static sley_status add_pieces(const sl_inspection *ins, sl_plan *plan, const sl_halo_pieces *pieces) {
  int buffer, early, exchange;
  SL_TRY(sl_plan_add_buffer(plan, "halo", ins->halo_set.count, stride_of_halo(ins), &buffer));
  SL_TRY(sl_plan_add_exchange(plan, "halo", SL_BUFFER_X, buffer, SL_GRAIN_ROW, &exchange));
  SL_TRY(cut_pieces(plan, ins, pieces, buffer, exchange, &early));
  fill_exchange(plan, ins, pieces, exchange);
  SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, exchange));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_FORK, 0));
  SL_TRY(sl_plan_add_concurrent(plan, SL_STEP_ARRIVE, exchange));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, early));
  SL_TRY(sl_plan_add_concurrent(plan, SL_STEP_SPMM, early + 1));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_JOIN, 0));
  return sl_plan_add_step(plan, SL_STEP_END, exchange);
}

static sley_status build_in_pieces(const sl_inspection *ins, sl_plan *plan) {
  sl_halo_pieces pieces;
  sley_status status = sl_halo_pieces_make(ins, plan, &pieces);
  if (status == SLEY_OK)
    status = add_pieces(ins, plan, &pieces);
  sl_halo_pieces_free(&pieces);
  return status;
}

/* Devices that bring rows to memory of their own, all over direct links, and Sley's kernels on all ranks,
 * which sum over two memories. Rows that are to be widened first cannot be summed as they arrive. Collective.
 */
static sley_status suits_pieces(const sl_inspection *ins, bool *suits) {
  sl_comm *comm = ins->comm;
  const sl_plan_wishes *wishes = ins->wishes;
  int64_t own = !wishes->library && sl_kernel_takes_far(wishes->kernel, ins->block->dtype, wishes->k);
  *suits = false;
  if (comm->device->ops->host_addresses || comm->workgroup < comm->size || ins->wishes->has_wire)
    return SLEY_OK;
  SL_TRY(comm->ops->allreduce(comm, SL_MIN, &own, 1));
  *suits = own;
  return SLEY_OK;
}

static sley_status build_halo(const sl_inspection *ins, sl_plan *plan) {
  const sl_comm *comm = ins->comm;
  if (comm->size == 1)
    return build_alone(ins, plan);
  bool pieces;
  SL_TRY(suits_pieces(ins, &pieces));
  if (pieces)
    return build_in_pieces(ins, plan);
  bool may_lend = comm->workgroup == comm->size && comm->device->ops->host_addresses;
  bool in_place = may_lend && comm->zero_copy && !ins->wishes->keeps_input;
  plan->begins_with_y = may_lend && !ins->wishes->reproducible;
  int buffer, exchange, first;
  SL_TRY(
      sl_plan_add_buffer(plan, "halo", in_place ? 0 : ins->halo_set.count, ins->wishes->row_bytes, &buffer));
  SL_TRY(in_place ? sl_parts_in_place(plan, ins, !ins->wishes->reproducible, &first)
                  : cut_halo(plan, ins, buffer, &first));
  SL_TRY(sl_plan_add_halo(plan, "halo", ins->halo, SL_HALO_GATHER, SL_BUFFER_X, buffer,
                          ins->wishes->row_bytes, SL_GRAIN_ROW, &exchange));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, exchange));
  if (in_place)
    SL_TRY(sl_plan_add_step(plan, SL_STEP_MAP, exchange));
  if (in_place || !ins->wishes->reproducible)
    SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, first++));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_END, exchange));
  for (int part = first; part < plan->parts.count; part++)
    SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, part));
  return SLEY_OK;
}

const sl_algorithm sl_algo_halo = {
    .name = "halo",
    .summary = "each needed row of X once, read in place, loaded, or one message a row",
    .consider = sl_consider_always,
    .prepare = sl_prepare_no_more,
    .build = build_halo,
    .serves_one_rank = true};

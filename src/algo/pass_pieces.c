/* SPDX-License-Identifier: Apache-2.0 */
/* Devices with their own memory load the halo over direct links. Meanwhile they sum the rows that need no
 * halo, then the other rows as their pieces arrive; or the entries of their own columns (halo_pieces.h). */
#include "algo/halo_pieces.h"

#include <math.h>

#include "algo/passes.h"
#include "base/overrides.h"
#include "device/asked_kernel.h"
#include "machine/machine.h"

/* The pass applies to devices that copy rows to their own memory, if all links are direct. Rows that must be
 * widened first cannot be summed as they arrive, so there must be no wire type. */
bool sl_passes_meet(const sl_inspection *ins) {
  const sl_comm *comm = ins->comm;
  return comm->size > 1 && !comm->device->ops->host_addresses && comm->workgroup == comm->size &&
         !ins->wishes->has_wire;
}

sley_status sl_pieces_suit(const sl_inspection *ins, bool *out) {
  const sl_plan_wishes *wishes = ins->wishes;
  *out = false;
  if (!sl_passes_meet(ins))
    return SLEY_OK;
  int64_t own = !wishes->library && sl_kernel_takes_far(wishes->kernel, ins->block->dtype, wishes->k);
  SL_TRY(ins->comm->ops->allreduce(ins->comm, SL_MIN, &own, 1));
  *out = own;
  return SLEY_OK;
}

/* Returns the seconds that this rank saves if rows of X begin at multiples of SL_ROW_UNIT bytes on all ranks:
 * its pull then loads whole units, not words of the width that the rows allow, but each rank copies X. */
static double seconds_saved(const sl_inspection *ins) {
  const sl_device_figures *figures = &ins->comm->device->figures;
  const double link = sl_machine_of(ins->comm->device)->link[SL_LINK_DIRECT].bandwidth;
  const int64_t row = ins->wishes->row_bytes, padded = sl_up_to(row, SL_ROW_UNIT), word = row & -row;
  if (figures->pull_words <= 0)
    return 0;
  const double narrow = (double)row / fmin((double)word * figures->pull_words, link),
               whole = (double)padded / link;
  return (double)ins->halo_set.count * (narrow - whole) - figures->launch -
         (double)(ins->x_rows * (row + padded)) / figures->memory;
}

/* Sets plan->x_unit, for an exchange of rows of X. Collective. */
static sley_status choose_unit(const sl_inspection *ins, sl_plan *plan) {
  const int64_t row = ins->wishes->row_bytes;
  if (row == 0 || row % SL_ROW_UNIT == 0 || SL_EXCHANGE(plan, plan->division.exchange)->src != SL_BUFFER_X)
    return SLEY_OK;
  int64_t saved = (int64_t)(1e9 * seconds_saved(ins));
  SL_TRY(ins->comm->ops->allreduce(ins->comm, SL_SUM, &saved, 1));
  if (saved > 0 || sl_overrides.aligns)
    plan->x_unit = SL_ROW_UNIT;
  return SLEY_OK;
}

/* Sorts the rows of the exchange by piece, rounds up their bytes to plan->x_unit, and sets the stride of its
 * buffer. The pieces have separate lists, so the lists of the halo are released. */
static void lay_exchange(const sl_inspection *ins, sl_plan *plan, const sl_halo_pieces *pieces,
                         int exchange) {
  sl_exchange_spec *spec = &SL_EXCHANGE(plan, exchange)->spec;
  const int buffer = SL_EXCHANGE(plan, exchange)->dst;
  SL_BUFFER(plan, buffer)->arrives = true;
  sl_pass_resize(plan, buffer, SL_BUFFER(plan, buffer)->rows,
                 sl_arriving_stride(sl_up_to(ins->wishes->row_bytes, plan->x_unit)));
  spec->pieces = pieces->own_first ? 1 : pieces->count;
  spec->unhurried = pieces->unhurried;
  for (int i = 0; i < spec->sends; i++) {
    sl_row_list *list = (sl_row_list *)&spec->send[i]; /* the plan owns its lists */
    list->rows = pieces->wanted + ins->halo->wanted_begin[list->peer];
    list->bytes = sl_up_to(list->bytes, plan->x_unit);
  }
  for (int i = 0; i < spec->recvs; i++) {
    sl_row_list *list = (sl_row_list *)&spec->recv[i];
    list->piece_end = pieces->own_first ? NULL : pieces->end + (int64_t)list->peer * pieces->count;
    list->bytes = sl_up_to(list->bytes, plan->x_unit);
  }
  sl_plan_drop_halo(plan);
}

/* The pull is enqueued before any sum. The part with the other rows waits for its pieces in the second queue,
 * so that the device is not idle while the last early rows are summed. */
static sley_status divide(const sl_inspection *ins, sl_plan *plan, sl_halo_pieces *pieces) {
  enum { EARLY, OTHERS };
  const int exchange = plan->division.exchange, x = SL_EXCHANGE(plan, exchange)->src,
            buffer = SL_EXCHANGE(plan, exchange)->dst;
  const sl_plain_steps steps = {.begin = {{.kind = SL_STEP_BEGIN, .index = exchange},
                                          {.kind = SL_STEP_FORK},
                                          {.kind = SL_STEP_ARRIVE, .index = exchange, .concurrent = true}},
                                .local = {{.kind = SL_STEP_SPMM, .index = EARLY},
                                          {.kind = SL_STEP_SPMM, .index = OTHERS, .concurrent = true},
                                          {.kind = SL_STEP_JOIN}},
                                .end = {{.kind = SL_STEP_END, .index = exchange}}};
  const sl_division division = {
      .count = 2,
      .map = {.row_part = pieces->row_part, .place = pieces->place, .far_place = ins->x_rows},
      .frame = {[EARLY] = {.name = "early rows", .x = x, .during_pull = true},
                [OTHERS] = {.name = "other rows",
                            .kind = SLEY_PART_BOTH,
                            .x = x,
                            .far = buffer,
                            .pieces = pieces->count,
                            .piece_end = pieces->rows,
                            .exchange = exchange,
                            .during_pull = true}},
      .owned = {pieces->row_part, pieces->place}};
  pieces->row_part = NULL;
  pieces->place = NULL;
  lay_exchange(ins, plan, pieces, exchange);
  return sl_pass_replace(plan, &steps, &division);
}

/* The pull is enqueued before the sums of the own columns. The division stays as it is. */
static sley_status sum_own_first(const sl_inspection *ins, sl_plan *plan, sl_halo_pieces *pieces) {
  const int exchange = plan->division.exchange, local = plan->division.map.local,
            remote = plan->division.map.remote;
  const sl_plain_steps steps = {.begin = {{.kind = SL_STEP_BEGIN, .index = exchange},
                                          {.kind = SL_STEP_FORK},
                                          {.kind = SL_STEP_ARRIVE, .index = exchange, .concurrent = true}},
                                .local = {{.kind = SL_STEP_SPMM, .index = local}, {.kind = SL_STEP_JOIN}},
                                .end = {{.kind = SL_STEP_END, .index = exchange}},
                                .remote = {{.kind = SL_STEP_SPMM, .index = remote}}};
  sl_division division = plan->division;
  division.plain = false;
  division.map.place = pieces->place;
  division.owned[0] = pieces->place;
  division.frame[local].during_pull = true;
  pieces->place = NULL;
  lay_exchange(ins, plan, pieces, exchange);
  return sl_pass_replace(plan, &steps, &division);
}

sley_status sl_pass_pieces(const sl_inspection *ins, sl_plan *plan) {
  bool pieces_suit;
  SL_TRY(sl_pieces_suit(ins, &pieces_suit));
  if (!pieces_suit)
    return SLEY_OK;
  SL_TRY(choose_unit(ins, plan));
  sl_halo_pieces pieces;
  sley_status status = sl_halo_pieces_make(ins, plan, &pieces);
  if (status == SLEY_OK)
    status = pieces.own_first ? sum_own_first(ins, plan, &pieces) : divide(ins, plan, &pieces);
  sl_halo_pieces_free(&pieces);
  return status;
}

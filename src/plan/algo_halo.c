/* SPDX-License-Identifier: Apache-2.0 */
/* halo: each needed row of X once, straight from its owner. Volume 4 N_R k: CoLa, equations 7 and 9 (its RF).
 *
 * Where all links are direct and lend memory of the host, rows are read in place, wherever they lie, and the
 * block is summed in one pass. Else they are brought: loaded over direct links, one message a row over the
 * others; on devices that move rows while they sum, a large halo in pieces. */
#include "base/memory.h"
#include "plan/algorithm.h"
#include "plan/halo_pieces.h"
#include "plan/in_place.h"
#include "plan/parts.h"

/* Parts: remote columns below this rank's own, its own, those above. Unless the sum must run in column order
 * the two remote ones are one. */
static sley_status cut_halo(sl_plan *plan, const sl_inspection *ins, int buffer, int *first) {
  if (!ins->reproducible) {
    sl_column_map columns = {.local = 0, .remote = 1};
    sl_part_frame frames[] = {{.name = "local", .x = SL_BUFFER_X, .whole = true},
                              {.name = "remote", .x = buffer}};
    return sl_parts_cut(plan, ins, &columns, 2, frames, first);
  }
  int32_t *part;
  SL_TRY(SL_NEW(part, ins->halo_set.count, "the column map"));
  int64_t below = ins->halo_begin[ins->comm->rank];
  for (int64_t h = 0; h < ins->halo_set.count; h++)
    part[h] = h < below ? 0 : 2;
  sl_column_map columns = {.local = 1, .part = part};
  sl_part_frame frames[] = {{.name = "remote below", .x = buffer, .whole = true},
                            {.name = "local", .x = SL_BUFFER_X},
                            {.name = "remote above", .x = buffer}};
  sley_status status = sl_parts_cut(plan, ins, &columns, 3, frames, first);
  sl_free(part);
  return status;
}

/* The halo from its owners into a buffer (in place: of no rows). */
static sley_status add_exchange(sl_plan *plan, const sl_inspection *ins, int buffer, int *exchange) {
  SL_TRY(sl_plan_add_exchange(plan, "halo", SL_BUFFER_X, buffer, SL_GRAIN_ROW, exchange));
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
    sl_plan_send(plan, *exchange, &to);
    sl_plan_recv(plan, *exchange, &from);
  }
  return SLEY_OK;
}

/* One rank: nothing to exchange. */
static sley_status build_alone(const sl_inspection *ins, sl_plan *plan) {
  int part;
  sl_column_map columns = {.local = 0};
  sl_part_frame frame = {.name = "block", .x = SL_BUFFER_X, .whole = true};
  SL_TRY(sl_parts_cut(plan, ins, &columns, 1, &frame, &part));
  return sl_plan_add_step(plan, SL_STEP_SPMM, part);
}

/* The remote part sums the rows of piece i from here on: cut where they begin, no entry is copied. */
static sley_status slice_remote(sl_plan *plan, const sl_halo_pieces *pieces, int remote) {
  sl_part whole = *SL_PART(plan, remote);
  int64_t begin = 0;
  for (int i = 0; i < pieces->count; i++) {
    sl_part slice = whole;
    int64_t end = begin;
    while (end < whole.a.rows && (i == pieces->count - 1 || whole.a.rowid[end] < pieces->row[i + 1]))
      end++;
    slice.a.rows = end - begin;
    slice.a.rowid = whole.a.rowid + begin;
    slice.a.rowptr = whole.a.rowptr + begin;
    slice.nnz = whole.a.rowptr[end] - whole.a.rowptr[begin];
    begin = end;
    if (i == 0)
      *SL_PART(plan, remote) = slice;
    else
      SL_TRY(sl_plan_add_part(plan, &slice, NULL));
  }
  return SLEY_OK;
}

/* One exchange a piece. */
static sley_status add_exchanges(sl_plan *plan, const sl_inspection *ins, const sl_halo_pieces *pieces,
                                 int buffer) {
  int size = ins->comm->size;
  for (int i = 0; i < pieces->count; i++) {
    int exchange;
    SL_TRY(sl_plan_add_exchange(plan, "halo", SL_BUFFER_X, buffer, SL_GRAIN_ROW, &exchange));
    for (int p = 0; p < size; p++) {
      const int64_t *from = &pieces->recv_at[i * size + p], *to = &pieces->wanted_at[i * size + p];
      sl_row_list send = {p, to[1] - to[0], pieces->wanted + to[0], 0, 0, ins->row_bytes};
      sl_row_list recv = {p, from[1] - from[0], NULL, from[0], 0, ins->row_bytes};
      sl_plan_send(plan, exchange, &send);
      sl_plan_recv(plan, exchange, &recv);
    }
    SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, exchange));
  }
  return SLEY_OK;
}

/* Begin all pieces, local part, then for each piece: end it, remote part of its rows. */
static sley_status build_in_pieces(const sl_inspection *ins, sl_plan *plan, const sl_halo_pieces *pieces) {
  int buffer, local, exchange = plan->exchanges.count;
  SL_TRY(sl_plan_add_buffer(plan, "halo", ins->halo_set.count, ins->row_bytes, &buffer));
  sl_column_map columns = {.local = 0, .remote = 1, .place = pieces->place};
  sl_part_frame frames[] = {{.name = "local", .x = SL_BUFFER_X, .whole = true},
                            {.name = "remote", .x = buffer}};
  SL_TRY(sl_parts_cut(plan, ins, &columns, 2, frames, &local));
  if (!plan->dry)
    SL_TRY(slice_remote(plan, pieces, local + 1));
  SL_TRY(add_exchanges(plan, ins, pieces, buffer));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, local));
  for (int i = 0; i < pieces->count; i++) {
    SL_TRY(sl_plan_add_step(plan, SL_STEP_END, exchange + i));
    if (!plan->dry || i == 0)
      SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, local + 1 + i));
  }
  return SLEY_OK;
}

static sley_status build_halo(const sl_inspection *ins, sl_plan *plan) {
  const sl_comm *comm = ins->comm;
  if (comm->size == 1)
    return build_alone(ins, plan);
  if (!comm->device->ops->host_addresses && !ins->reproducible) {
    int count;
    SL_TRY(sl_halo_pieces_count(ins, &count));
    if (count > 1) {
      sl_halo_pieces pieces;
      sley_status status = sl_halo_pieces_make(ins, plan, count, &pieces);
      if (status == SLEY_OK)
        status = build_in_pieces(ins, plan, &pieces);
      sl_halo_pieces_free(&pieces);
      return status;
    }
  }
  bool in_place = comm->workgroup == comm->size && comm->lends && comm->device->ops->host_addresses;
  int buffer, exchange, first;
  SL_TRY(sl_plan_add_buffer(plan, "halo", in_place ? 0 : ins->halo_set.count, ins->row_bytes, &buffer));
  SL_TRY(in_place ? sl_parts_in_place(plan, ins, &first) : cut_halo(plan, ins, buffer, &first));
  SL_TRY(add_exchange(plan, ins, buffer, &exchange));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, exchange));
  if (in_place)
    SL_TRY(sl_plan_add_step(plan, SL_STEP_BORROW, exchange));
  if (in_place || !ins->reproducible)
    SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, first++));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_END, exchange));
  for (int part = first; part < plan->parts.count; part++)
    SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, part));
  return SLEY_OK;
}

const sl_algorithm sl_algo_halo = {
    .name = "halo",
    .summary = "each needed row of X once, read in place, loaded, or one message a row",
    .build = build_halo};

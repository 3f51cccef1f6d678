/* SPDX-License-Identifier: Apache-2.0 */
/* halo: each needed row of X once, straight from its owner. Volume 4 N_R k: CoLa, equations 7 and 9 (its RF).
 *
 * Where all links are direct and lend memory of the host, rows are read in place, wherever they lie, and the
 * block is summed in one pass. Else they are brought: loaded over direct links, one message a row over the
 * others. */
#include "base/memory.h"
#include "plan/algorithm.h"
#include "plan/in_place.h"
#include "plan/parts.h"

/* Room for the column map. */
typedef struct halo_map {
  int32_t *part;
  int64_t *place;
} halo_map;

static sley_status take_map(const sl_inspection *ins, halo_map *map) {
  SL_TRY(SL_NEW(map->part, ins->halo_set.count, "the column map"));
  return SL_NEW(map->place, ins->halo_set.count, "the column map");
}

static void free_map(halo_map *map) {
  sl_free(map->place);
  sl_free(map->part);
}

/* Parts: remote columns below this rank's own, its own, those above. Unless the sum must run in column order
 * the two remote ones are one. */
static sley_status cut_halo(sl_plan *plan, const sl_inspection *ins, int buffer, halo_map *map, int *first) {
  SL_TRY(take_map(ins, map));
  int64_t below = ins->halo_begin[ins->comm->rank];
  for (int64_t h = 0; h < ins->halo_set.count; h++) {
    map->part[h] = ins->reproducible ? (h < below ? 0 : 2) : 1;
    map->place[h] = h;
  }
  sl_column_map columns = {.local = ins->reproducible, .part = map->part, .place = map->place};
  if (ins->reproducible) {
    sl_part_frame frames[] = {{.name = "remote below", .x = buffer, .whole = true},
                              {.name = "local", .x = SL_BUFFER_X},
                              {.name = "remote above", .x = buffer}};
    return sl_parts_cut(plan, ins, &columns, 3, frames, first);
  }
  sl_part_frame frames[] = {{.name = "local", .x = SL_BUFFER_X, .whole = true},
                            {.name = "remote", .x = buffer}};
  return sl_parts_cut(plan, ins, &columns, 2, frames, first);
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

static sley_status build_halo(const sl_inspection *ins, sl_plan *plan) {
  const sl_comm *comm = ins->comm;
  bool in_place =
      comm->size > 1 && comm->workgroup == comm->size && comm->lends && comm->device->ops->host_addresses;
  int buffer, exchange, first;
  halo_map map = {0};
  SL_TRY(sl_plan_add_buffer(plan, "halo", in_place ? 0 : ins->halo_set.count, ins->row_bytes, &buffer));
  sley_status status =
      in_place ? sl_parts_in_place(plan, ins, &first) : cut_halo(plan, ins, buffer, &map, &first);
  free_map(&map);
  SL_TRY(status);
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

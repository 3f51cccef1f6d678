/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/in_place.h"

#include <string.h>

#include "base/memory.h"

/* Lays out the segments: rank p's rows of X begin at column segment[p], and each rank has a whole number of
 * pages. */
static sley_status add_segments(sl_plan *plan, const sl_inspection *ins) {
  int ranks = ins->comm->size;
  int64_t *segment = sl_plan_alloc(plan, ranks + 1, sizeof *segment);
  if (!segment)
    return SLEY_ERR_MEMORY;
  segment[0] = 0;
  for (int p = 0; p < ranks; p++) {
    int64_t rows = ins->col_begin[p + 1] - ins->col_begin[p];
    segment[p + 1] = segment[p] + (rows + SL_X_PAGE - 1) / SL_X_PAGE * SL_X_PAGE;
  }
  plan->segment = segment;
  return SLEY_OK;
}

/* Puts every halo entry in the turn after the rank's own columns. *turn is NULL if no halo entry is below the
 * own columns, because then the block has this order already. */
static sley_status own_rows_first(const sl_inspection *ins, uint8_t **turn) {
  *turn = NULL;
  if (ins->halo->begin[ins->comm->rank] == 0)
    return SLEY_OK;
  SL_TRY(SL_NEW(*turn, ins->halo_set.count, "the column map"));
  memset(*turn, 1, (size_t)ins->halo_set.count);
  return SLEY_OK;
}

sley_status sl_divide_in_place(sl_plan *plan, const sl_inspection *ins, bool own_first) {
  int64_t *place;
  uint8_t *turn = NULL;
  SL_TRY(add_segments(plan, ins));
  const int64_t *segment = plan->segment;
  SL_TRY(SL_NEW(place, ins->halo_set.count, "the column map"));
  for (int p = 0; p < ins->comm->size; p++)
    for (int64_t h = ins->halo->begin[p]; h < ins->halo->begin[p + 1]; h++)
      place[h] = segment[p] + ins->halo->row[h] - ins->col_begin[p];
  sley_status status = own_first ? own_rows_first(ins, &turn) : SLEY_OK;
  sl_plan_divide_anew(
      plan,
      &(sl_division){.count = 1,
                     .map = {.local_place = segment[ins->comm->rank], .place = place, .turn = turn},
                     .frame = {{.name = "block", .kind = SLEY_PART_BOTH, .whole = true, .in_place = true}},
                     .owned = {place, turn}});
  return status;
}

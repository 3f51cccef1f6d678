/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/in_place.h"

#include "base/memory.h"
#include "plan/parts.h"

/* Rank p's rows of X are columns segment[p] and up, a whole number of pages for each rank. */
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

sley_status sl_parts_in_place(sl_plan *plan, const sl_inspection *ins, int *index) {
  int32_t *part = NULL;
  int64_t *place = NULL;
  sley_status status;
  SL_TRY(add_segments(plan, ins));
  const int64_t *segment = plan->segment;
  SL_TRY_GOTO(status, SL_NEW(part, ins->halo_set.count, "the column map"), done);
  SL_TRY_GOTO(status, SL_NEW(place, ins->halo_set.count, "the column map"), done);
  for (int p = 0; p < ins->comm->size; p++)
    for (int64_t h = ins->halo_begin[p]; h < ins->halo_begin[p + 1]; h++) {
      part[h] = 0;
      place[h] = segment[p] + ins->halo[h] - ins->col_begin[p];
    }
  sl_column_map columns = {.local_place = segment[ins->comm->rank], .part = part, .place = place};
  sl_part_frame frame = {.name = "block", .x = SL_BUFFER_X, .whole = true, .in_place = true};
  status = sl_parts_cut(plan, ins, &columns, 1, &frame, index);
done:
  sl_free(place);
  sl_free(part);
  return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The division of a plan: made, changed, cut. */
#include "plan/division.h"

#include "base/memory.h"
#include "plan/parts.h"

enum { LOCAL, REMOTE };

void sl_plan_divide(sl_plan *plan, int exchange, int *local, int *remote) {
  plan->division = (sl_division){
      .count = 2,
      .plain = true,
      .exchange = exchange,
      .map = {.local = LOCAL, .remote = REMOTE},
      .frame = {
          [LOCAL] = {.name = "local", .x = SL_EXCHANGE(plan, exchange)->src, .whole = true},
          [REMOTE] = {.name = "remote", .kind = SLEY_PART_HALO, .x = SL_EXCHANGE(plan, exchange)->dst}}};
  *local = LOCAL;
  *remote = REMOTE;
}

void sl_plan_divide_anew(sl_plan *plan, const sl_division *division) {
  for (int i = 0; i < SL_DIVISION_BLOCKS; i++)
    sl_free(plan->division.owned[i]);
  plan->division = *division;
}

sley_status sl_plan_cut(sl_plan *plan, const sl_inspection *ins) {
  const sl_division *division = &plan->division;
  int first;
  if (division->count == 0)
    return SLEY_OK;
  sley_status status = sl_parts_cut(plan, ins, &division->map, division->count, division->frame, &first);
  sl_plan_divide_anew(plan, &(sl_division){.count = 0});
  return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* MGG's equations for a shape. */
#include "device/neighbour_model.h"

#include "device/neighbour_schedule.h"
#include "device/rowwise_choice.h"

sl_neighbour_model sl_neighbour_model_of(const sl_neighbour_shape *shape, const sl_neighbour_facts *facts) {
  int64_t ps = shape->ps == SL_NEIGHBOUR_WHOLE ? facts->longest : shape->ps,
          names = shape->ps < SL_NEIGHBOUR_PS_MOST ? shape->ps : SL_NEIGHBOUR_PS_MOST;
  sl_neighbour_model model = {
      .workload = 2 * ps * facts->k * shape->dist,
      .shared_bytes = names * shape->wpb * (int64_t)sizeof(int32_t) +
                      shape->wpb * facts->k * (facts->sum_bytes + facts->value_bytes),
      .warps = sl_neighbour_warps(facts->locals, facts->remotes, shape->dist, facts->apart)};
  model.blocks = sl_neighbour_groups(model.warps, shape->wpb);
  model.blocks_per_sm = facts->processors > 0 ? (double)model.blocks / facts->processors : 0;
  return model;
}

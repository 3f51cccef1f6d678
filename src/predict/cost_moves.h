/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model's part about moving rows: links, packing, waiting for others. */
#ifndef SLEY_PREDICT_COST_MOVES_H
#define SLEY_PREDICT_COST_MOVES_H

#include "machine/machine.h"
#include "plan/plan.h"

/* What a rank's work is predicted from. */
typedef struct sl_prediction {
  const sl_machine *m;
  const sl_inspection *ins;
  const sl_plan *plan;
  double row_bytes; /* of a row of X: of the plan, which may have fewer columns than were inspected */
  double threads;   /* of the rank */
  double crowd; /* threads a core, at least 1: their data share its caches, so all of it counts as one's */
} sl_prediction;

/* What all ranks' moving takes, in seconds. */
typedef struct sl_all_moving {
  double pack;       /* this rank's own */
  double wait;       /* each exchange as long as on its slowest rank, or as the cores take for all */
  double added;      /* of it, by exchanges that add: devices sum nothing meanwhile */
  double link, work; /* the two apart; link: of a plan that has all exchanges in flight at once, in all */
} sl_all_moving;

/* cores: that the ranks take turns on; 0: there are enough. Exchanges that follow each other last as long as
 * on the slowest rank each. Collective. */
sley_status sl_cost_moves(const sl_prediction *p, double cores, sl_all_moving *out);

/* Times that this rank waits for others: exchanges without rows are none. Those that are begun together wait
 * as one where they move by themselves. */
int64_t sl_cost_meetings(const sl_prediction *p);

/* Exchanges that bring rows of X over message links, one after another. */
int64_t sl_cost_stages(const sl_prediction *p);

#endif

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

/* Exchanges whose times are compared one by one; of more only the sums. */
enum { SL_SERIAL_MOST = 63 };

/* Hosts whose links are looked at each; of more than so many, all are taken to be alike. */
enum { SL_HOSTS_MOST = 16 };

/* An exchange, or several at once: nanoseconds, and bytes over the link of a host. */
typedef struct sl_busy {
  int64_t work, in[SL_HOSTS_MOST], sent[SL_HOSTS_MOST];
} sl_busy;

/* This rank's moves in groups: each exchange is one, or all are one where there are many. One more entry is
 * of all together. */
typedef struct sl_own_moves {
  double pack;
  int groups;
  bool at_once;    /* all exchanges of rows of X are begun before the first is waited for */
  uint64_t adding; /* bit i: group i is an exchange that adds */
  int64_t *wait;   /* groups + 1 entries each */
  sl_busy *busy;
} sl_own_moves;

/* Ended by sl_cost_own_moves_free, also on error. Local. Errors: SLEY_ERR_MEMORY. */
sley_status sl_cost_own_moves(const sl_prediction *p, sl_own_moves *out);
void sl_cost_own_moves_free(sl_own_moves *moves);

/* From all ranks' own moves, which are overwritten; p's plan is not looked at. cores: that the ranks take
 * turns on; 0: there are enough. Exchanges that follow each other last as long as on the slowest rank each.
 * Collective. */
sley_status sl_cost_all_moves(const sl_prediction *p, double cores, sl_own_moves *own, sl_all_moving *out);

/* Times that this rank waits for others: exchanges without rows are none. Those that are begun together wait
 * as one where they move by themselves. */
int64_t sl_cost_meetings(const sl_prediction *p);

/* Exchanges that bring rows of X over message links, one after another. */
int64_t sl_cost_stages(const sl_prediction *p);

#endif

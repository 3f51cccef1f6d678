/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the cost model about moving rows: links, packing, waiting for others. */
#ifndef SLEY_PREDICT_COST_MOVES_H
#define SLEY_PREDICT_COST_MOVES_H

#include "machine/machine.h"
#include "plan/plan.h"

/* The data from which a rank's work is predicted. */
typedef struct sl_prediction {
  const sl_machine *m;
  const sl_inspection *ins;
  const sl_plan *plan;
  double row_bytes; /* bytes of a row of X in the plan, which may have fewer columns than were inspected */
  double threads;   /* threads of the rank */
  double crowd; /* threads per core, at least 1: their data share the core's caches, so it is counted as the
                   data of one thread */
} sl_prediction;

/* The costs of all ranks' moves, in seconds. */
typedef struct sl_all_moving {
  double pack;  /* seconds in which this rank packs rows */
  double wait;  /* sum over the exchanges: each takes as long as on its slowest rank, or as the shared
                   cores need for all ranks */
  double added; /* the part of wait that belongs to exchanges that add, during which devices sum nothing */
  double link, work; /* the two parts of wait; link: the total for a plan that has all exchanges in flight at
                        once */
} sl_all_moving;

/* Largest number of exchanges whose times are compared one by one. With more, only the sums are compared. */
enum { SL_SERIAL_MOST = 63 };

/* Largest number of hosts whose links are considered separately. With more, all are assumed to be equal. */
enum { SL_HOSTS_MOST = 16 };

/* Load of an exchange, or of several at once: nanoseconds of work, and bytes over the link of each host. */
typedef struct sl_busy {
  int64_t work, in[SL_HOSTS_MOST], sent[SL_HOSTS_MOST];
} sl_busy;

/* This rank's moves in groups: each exchange is one group, or, if there are many, all exchanges are one. The
 * last entry is the sum of all groups. */
typedef struct sl_own_moves {
  double pack;
  int groups;
  bool at_once;    /* all exchanges of rows of X begin before the first is waited for */
  uint64_t adding; /* bit i: group i is an exchange that adds */
  int64_t *wait;   /* groups + 1 entries each */
  sl_busy *busy;
} sl_own_moves;

/* Computes this rank's moves. Ended by sl_cost_own_moves_free, also on an error. Not collective. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_cost_own_moves(const sl_prediction *p, sl_own_moves *out);
void sl_cost_own_moves_free(sl_own_moves *moves);

/* Computes the costs from all ranks' own moves, which are overwritten; p's plan is not used. cores: cores
 * that the ranks share in turn; 0: there are enough. Exchanges that follow each other each take as long as on
 * their slowest rank. Collective. */
sley_status sl_cost_all_moves(const sl_prediction *p, double cores, sl_own_moves *own, sl_all_moving *out);

/* The number of times that this rank waits for others; exchanges without rows do not count. Exchanges that
 * begin together count once if they move by themselves. */
int64_t sl_cost_meetings(const sl_prediction *p);

/* Returns the number of exchanges that bring rows of X over message links, one after another. */
int64_t sl_cost_stages(const sl_prediction *p);

#endif

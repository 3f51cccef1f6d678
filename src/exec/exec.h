/* SPDX-License-Identifier: Apache-2.0 */
/* Execution: a plan bound to a rank's device and transport, run any number of times. Everything that takes
 * memory or asks another rank for agreement happens when it is bound. */
#ifndef SLEY_EXEC_EXEC_H
#define SLEY_EXEC_EXEC_H

#include "device/neighbour_search.h"
#include "plan/plan.h"

typedef struct sl_exec sl_exec;

/* Binds; plan must outlive it and not be dry. Collective, agreed. */
sley_status sl_exec_create(const sl_plan *plan, sl_exec **out);

/* Binds plan, which was narrowed from the plan that wide is bound to or from that one's, for columns run in
 * turn with wide's: it uses wide's buffers, and its parts where their kernels allow it, so wide must outlive
 * it. Collective, agreed. */
sley_status sl_exec_create_sharing(const sl_plan *plan, const sl_exec *wide, sl_exec **out);

/* Y = alpha A X + beta Y on this rank's blocks; leading dimensions in elements. unchanged: of a plan that
 * keeps its input, X and alpha are those of the last run on every rank: nothing travels. Returns when the
 * work is enqueued. A failure in flight aborts the comm, so that no other rank waits for this one.
 * Collective. */
sley_status sl_exec_run(sl_exec *exec, bool unchanged, double alpha, const void *x, int64_t ldx, double beta,
                        void *y, int64_t ldy);

/* A dense update, of a plan that is made for updates; leading dimensions in elements. */
typedef struct sl_update {
  const void *w; /* k x n */
  int64_t n, ldw;
  double beta;
  void *z;
  int64_t ldz;
} sl_update;

/* Z = (alpha A X) W + beta Z, as SL_OP_UPDATE defines it. Otherwise as sl_exec_run. Collective. */
sley_status sl_exec_run_update(sl_exec *exec, double alpha, const void *x, int64_t ldx,
                               const sl_update *update);

/* Of a plan that is renewable: the entries' values become val, the block's in their order, in the host's
 * memory; the next run uses them. Where parts have values in common with the block, they refer to val from
 * then on. For a narrower plan after the wider one it uses. Enqueues work, waits for no other rank. Not
 * collective. */
sley_status sl_exec_set_values(sl_exec *exec, const void *val);

/* The shapes that this rank's kernel over X in place was timed in when it was bound; NULL: there is none. */
const sl_neighbour_table *sl_exec_tuned(const sl_exec *exec);

/* Collective. Accepts NULL. */
void sl_exec_destroy(sl_exec *exec);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Execution: a plan bound to a rank's device and transport, which can run any number of times. All
 * allocations, and all agreements between ranks, are made when it is bound. */
#ifndef SLEY_EXEC_EXEC_H
#define SLEY_EXEC_EXEC_H

#include "device/neighbour_search.h"
#include "plan/plan.h"

typedef struct sl_exec sl_exec;

/* Binds a plan, which must not be dry and must outlive the result. Collective, agreed. */
sley_status sl_exec_create(const sl_plan *plan, sl_exec **out);

/* Binds a plan that was narrowed from the plan of wide (or narrowed from a narrower plan), for blocks of
 * columns that run in turn with the blocks of wide. It uses wide's buffers, and wide's prepared parts if
 * their kernels allow it, so wide must outlive it. Collective, agreed. */
sley_status sl_exec_create_sharing(const sl_plan *plan, const sl_exec *wide, sl_exec **out);

/* Computes Y = alpha A X + beta Y for this rank's blocks; leading dimensions in elements. unchanged: for a
 * plan that keeps its input, X and alpha are the same as in the last run on every rank, so nothing travels.
 * Returns when the work is enqueued. If it fails, it aborts the comm, so that no other rank waits for this
 * one. Collective. */
sley_status sl_exec_run(sl_exec *exec, bool unchanged, double alpha, const void *x, int64_t ldx, double beta,
                        void *y, int64_t ldy);

/* A dense update, for a plan made for updates; leading dimensions in elements. */
typedef struct sl_update {
  const void *w; /* k x n */
  int64_t n, ldw;
  double beta;
  void *z;
  int64_t ldz;
  sl_update_more more; /* only if the plan is fused on this rank */
} sl_update;

/* Computes Z = (alpha A X) W + beta Z, as SL_OP_UPDATE defines it. Otherwise as sl_exec_run. Collective. */
sley_status sl_exec_run_update(sl_exec *exec, double alpha, const void *x, int64_t ldx,
                               const sl_update *update);

/* For a renewable plan: replaces the entries' values by val, which has the values of the block in their
 * order, in host memory. The next run uses them. Parts that share values with the block refer to val from
 * then on. A narrower plan must be changed after the wider one that it uses. Enqueues work, and waits for no
 * other rank. Not collective. */
sley_status sl_exec_set_values(sl_exec *exec, const void *val);

/* Returns the shapes in which this rank's kernel that reads X in place was timed when it was bound; NULL:
 * there is none. */
const sl_neighbour_table *sl_exec_tuned(const sl_exec *exec);

/* Frees the execution. exec may be NULL. Collective. */
void sl_exec_destroy(sl_exec *exec);

#endif

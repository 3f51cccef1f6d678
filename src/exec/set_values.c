/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the values of the parts of a bound plan, whose rows and columns do not change. */
#include "base/value.h"
#include "exec/exec_inside.h"

typedef struct gathering {
  const sl_part *part;
  const void *val;
} gathering;

/* Gathers the values of entries begin .. end - 1 of a part. */
static sley_status gather(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const gathering *g = context;
  const int64_t *entry = g->part->entry;
  void *to = (void *)g->part->a.val;
  if (sley_dtype_bytes(g->part->a.dtype) == sizeof(float) && g->part->a.dtype == SLEY_F32) {
    const float *from = g->val;
    for (int64_t e = begin; e < end; e++)
      ((float *)to)[e] = from[entry[e]];
    return SLEY_OK;
  }
  for (int64_t e = begin; e < end; e++)
    sl_value_copy(to, e, g->val, entry[e], g->part->a.dtype);
  return SLEY_OK;
}

/* Returns the base address for a part whose values begin at val: kernels index values by the row pointers. */
static const void *values_from(const sl_part *part, const void *val) {
  uintptr_t before = (uintptr_t)part->a.rowptr[0] * sley_dtype_bytes(part->a.dtype);
  return (const void *)((uintptr_t)val - before); /* the row pointers of a block may begin above 0 */
}

static sley_status set_part(sl_exec *exec, int index, const void *val) {
  enum { AT_ONCE = 1 << 15 };
  sl_comm *comm = exec->run.comm;
  const sl_part *part = SL_PART(exec->run.plan, index);
  sl_bound_part *bound = &exec->parts[index];
  if (part->entry && !exec->wide) /* a narrower plan uses the arrays of the wider one */
    SL_TRY(sl_team_for(comm->team, part->nnz, AT_ONCE, gather, &(gathering){part, val}));
  if (!bound->kernel)
    return SLEY_OK;
  bound->a.val = part->entry ? part->a.val : values_from(part, val);
  SL_TRY(sl_update_refill(exec, index));
  if (bound->shared)
    return SLEY_OK;
  sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = &bound->problem}};
  return bound->kernel->refill(comm->device, exec->run.queue, &args, bound->a.val, SL_VALUES_IN_HOST,
                               bound->prepared);
}

sley_status sl_exec_set_values(sl_exec *exec, const void *val) {
  const sl_plan *plan = exec->run.plan;
  for (int i = 0; i < plan->steps.count; i++)
    if (SL_STEP(plan, i)->kind->acts & SL_ACT_SUM)
      SL_TRY(set_part(exec, SL_STEP(plan, i)->index, val));
  return SLEY_OK;
}

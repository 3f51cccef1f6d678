/* SPDX-License-Identifier: Apache-2.0 */
/* Parts whose rows are multiplied by W as soon as they are summed. Only this file sets the arguments of
 * SL_OP_UPDATE. */
#include "exec/exec_inside.h"
#include "plan/problem.h"

sley_status sl_update_bind(sl_exec *exec, int index) {
  const sl_plan *plan = exec->run.plan;
  const sl_part *part = SL_PART(plan, index);
  sl_bound_part *bound = &exec->parts[index];
  sl_bound_update *update = &bound->update;
  if (!plan->fuses || part->y != SL_BUFFER_Y || update->kernel)
    return SLEY_OK;
  sl_spmm_matrix known = bound->a;
  if (part->arrives_in >= 0)
    known.rows = 0; /* the arrays have no contents yet */
  sl_spmm_problem problem = sl_part_update_problem(plan, part, &known, exec->pages);
  sl_kernel_args args = sl_plan_update_args(exec->run.plan, &problem);
  SL_TRY(sl_kernel_find(exec->run.comm->device, &args, &update->kernel));
  update->waits = update->kernel->product->waits(&args);
  update->problem = sl_part_update_problem(plan, part, &bound->a, exec->pages);
  if (part->arrives_in >= 0)
    return SLEY_OK;
  args.update.product.problem = &update->problem;
  return update->kernel->prepare(exec->run.comm->device, exec->run.queue, &args, &update->prepared);
}

sley_status sl_update_refill(sl_exec *exec, int index) {
  sl_bound_part *bound = &exec->parts[index];
  sl_bound_update *update = &bound->update;
  if (!update->kernel)
    return SLEY_OK;
  sl_kernel_args args = sl_plan_update_args(exec->run.plan, &update->problem);
  return update->kernel->refill(exec->run.comm->device, exec->run.queue, &args, bound->a.val,
                                SL_VALUES_IN_HOST, update->prepared);
}

void sl_update_release(sl_exec *exec, int index) {
  sl_bound_update *update = &exec->parts[index].update;
  if (update->prepared)
    update->kernel->release(exec->run.comm->device, update->prepared);
}

/* Sets the arguments that all updates of a run have in common. */
static void set_run(sl_update_args *args, const sl_update *update) {
  args->n = update->n;
  args->w = update->w;
  args->ldw = update->ldw;
  args->beta = update->beta;
  args->z = update->z;
  args->ldz = update->ldz;
  args->more = update->more;
}

sl_kernel_args sl_update_args_of(const sl_exec *exec, int index, const sl_spmm_run *product) {
  const sl_bound_update *bound = &exec->parts[index].update;
  sl_kernel_args args = sl_plan_update_args(exec->run.plan, &bound->problem);
  args.update.product = *product;
  args.update.product.problem = &bound->problem;
  args.update.product.prepared = bound->prepared;
  args.update.product.beta = 0;
  set_run(&args.update, exec->update);
  return args;
}

sley_status sl_update_rows(const sl_exec *exec, const sl_update *update) {
  const sl_plan *plan = exec->run.plan;
  sl_kernel_args args = sl_plan_update_args(exec->run.plan, NULL);
  args.update.rows = plan->rows;
  args.update.k = plan->k;
  args.update.t = exec->result;
  args.update.ldt = plan->k;
  set_run(&args.update, update);
  if (plan->rows == 0 || update->n == 0)
    return SLEY_OK;
  return sl_kernel_run(exec->run.queue, &args);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Times kernels that read X in place when a plan is bound, so that they choose their shape. */
#include "exec/exec_inside.h"

/* Times the kernels on operands of zeros. The ranks' X are mapped and all ranks run at the same time, as in a
 * product. All ranks reach the end, even if timing fails on one; returns this rank's error. */
static sley_status tune_steps(sl_exec *exec) {
  const sl_plan *plan = exec->run.plan;
  sley_status tuned = SLEY_OK;
  exec->run.alpha = 1;
  exec->run.beta = 0;
  for (int i = 0; i < plan->steps.count; i++) {
    const sl_step *step = SL_STEP(plan, i);
    if (step->kind->acts & (SL_ACT_BEGIN | SL_ACT_MAP | SL_ACT_END))
      SL_TRY(sl_exec_step(exec, i));
    const sl_bound_part *bound = step->kind->acts & SL_ACT_SUM ? &exec->parts[step->index] : NULL;
    if (!bound || !bound->kernel || !SL_PART(plan, step->index)->in_place || tuned != SLEY_OK)
      continue;
    sl_kernel_args args = sl_product_args(exec, step->index, 1, 0);
    tuned = bound->kernel->product->tune(exec->run.queue, &args);
  }
  SL_TRY(sl_exec_reclaim(exec, SL_EVERY_BUFFER));
  SL_TRY(exec->run.comm->device->ops->queue_wait(exec->run.queue));
  return tuned;
}

sley_status sl_exec_tune(sl_exec *exec) {
  const sl_plan *plan = exec->run.plan;
  sl_device *device = exec->run.comm->device;
  if (!plan->segment || device->ops->host_addresses || plan->k == 0)
    return SLEY_OK;
  void *y = NULL;
  int64_t x_bytes = SL_BUFFER(plan, SL_BUFFER_X)->row_bytes,
          y_bytes = SL_BUFFER(plan, SL_BUFFER_Y)->row_bytes;
  sley_status status = device->ops->alloc(device, plan->rows * y_bytes, "Y to time with", &y);
  if (status == SLEY_OK)
    status = sl_operand_scale(exec, plan->dtype, plan->x_rows, plan->k, 0, exec->packed, x_bytes);
  status = sl_agree(exec->run.comm, status);
  if (status == SLEY_OK) {
    exec->run.memory[SL_BUFFER_X] = exec->packed;
    exec->run.stride[SL_BUFFER_X] = x_bytes;
    exec->run.memory[SL_BUFFER_Y] = y;
    exec->run.stride[SL_BUFFER_Y] = y_bytes;
    status = sl_agree(exec->run.comm, tune_steps(exec));
  }
  device->ops->free(device, y);
  return status;
}

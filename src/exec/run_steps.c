/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a bound plan: its steps in order, and the work before and after them. */
#include <stdio.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "exec/exec_inside.h"
#include "transport/stopwatch.h"

static sley_status reclaim(sl_exec *exec, int buffer) {
  for (int i = 0; i < exec->run.plan->exchanges.count && exec->unreclaimed_count > 0; i++) {
    if (!exec->unreclaimed[i] || (buffer != SL_EVERY_BUFFER && buffer != SL_EXCHANGE(exec->run.plan, i)->src))
      continue;
    exec->unreclaimed[i] = false;
    exec->unreclaimed_count--;
    SL_TRY(sl_exchange_reclaim(exec->exchanges[i], exec->run.queue));
  }
  return SLEY_OK;
}

/* Called as late as possible, before a step that overwrites the rows and at the end of a run, so that this
 * rank does not wait for a slow peer while it has other work. */
sley_status sl_exec_reclaim(sl_exec *exec, int buffer) {
  if (exec->unreclaimed_count == 0)
    return SLEY_OK;
  const sl_work before = sl_work_begin(exec->run.comm, SL_WORK_EXCHANGE);
  return sl_work_end(exec->run.comm, before, reclaim(exec, buffer));
}

sley_status sl_exec_step(sl_exec *exec, int index) {
  const sl_step *step = SL_STEP(exec->run.plan, index);
  SL_TRY(sl_exec_reclaim(exec, step->kind->writes(exec->run.plan, step)));
  const sl_work before =
      sl_work_begin(exec->run.comm, step->kind->acts & SL_ACT_MOVE ? SL_WORK_EXCHANGE : SL_WORK_SPMM);
  return sl_work_end(exec->run.comm, before, step->kind->run(&exec->run, step, exec->state[index]));
}

/* Returns whether a step must run again for an unchanged X. Buffers other than Y still have their contents.
 */
static bool makes_result(const sl_plan *plan, const sl_step *step) {
  return step->kind->acts & SL_ACT_ORDER || step->kind->writes(plan, step) == SL_BUFFER_Y;
}

/* Runs all steps, or with an unchanged X only the steps that write Y. If the result is separate, then
 * computes Y = beta Y + result. In the plan's own dtype it is separate if beta is not 0; a wider result
 * always is, and the steps may begin with beta Y. */
static sley_status run_steps(sl_exec *exec, bool unchanged, double alpha, double beta, void *y,
                             int64_t y_stride) {
  const sl_plan *plan = exec->run.plan;
  int64_t row_bytes = SL_BUFFER(plan, SL_BUFFER_Y)->row_bytes;
  bool apart = plan->wide_result || (plan->separate_result && beta != 0);
  bool begins_with_y = plan->wide_result && plan->begins_with_y && beta != 0;
  double beta_at_end = begins_with_y ? 0 : beta;
  exec->run.memory[SL_BUFFER_Y] = apart ? exec->result : y;
  exec->run.stride[SL_BUFFER_Y] = apart ? row_bytes : y_stride;
  exec->run.alpha = alpha;
  exec->run.beta = apart && !begins_with_y ? 0 : beta;
  SL_TRY(sl_operand_pack_x(exec, unchanged));
  if (begins_with_y)
    SL_TRY(sl_operand_widen(exec, y, y_stride));
  for (int i = 0; i < plan->steps.count; i++)
    if (!unchanged || makes_result(plan, SL_STEP(plan, i)))
      SL_TRY(sl_exec_step(exec, i));
  if (plan->wide_result) {
    SL_TRY(sl_operand_round(exec, beta_at_end, y, y_stride));
  } else if (apart) {
    SL_TRY(sl_operand_scale(exec, plan->dtype, plan->rows, plan->k, beta, y, y_stride));
    SL_TRY(sl_operand_move(exec, plan->rows, row_bytes, exec->result, row_bytes, y, y_stride, true));
  }
  return sl_exec_reclaim(exec, SL_EVERY_BUFFER);
}

/* Runs the steps of an update. If it is fused, Y is not stored; otherwise Y is `result`, in the type of
 * sums. */
static sley_status run_update(sl_exec *exec, double alpha, const sl_update *update) {
  const sl_plan *plan = exec->run.plan;
  exec->run.memory[SL_BUFFER_Y] = plan->fuses ? NULL : exec->result;
  exec->run.stride[SL_BUFFER_Y] = SL_BUFFER(plan, SL_BUFFER_Y)->row_bytes;
  exec->run.alpha = alpha;
  exec->run.beta = 0;
  exec->update = plan->fuses ? update : NULL;
  SL_TRY(sl_operand_pack_x(exec, false));
  for (int i = 0; i < plan->steps.count; i++)
    SL_TRY(sl_exec_step(exec, i));
  if (!plan->fuses)
    SL_TRY(sl_update_rows(exec, update));
  return sl_exec_reclaim(exec, SL_EVERY_BUFFER);
}

/* Records a span around all events of a product. Its name has a number that distinguishes products. */
static void trace_product(sl_exec *exec, double begin) {
  char name[32];
  snprintf(name, sizeof name, "product %lld", (long long)++exec->products);
  sl_trace_span(exec->trace, name, begin, sl_now(), -1);
}

/* Sets X, and checks for an interrupt. */
static sley_status begin_run(sl_exec *exec, bool unchanged, const void *x, int64_t ldx) {
  exec->run.memory[SL_BUFFER_X] = (void *)x;
  exec->run.stride[SL_BUFFER_X] = ldx * (int64_t)exec->value_bytes;
  /* Exchanges check for interrupts; a plan of one rank has none. */
  return exec->run.plan->exchanges.count == 0 || unchanged ? sl_interrupted() : SLEY_OK;
}

static sley_status end_run(sl_exec *exec, double begin, sley_status status) {
  exec->update = NULL;
  (void)sl_abort_on_error(exec->run.comm, status);
  if (status != SLEY_OK && exec->second_queue)
    (void)exec->second_queue->ops->queue_wait(exec->second_queue); /* no step has joined this queue */
  if (exec->trace)
    trace_product(exec, begin);
  return status;
}

sley_status sl_exec_run(sl_exec *exec, bool unchanged, double alpha, const void *x, int64_t ldx, double beta,
                        void *y, int64_t ldy) {
  double begin = exec->trace ? sl_now() : 0;
  sley_status status = begin_run(exec, unchanged, x, ldx);
  if (status == SLEY_OK)
    status = run_steps(exec, unchanged, alpha, beta, y, ldy * (int64_t)exec->value_bytes);
  return end_run(exec, begin, status);
}

sley_status sl_exec_run_update(sl_exec *exec, double alpha, const void *x, int64_t ldx,
                               const sl_update *update) {
  double begin = exec->trace ? sl_now() : 0;
  sley_status status = begin_run(exec, false, x, ldx);
  if (status == SLEY_OK)
    status = run_update(exec, alpha, update);
  return end_run(exec, begin, status);
}

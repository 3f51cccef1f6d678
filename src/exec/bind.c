/* SPDX-License-Identifier: Apache-2.0 */
/* Binds a plan: creates buffers, parts, exchanges and everything else that its steps need, on the rank's
 * device and transport. */
#include "base/memory.h"
#include "exec/exec_inside.h"

/* Returns whether a buffer's memory belongs to the plan. */
static bool is_constant(const sl_exec *exec, int buffer) {
  return SL_BUFFER(exec->run.plan, buffer)->constant && exec->run.comm->device->ops->host_addresses;
}

static sley_status share_buffers(sl_exec *exec) {
  const sl_exec *wide = exec->wide;
  for (int i = SL_BUFFER_Y + 1; i < exec->run.plan->buffers.count; i++) {
    exec->run.stride[i] = SL_BUFFER(exec->run.plan, i)->row_bytes;
    exec->run.memory[i] = wide->run.memory[i];
  }
  exec->pages = wide->pages;
  exec->mapped = wide->mapped;
  exec->packed = exec->pitch > 0 && exec->pitch <= wide->pitch ? wide->packed : NULL;
  exec->result = wide->result;
  exec->conversions = wide->conversions;
  return SLEY_OK;
}

/* Sets a new array to 0 if its rows are longer than rows of X: kernels may read what follows the values of a
 * row, although it does not count. */
static sley_status clear_padding(const sl_exec *exec, void *array, int64_t rows, int64_t stride) {
  const sl_plan *plan = exec->run.plan;
  return !exec->run.comm->device->ops->host_addresses && stride > SL_BUFFER(plan, SL_BUFFER_X)->row_bytes
             ? sl_operand_scale(exec, plan->dtype, rows, stride / (int64_t)exec->value_bytes, 0, array,
                                stride)
             : SLEY_OK;
}

static sley_status bind_buffers(sl_exec *exec) {
  const sl_plan *plan = exec->run.plan;
  const sl_device_ops *device = exec->run.comm->device->ops;
  SL_TRY(SL_NEW_ZERO(exec->run.memory, plan->buffers.count, "buffers"));
  SL_TRY(SL_NEW_ZERO(exec->run.stride, plan->buffers.count, "buffers"));
  exec->pitch = sl_operand_pitch(plan);
  if (exec->wide)
    return share_buffers(exec);
  for (int i = SL_BUFFER_Y + 1; i < plan->buffers.count; i++) {
    const sl_buffer *buffer = SL_BUFFER(plan, i);
    exec->run.stride[i] = buffer->row_bytes;
    int64_t bytes = buffer->rows * buffer->row_bytes;
    if (is_constant(exec, i)) {
      exec->run.memory[i] = (void *)buffer->constant;
      continue;
    }
    if (buffer->constant) {
      SL_TRY(sl_device_upload(exec->run.queue, buffer->constant, bytes, buffer->name, &exec->run.memory[i]));
    } else {
      SL_TRY(device->alloc(exec->run.comm->device, bytes, buffer->name, &exec->run.memory[i]));
      SL_TRY(clear_padding(exec, exec->run.memory[i], buffer->rows, buffer->row_bytes));
    }
  }
  if (plan->segment) {
    SL_TRY(SL_NEW_ZERO(exec->pages, plan->segment[exec->run.comm->size] / SL_X_PAGE, "pages of X"));
    SL_TRY(SL_NEW(exec->mapped, exec->run.comm->size, "pages of X"));
  }
  if (exec->pitch > 0) {
    SL_TRY(device->alloc(exec->run.comm->device, plan->x_rows * exec->pitch, "packed X", &exec->packed));
    SL_TRY(clear_padding(exec, exec->packed, plan->x_rows, exec->pitch));
  }
  int64_t result_bytes = plan->rows * SL_BUFFER(plan, SL_BUFFER_Y)->row_bytes;
  if (sl_plan_has_result(plan))
    SL_TRY(device->alloc(exec->run.comm->device, result_bytes, "the result", &exec->result));
  return sl_conversions_create(plan, exec->run.queue, &exec->conversions);
}

static sley_status bind_local(sl_exec *exec) {
  SL_TRY(bind_buffers(exec));
  SL_TRY(SL_NEW_ZERO(exec->parts, exec->run.plan->parts.count, "bound parts"));
  SL_TRY(SL_NEW_ZERO(exec->exchanges, exec->run.plan->exchanges.count, "bound exchanges"));
  SL_TRY(SL_NEW_ZERO(exec->words, exec->run.plan->exchanges.count, "bound exchanges"));
  SL_TRY(SL_NEW_ZERO(exec->unreclaimed, exec->run.plan->exchanges.count, "bound exchanges"));
  SL_TRY(SL_NEW_ZERO(exec->state, exec->run.plan->steps.count, "bound steps"));
  for (int i = 0; i < exec->run.plan->steps.count; i++) {
    const sl_step *step = SL_STEP(exec->run.plan, i);
    SL_TRY(step->kind->bind(&exec->run, step, &exec->state[i]));
  }
  return SLEY_OK;
}

static void free_buffers(sl_exec *exec) {
  sl_device *device = exec->run.comm->device;
  if (exec->packed)
    device->ops->free(device, exec->packed);
  if (exec->result)
    device->ops->free(device, exec->result);
  for (int i = SL_BUFFER_Y + 1; exec->run.memory && i < exec->run.plan->buffers.count; i++)
    if (exec->run.memory[i] && !is_constant(exec, i))
      device->ops->free(device, exec->run.memory[i]);
  sl_conversions_destroy(exec->conversions);
  sl_free(exec->mapped);
  sl_free(exec->pages);
}

void sl_exec_destroy(sl_exec *exec) {
  if (!exec)
    return;
  const sl_plan *plan = exec->run.plan;
  for (int i = plan->steps.count - 1; exec->state && i >= 0; i--)
    SL_STEP(plan, i)->kind->release(&exec->run, exec->state[i]);
  sl_fetches_destroy(exec->fetches);
  for (int i = plan->exchanges.count - 1; exec->exchanges && i >= 0; i--)
    if (exec->exchanges[i])
      exec->run.comm->ops->exchange_destroy(exec->exchanges[i]);
  for (int i = 0; exec->parts && i < plan->parts.count; i++)
    sl_product_release(exec, i);
  if (exec->second_queue) {
    (void)exec->second_queue->ops->queue_wait(exec->second_queue);
    exec->run.comm->device->ops->queue_destroy(exec->second_queue);
  }
  if (exec->forked)
    exec->run.comm->device->ops->event_destroy(exec->forked);
  if (exec->joined)
    exec->run.comm->device->ops->event_destroy(exec->joined);
  if (!exec->wide)
    free_buffers(exec);
  sl_free(exec->unreclaimed);
  sl_free(exec->words);
  sl_free(exec->exchanges);
  sl_free(exec->parts);
  sl_free(exec->state);
  sl_free(exec->run.stride);
  sl_free(exec->run.memory);
  sl_free(exec);
}

sley_status sl_exec_create_sharing(const sl_plan *plan, const sl_exec *wide, sl_exec **out) {
  sl_comm *comm = plan->comm;
  sl_exec *exec = NULL;
  *out = NULL;
  sley_status status = sl_agree(comm, SL_NEW_ZERO(exec, 1, "an execution"));
  if (status != SLEY_OK) {
    sl_free(exec);
    return status;
  }
  exec->run = (sl_run){.plan = plan, .comm = comm, .queue = comm->queue};
  exec->wide = wide;
  exec->trace = sl_trace_of(comm);
  exec->value_bytes = sley_dtype_bytes(plan->dtype);
  exec->sum_bytes = sley_dtype_bytes(plan->sum_dtype);
  status = sl_agree(comm, bind_local(exec));
  for (int i = 0; status == SLEY_OK && i < plan->exchanges.count; i++)
    status = comm->ops->exchange_create(comm, &SL_EXCHANGE(plan, i)->spec, &exec->exchanges[i]);
  if (status == SLEY_OK && sl_plan_does(plan, SL_ACT_FETCH))
    status = sl_fetches_create(plan, &exec->fetches);
  if (status == SLEY_OK && !wide)
    status = sl_exec_tune(exec);
  if (status != SLEY_OK) {
    sl_exec_destroy(exec);
    return status;
  }
  *out = exec;
  return SLEY_OK;
}

sley_status sl_exec_create(const sl_plan *plan, sl_exec **out) {
  return sl_exec_create_sharing(plan, NULL, out);
}

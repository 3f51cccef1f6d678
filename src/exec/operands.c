/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on whole operands, which are not steps of a plan. */
#include "base/overrides.h"
#include "exec/exec_inside.h"

sley_status sl_operand_move(const sl_exec *exec, int64_t rows, int64_t bytes, const void *src,
                            int64_t src_stride, void *dst, int64_t dst_stride, bool add) {
  sl_kernel_args args = {.op = SL_OP_ROWS,
                         .rows = {.count = rows,
                                  .bytes = bytes,
                                  .src = src,
                                  .src_stride = src_stride,
                                  .dst = dst,
                                  .dst_stride = dst_stride,
                                  .add = add,
                                  .dtype = exec->run.plan->dtype}};
  if (rows == 0 || bytes == 0)
    return SLEY_OK;
  return sl_kernel_run(exec->run.queue, &args);
}

sley_status sl_operand_scale(const sl_exec *exec, sley_dtype dtype, int64_t rows, int64_t k, double beta,
                             void *y, int64_t stride) {
  sl_kernel_args args = {.op = SL_OP_SCALE,
                         .scale = {.rows = rows,
                                   .k = k,
                                   .beta = beta,
                                   .y = y,
                                   .ldy = stride / (int64_t)sley_dtype_bytes(dtype),
                                   .dtype = dtype}};
  if (rows == 0 || k == 0 || beta == 1)
    return SLEY_OK;
  return sl_kernel_run(exec->run.queue, &args);
}

sley_status sl_operand_round(const sl_exec *exec, double beta, void *y, int64_t y_stride) {
  const sl_plan *plan = exec->run.plan;
  sl_kernel_args args = {.op = SL_OP_ROUND,
                         .round = {.rows = plan->rows,
                                   .k = plan->k,
                                   .sums = exec->result,
                                   .ld_sums = plan->k,
                                   .beta = beta,
                                   .y = y,
                                   .ldy = y_stride / (int64_t)exec->value_bytes,
                                   .dtype = plan->dtype}};
  if (plan->rows == 0 || plan->k == 0)
    return SLEY_OK;
  return sl_kernel_run(exec->run.queue, &args);
}

sley_status sl_operand_widen(const sl_exec *exec, const void *y, int64_t y_stride) {
  const sl_plan *plan = exec->run.plan;
  sl_kernel_args args = {.op = SL_OP_CONVERT,
                         .convert = {.count = plan->rows,
                                     .k = plan->k,
                                     .src = y,
                                     .src_stride = y_stride,
                                     .from = plan->dtype,
                                     .dst = exec->result,
                                     .dst_stride = SL_BUFFER(plan, SL_BUFFER_Y)->row_bytes,
                                     .to = plan->sum_dtype}};
  return plan->k == 0 ? SLEY_OK : sl_kernel_run(exec->run.queue, &args);
}

/* Seconds that products of a rank save if they load 16 bytes of X at a time, and not only what the width
 * allows. */
static double seconds_saved(const sl_plan *plan, int64_t row_bytes) {
  enum { NARROWEST = 64 };
  const sl_device_figures *figures = &plan->device_figures;
  const int64_t widest = row_bytes & -row_bytes; /* bytes of the widest load that all rows allow */
  double entries = 0;
  int log = 0;
  if (sl_overrides.aligns)
    return 1;
  while (INT64_C(1) << (log + 1) <= widest && log + 1 < SL_NARROW_LOADS)
    log++;
  for (int i = 0; i < plan->parts.count; i++)
    entries += (double)SL_PART(plan, i)->nnz;
  return row_bytes > NARROWEST && row_bytes <= figures->narrow_most[log]
             ? figures->narrow_loads[log] * entries * (double)row_bytes / figures->stream
             : 0;
}

int64_t sl_operand_pitch(const sl_plan *plan) {
  const sl_device_figures *figures = &plan->device_figures;
  const int64_t row_bytes = SL_BUFFER(plan, SL_BUFFER_X)->row_bytes, pitch = sl_up_to(row_bytes, SL_ROW_UNIT);
  if (plan->segment)
    return row_bytes;
  if (plan->comm->device->ops->host_addresses || plan->library || pitch == row_bytes)
    return 0;
  if (plan->x_unit > 1)
    return pitch;
  const double copy = figures->launch + (double)(plan->x_rows * (row_bytes + pitch)) / figures->memory;
  return seconds_saved(plan, row_bytes) > copy ? pitch : 0;
}

sley_status sl_operand_pack_x(sl_exec *exec, bool unchanged) {
  if (!exec->packed || (exec->run.plan->segment && exec->run.stride[SL_BUFFER_X] == exec->pitch))
    return SLEY_OK;
  if (!unchanged)
    SL_TRY(sl_operand_move(exec, exec->run.plan->x_rows, SL_BUFFER(exec->run.plan, SL_BUFFER_X)->row_bytes,
                           exec->run.memory[SL_BUFFER_X], exec->run.stride[SL_BUFFER_X], exec->packed,
                           exec->pitch, false));
  exec->run.memory[SL_BUFFER_X] = exec->packed;
  exec->run.stride[SL_BUFFER_X] = exec->pitch;
  return SLEY_OK;
}

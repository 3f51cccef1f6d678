/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of op_inspect.h, which the kernels of inspect.cu run. */
#include "device/cuda/cuda.h"

static bool inspect_ok(const sl_kernel_args *args) {
  (void)args;
  return true;
}

static sley_status columns_run(sl_queue *queue, const sl_kernel_args *args) {
  return args->columns.block.entries > 0 ? sl_cuda_launch_columns(queue, &args->columns) : SLEY_OK;
}

static sley_status needs_run(sl_queue *queue, const sl_kernel_args *args) {
  return args->needs.block.rows > 0 ? sl_cuda_launch_needs(queue, &args->needs) : SLEY_OK;
}

static sley_status tally_run(sl_queue *queue, const sl_kernel_args *args) {
  return args->tally.block.rows > 0 ? sl_cuda_launch_tally(queue, &args->tally) : SLEY_OK;
}

static sley_status cut_run(sl_queue *queue, const sl_kernel_args *args) {
  return args->cut.block.rows > 0 ? sl_cuda_launch_cut(queue, &args->cut) : SLEY_OK;
}

#define INSPECTION(kernel_name, operation, function)                                                         \
  {                                                                                                          \
    .name = kernel_name, .op = operation, .ok = inspect_ok, .cost = sl_cost_of_bytes,                        \
    SL_KERNEL_KEEPS_NOTHING, .run = function                                                                 \
  }

const sl_kernel sl_cuda_columns = INSPECTION("columns", SL_OP_COLUMNS, columns_run),
                sl_cuda_needs = INSPECTION("needs", SL_OP_NEEDS, needs_run),
                sl_cuda_tally = INSPECTION("tally", SL_OP_TALLY, tally_run),
                sl_cuda_cut = INSPECTION("cut", SL_OP_CUT, cut_run);
